/** What a reference stands for among the credentials: without a scheme, this machine is http and others https. */
import { canParseUrl } from '../../model/can-parse-url.js'
export function originOf(ref: string): string {
  const spelled = /^[a-z][a-z\d+.-]*:\/\//i.test(ref) ? ref : `${isLoopback(ref) ? 'http' : 'https'}://${ref}`
  return canParseUrl(spelled) ? new URL(spelled).origin : ref
}

function isLoopback(ref: string): boolean {
  return /^(localhost|[^/]*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?([/?#]|$)/i.test(ref)
}

/** Whoever says `localhost` means the port, and the card may spell the host in another way. */
export function sameMachine(origin: string): string[] {
  if (!canParseUrl(origin)) return []
  const { protocol, host, port } = new URL(origin)
  if (!isLoopback(host)) return []
  const hosts = ['localhost', '127.0.0.1', '[::1]'].map((name) => (port === '' ? name : `${name}:${port}`))
  return hosts.flatMap((each) => [`${protocol}//${each}`, `grpc://${each}`])
}
