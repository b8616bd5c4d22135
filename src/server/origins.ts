/**
 * A web page may send simple requests to any address its reader can reach, loopback included. Browsers
 * say where they come from; other clients do not, and pass.
 */
export function isFromHere(request: Request, origins: ReadonlySet<string>, ownHost: string): boolean {
  const origin = request.headers.get('origin')
  if (origin === null || origins.has(origin)) return true
  if (!URL.canParse(origin)) return false
  const { host, hostname } = new URL(origin)
  if (host === ownHost) return true
  // A name of the page's own choosing may lead here too (DNS rebinding): only names that cannot are believed.
  return host === new URL(request.url).host && /^(localhost|[\d.]+|\[[\da-f:.]+\])$/i.test(hostname)
}
