/** Looks up names of agents with the resolvers of `connect`. */
import { clip } from '../model/errors.js'
import { explained } from '../model/transport-error.js'
import { classifyHost } from '../net/addresses.js'
import type { CardSource } from './trusted-origins.js'

/**
 * Looks up an agent by name. Returns its address, its card, a list of these for several instances of the agent (best
 * first), or undefined if the name is not known.
 */
export interface CardResolver {
  (name: string): Promise<string | object | readonly (string | object)[] | undefined>
  /**
   * Origin of the entries. `user`: the user wrote them and vouches for them. An address: others publish them in the
   * registry at that address. Default: others publish them, at an unknown address.
   */
  readonly source?: 'user' | string
}

export interface ResolvedName {
  /** Address, card, or a list of these. */
  readonly found: string | object
  readonly source: CardSource
  /** The resolvers that do not know the name, which is then used as a host. */
  readonly unknownTo?: string
}

/** Whether a reference can only be an address, so that resolvers are not asked. */
export function isAddress(ref: string): boolean {
  if (/^https?:\/\//i.test(ref) || ref.includes('/')) return true
  const host = ref.replace(/:\d{1,5}$/, '')
  return host !== ref || (host !== '' && classifyHost(host) !== 'name' && !/\s/.test(host))
}

/** Asks the resolvers in order. Returns the reference itself if it is an address or if no resolver knows it. */
export async function resolveName(ref: string, resolvers: readonly CardResolver[]): Promise<ResolvedName> {
  if (isAddress(ref)) return { found: ref, source: 'user' }
  for (const resolve of resolvers) {
    const found = await lookUp(ref, resolve)
    if (found === undefined || (Array.isArray(found) && found.length === 0)) continue
    const { source } = resolve
    return { found, source: source === 'user' ? source : source === undefined ? {} : { registry: source } }
  }
  if (resolvers.length === 0) return { found: ref, source: 'user' }
  return { found: ref, source: 'user', unknownTo: resolvers.map(({ source }) => source ?? 'a resolver').join(', ') }
}

async function lookUp(ref: string, resolve: CardResolver): ReturnType<CardResolver> {
  try {
    return await resolve(ref)
  } catch (error) {
    throw explained(error, (message) => `Agent ${clip(ref)} cannot be looked up: ${message}`)
  }
}

/** Adds to an error that a name was used as a host because no resolver knows it. */
export function explainHost(error: unknown, { found, unknownTo }: ResolvedName): unknown {
  if (unknownTo === undefined) return error
  const name = clip(String(found))
  return explained(error, (message) => `Agent not found: ${name} is not known to ${unknownTo}. As a host: ${message}`)
}

/** Throws `TypeError` unless `resolvers` is absent or a list of functions. */
export function assertResolvers(resolvers: unknown): void {
  if (resolvers === undefined) return
  if (Array.isArray(resolvers) && resolvers.every((each) => typeof each === 'function')) return
  throw new TypeError(
    "`resolvers` must be a list of resolvers: write `resolvers: [registryResolver('https://registry.example')]`",
  )
}
