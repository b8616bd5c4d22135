/**
 * Host names of this server. A page on a name that resolves to this machine (DNS rebinding) sends same-origin requests,
 * which carry no `Origin`. Its `Host` is the only sign of it.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import { clip } from '../model/errors.js'
import { classifyHost, isHost, isSameHost } from '../net/addresses.js'
import { type GuardedPort, isLoopback } from './bind.js'

export interface HostOptions {
  readonly allowedHosts?: readonly string[]
  readonly publicUrl?: string
}

/** Throws `TypeError` unless `publicUrl` is absent or an address that clients can call. */
export function assertPublicUrl(publicUrl: unknown): void {
  if (publicUrl === undefined || (typeof publicUrl === 'string' && isHttpUrl(publicUrl))) return
  const given = clip(JSON.stringify(publicUrl) ?? String(publicUrl))
  throw new TypeError(
    `\`publicUrl\` must be an address with http:// or https://: write '${exampleFor(publicUrl)}'; got ${given}`,
  )
}

function exampleFor(publicUrl: unknown): string {
  if (typeof publicUrl !== 'string' || !isHttpUrl(`https://${publicUrl}`)) return 'https://agents.example'
  const isHere = classifyHost(new URL(`https://${publicUrl}`).hostname) === 'loopback'
  return `${isHere ? 'http' : 'https'}://${clip(publicUrl)}`
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^/]/i.test(text) && canParseUrl(text)
}

/** Decides whether `host` or `host:port` names this server. */
export type HostCheck = (authority: string) => boolean

/** Accepts localhost, IP addresses, the host of `publicUrl` and `allowedHosts`, on any port. */
export function createHostCheck({ allowedHosts = [], publicUrl }: HostOptions): HostCheck {
  if (!Array.isArray(allowedHosts)) throw new TypeError(notHosts(allowedHosts))
  for (const host of allowedHosts)
    if (typeof host !== 'string' || !isHost(host) || host.includes('*')) throw new TypeError(notHosts(host))
  const names = publicUrl === undefined ? allowedHosts : [...allowedHosts, new URL(publicUrl).hostname]
  let lastAccepted: string | undefined
  return (authority) => {
    // Successive requests usually name the same host.
    if (authority === lastAccepted) return true
    const host = authority.replace(/:\d{0,5}$/, '')
    if (!isFixedHost(host) && !names.some((name) => isSameHost(name, host))) return false
    lastAccepted = authority
    return true
  }
}

/** No name server decides about these: IP addresses, `localhost` and names below it (RFC 6761). */
function isFixedHost(host: string): boolean {
  return isHost(host) && classifyHost(host) !== 'name'
}

/** The reason to refuse a request by its target and its `Host`; undefined if both name this server. */
export function hostFault(request: Request, isOwnHost: HostCheck): string | undefined {
  const target = authorityOf(request.url)
  if (!isOwnHost(target)) return notAllowed(target)
  const host = request.headers.get('host')
  return host === null || isOwnHost(host) ? undefined : notAllowed(host)
}

function notAllowed(host: string): string {
  return `Host not allowed: ${clip(host)}. Add it to the option \`allowedHosts\` (--allow-host on the command line)`
}

/** Hosts to accept on a port. Undefined: all of them. Without `auth`, a port on loopback is for this machine only. */
export function hostsOnPort({ host, auth, allowedHosts }: GuardedPort & HostOptions): readonly string[] | undefined {
  return allowedHosts ?? (auth === undefined && isLoopback(host) ? [] : undefined)
}

function authorityOf(url: string): string {
  const start = url.indexOf('://') + 3
  const end = url.indexOf('/', start)
  return end < 0 ? url.slice(start) : url.slice(start, end)
}

function notHosts(given: unknown): string {
  return `\`allowedHosts\` must be a list of host names without scheme and port: ['agents.example']; got ${JSON.stringify(given)}`
}
