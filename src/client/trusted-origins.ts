/**
 * Trust in cards by their source. The user vouches for an address, a card or a list of agents that the user wrote. Anybody
 * may have published a card that is found in a registry: such cards are reached through the address guard, and get
 * credentials only where the user or a trusted signature says so.
 */
import type { Binding } from '../model/agent-card.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { TransportError } from '../model/transport-error.js'
import { classifyHost, isSameHost } from '../net/addresses.js'
import type { Choice } from './agent-client.js'
import type { ConnectOptions } from './connect-options.js'
import type { Verification } from './verify-card.js'

/** `user`, or the address of the registry that a card comes from, if it is known. */
export type CardSource = 'user' | { readonly registry?: string }

/** Origins whose hosts, and whose neighbours, the interfaces of a found card may be at. */
export function reachableFrom(
  { registry }: Exclude<CardSource, 'user'>,
  { allowedOrigins = [], allowNeighbours = true }: ConnectOptions,
): readonly string[] {
  return [...(allowNeighbours && registry !== undefined ? [registry] : []), ...allowedOrigins]
}

/** Origins of a found card's interfaces that may get credentials. */
export function trustedOfFound(
  choices: readonly Choice[],
  { allowedOrigins = [] }: ConnectOptions,
  { state }: Verification,
): readonly string[] {
  const isTrusted = (url: string) =>
    (state === 'valid' || isAllowedOrigin(url, allowedOrigins)) && cannotBeOverheard(originOf(url) ?? '')
  return choices.flatMap(({ url }) => (isTrusted(url) ? (originOf(url) ?? []) : []))
}

/** https, or this machine. Other names may lead elsewhere by the next call, and nothing proves who answers. */
export function cannotBeOverheard(origin: string): boolean {
  if (!canParseUrl(origin)) return false
  const { protocol, hostname } = new URL(origin)
  if (protocol === 'https:') return true
  return classifyHost(hostname) === 'loopback' && !/\.localhost\.?$/i.test(hostname)
}

/** Absolute; what is relative is so to the card. gRPC's `host:port` stays as it is. */
export function addressOf(url: string, binding: Binding, cardUrl: string | undefined): string | undefined {
  if (binding === 'GRPC' && originOf(url) !== undefined) return url
  if (!canParseUrl(url, cardUrl)) return undefined
  const { protocol, href } = new URL(url, cardUrl)
  return protocol === 'http:' || protocol === 'https:' ? (canParseUrl(url) ? url : href) : undefined
}

/** Scheme, host and port of an interface. Without a scheme (gRPC) the scheme is `grpc:`. */
export function originOf(address: string): string | undefined {
  const spelled = /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `grpc://${address}`
  if (!canParseUrl(spelled)) return undefined
  const { protocol, host } = new URL(spelled)
  return host === '' ? undefined : `${protocol}//${host}`
}

interface AddressRules {
  readonly named: string | undefined
  readonly allowedOrigins: readonly string[]
}

/**
 * What is wrong with going there. Any port of the host that the user named is fine (bindings often have their
 * own); another host is not, and the clear is not after a card that came over TLS.
 */
export function addressFault(url: string, { named, allowedOrigins }: AddressRules): string | undefined {
  if (named === undefined) return undefined
  const target = originOf(url)
  if (target === undefined) return 'its address cannot be read'
  if (isAllowedOrigin(url, allowedOrigins)) return undefined
  const [own, other] = [new URL(named), new URL(target)]
  if (!isSameHost(own.hostname, other.hostname))
    return `it is at ${other.host}, and the card came from ${own.host}: allow ${target} if that is right`
  if (own.protocol === 'https:' && other.protocol === 'http:') return 'it is in the clear, and the card came over TLS'
  return undefined
}

/** Whether the user allowed the origin of an interface. */
export function isAllowedOrigin(url: string, allowedOrigins: readonly string[]): boolean {
  const target = originOf(url)
  return target !== undefined && allowedOrigins.some((each) => each === '*' || isSameOrigin(each, target))
}

/** Compared as origins, so that a path or a final slash does not matter. */
function isSameOrigin(allowed: string, target: string): boolean {
  const origin = originOf(allowed)
  if (origin === undefined)
    throw new TransportError('refused', `${JSON.stringify(allowed)} in allowedOrigins is no origin`)
  if (origin === target) return true
  // gRPC addresses come without a scheme; the host and the port say it all.
  const isGrpc = origin.startsWith('grpc:') || target.startsWith('grpc:')
  return isGrpc && new URL(origin).host === new URL(target).host
}
