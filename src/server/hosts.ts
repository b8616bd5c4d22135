/**
 * Host names of this server. With DNS rebinding, a page on a name that resolves to this machine sends same-origin
 * requests without `Origin`. Only `Host` reveals them.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import { clip } from '../model/errors.js'
import { classifyHost, isHost, isSameHost } from '../net/addresses.js'
import type { Exchange } from '../transports/exchange.js'
import { type GuardedPort, isLoopback } from './bind.js'

interface HostOptions {
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

/** Hosts that no name server resolves: IP addresses, `localhost` and names below it (RFC 6761). */
function isFixedHost(host: string): boolean {
  return isHost(host) && classifyHost(host) !== 'name'
}

/** The reason to refuse a request by its target and its `Host`; undefined if both name this server. */
export function hostFault(
  { authority, headers }: Pick<Exchange, 'authority' | 'headers'>,
  isOwnHost: HostCheck,
): string | undefined {
  if (!isOwnHost(authority)) return notAllowed(authority)
  const host = headers.get('host')
  return host === null || isOwnHost(host) ? undefined : notAllowed(host)
}

function notAllowed(host: string): string {
  return `Host not allowed: ${clip(host)}. Add it to the option \`allowedHosts\` (--allow-host on the command line)`
}

/** Hosts to accept on a port. Undefined: all of them. Without `auth`, a port on loopback is for this machine only. */
export function hostsOnPort({ host, auth, allowedHosts }: GuardedPort & HostOptions): readonly string[] | undefined {
  return allowedHosts ?? (auth === undefined && isLoopback(host) ? [] : undefined)
}

function notHosts(given: unknown): string {
  return `\`allowedHosts\` must be a list of host names without scheme and port: ['agents.example']; got ${JSON.stringify(given)}`
}

export interface OriginOptions {
  /** Origins of pages that may call. */
  readonly origins: readonly string[]
  /** The public address; pages on it may call. */
  readonly url: string
  readonly isOwnHost: HostCheck
}

export type OriginCheck = (exchange: Exchange) => boolean

/**
 * Accepts requests from pages of this server and of `origins`. A page can send simple requests to every address its
 * browser reaches, loopback included. Browsers name the page in `Origin`; requests without it are accepted.
 */
export function createOriginCheck({ origins, url, isOwnHost }: OriginOptions): OriginCheck {
  assertOrigins(origins)
  const allowed = new Set(origins)
  const ownHost = new URL(url).host
  return (exchange) => {
    const origin = exchange.headers.get('origin')
    if (origin === null || allowed.has(origin)) return true
    if (!canParseUrl(origin)) return false
    const { host } = new URL(origin)
    // Another name may resolve to this machine too (DNS rebinding).
    return host === ownHost || (host === new URL(exchange.url).host && isOwnHost(host))
  }
}

/** Throws a `TypeError` for values that no `Origin` header equals. */
function assertOrigins(origins: unknown): void {
  const list: readonly unknown[] = Array.isArray(origins) ? origins : [origins]
  for (const origin of list) {
    if (Array.isArray(origins) && typeof origin === 'string' && isOrigin(origin)) continue
    const why =
      origin === '*'
        ? "'*' is not supported, because then every web page could call these agents from its visitors' browsers"
        : `got ${JSON.stringify(origin)}`
    throw new TypeError(`\`cors\` must be a list of origins: write \`cors: ['https://app.example']\`; ${why}`)
  }
}

/** Whether a text is a scheme, a host and a port, without a path. */
function isOrigin(text: string): boolean {
  if (text === 'null') return true
  if (!/^[a-z][a-z\d+.-]*:\/\/[^/?#\s*]+$/.test(text) || !canParseUrl(text)) return false
  const { origin } = new URL(text)
  return origin === 'null' || origin === text
}
