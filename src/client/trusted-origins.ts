/**
 * Origins that a client may call, and origins that get the user's headers and credentials.
 *
 * The user vouches for an address and for a card that the user passes. An unknown party may have published a card that a registry
 * returns: its interfaces are dialled through the address guard, and get credentials only if the user allows the origin or
 * trusts the signature of the card.
 */
import type { Binding } from '../model/agent-card.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { TransportError } from '../model/transport-error.js'
import { classifyHost, isSameHost } from '../net/addresses.js'

/** Returns scheme, host and port of an interface. The scheme is `grpc:` if the address has none. */
export function originOf(address: string): string | undefined {
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `grpc://${address}`
  if (!canParseUrl(url)) return undefined
  const { protocol, host } = new URL(url)
  return host === '' ? undefined : `${protocol}//${host}`
}

/** Resolves the address of an interface against the URL of the card. `host:port` of gRPC stays as it is. */
export function interfaceUrl(url: string, binding: Binding, cardUrl: string | undefined): string | undefined {
  if (binding === 'GRPC' && originOf(url) !== undefined) return url
  if (!canParseUrl(url, cardUrl)) return undefined
  const { protocol, href } = new URL(url, cardUrl)
  return protocol === 'http:' || protocol === 'https:' ? (canParseUrl(url) ? url : href) : undefined
}

/**
 * Returns the reason why an interface must not be used, if there is one. Every port of the host that the user named is
 * fine, because bindings often have their own port. Other hosts, and http after a card over https, are not.
 */
export function originProblem(
  url: string,
  {
    namedOrigin,
    allowedOrigins,
  }: { readonly namedOrigin: string | undefined; readonly allowedOrigins: readonly string[] },
): string | undefined {
  if (namedOrigin === undefined) return undefined
  const target = originOf(url)
  if (target === undefined) return 'its address is invalid'
  if (isAllowedOrigin(url, allowedOrigins)) return undefined
  const [own, other] = [new URL(namedOrigin), new URL(target)]
  if (!isSameHost(own.hostname, other.hostname))
    return `it is at ${other.host}, but the card came from ${own.host}: add ${target} to \`allowedOrigins\` if that is right`
  if (own.protocol === 'https:' && other.protocol === 'http:') return 'it uses http, but the card came over https'
  return undefined
}

/** Checks an interface against `allowedOrigins`. Paths and trailing slashes are ignored. */
export function isAllowedOrigin(url: string, allowedOrigins: readonly string[]): boolean {
  const target = originOf(url)
  return target !== undefined && allowedOrigins.some((each) => each === '*' || isSameOrigin(each, target))
}

function isSameOrigin(allowed: string, target: string): boolean {
  const origin = originOf(allowed)
  if (origin === undefined)
    throw new TransportError(
      'refused',
      `Invalid origin in \`allowedOrigins\`: ${JSON.stringify(allowed)}; write it as https://host:port`,
    )
  if (origin === target) return true
  // Addresses of gRPC have no scheme, so host and port decide.
  const isGrpc = origin.startsWith('grpc:') || target.startsWith('grpc:')
  return isGrpc && new URL(origin).host === new URL(target).host
}

/** Source of a card: the user, or a registry with its address, if that is known. */
export type CardSource = 'user' | { readonly registry?: string }

export interface OriginOptions {
  readonly allowedOrigins?: readonly string[]
  readonly allowNeighbours?: boolean
}

/** Returns the origins whose hosts, and whose address class, a card from a registry may use. */
export function dialableOrigins(
  { registry }: Exclude<CardSource, 'user'>,
  { allowedOrigins = [], allowNeighbours = true }: OriginOptions,
): readonly string[] {
  return [...(allowNeighbours && registry !== undefined ? [registry] : []), ...allowedOrigins]
}

/** Returns the origins of a registry card's interfaces that get credentials. */
export function trustedOriginsOfFound(
  urls: readonly string[],
  { allowedOrigins = [] }: OriginOptions,
  signature: { readonly state: string },
): readonly string[] {
  return urls.flatMap((url) => {
    const origin = originOf(url)
    const isTrusted =
      origin && (signature.state === 'valid' || isAllowedOrigin(url, allowedOrigins)) && isConfidential(origin)
    return isTrusted ? [origin] : []
  })
}

/**
 * Returns the origins that get credentials for a card from the user. A card may be used on another port of its host, but
 * that port may belong to another party, so it gets no credentials. A user who passes a card vouches for all its interfaces.
 */
export function trustedOrigins(
  cardOrigin: string | undefined,
  urls: readonly string[],
  allowedOrigins: readonly string[],
): readonly string[] {
  const named = cardOrigin === undefined ? urls.flatMap((url) => originOf(url) ?? []) : equivalentOrigins(cardOrigin)
  return [...new Set([...named, ...allowedOrigins])]
}

/** Whether the origin of a URL gets headers and credentials. */
export function isTrusted(url: string, trusted: readonly string[]): boolean {
  return trusted.some((origin) => origin === '*' || originOf(origin) === originOf(url))
}

/** Whether the connection is private: https, or this machine. Names such as `a.localhost` may resolve to other machines. */
export function isConfidential(origin: string): boolean {
  if (!canParseUrl(origin)) return false
  const { protocol, hostname } = new URL(origin)
  if (protocol === 'https:') return true
  return classifyHost(hostname) === 'loopback' && !/\.localhost\.?$/i.test(hostname)
}

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]']

/** Returns an origin under all names of this machine, each also as an address of gRPC, which has no scheme. */
export function equivalentOrigins(origin: string): readonly string[] {
  const { protocol, host, hostname, port } = new URL(origin)
  const hosts =
    classifyHost(hostname) === 'loopback' ? loopbackHosts.map((name) => `${name}${port && `:${port}`}`) : [host]
  return [...new Set([origin, ...hosts.flatMap((each) => [`${protocol}//${each}`, `grpc://${each}`])])]
}
