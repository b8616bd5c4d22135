/**
 * Trust in cards by their source. The user vouches for an address, a card or a list of agents that the user wrote. Anybody
 * may have published a card that is found in a registry: such cards are reached through the address guard, and get
 * credentials only where the user or a trusted signature says so.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import { classifyHost } from '../net/addresses.js'
import type { Choice } from './agent-client.js'
import { isAllowedOrigin, originOf } from './choose-interface-address.js'
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
