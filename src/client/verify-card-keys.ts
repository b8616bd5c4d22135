/** Where the keys for the signatures of a card come from. */

import { canParseUrl } from '../model/can-parse-url.js'
import { isObject } from '../model/is-object.js'
import { TransportError } from '../model/transport-error.js'
import { isSameHost } from '../net/addresses.js'
import type { HttpSender } from '../transports/http-sender.js'
import { createSender, type SenderOptions } from './guarded-fetch.js'

/** A JSON Web Key, as far as it concerns those who pass it on. */
export type PublicKey = Readonly<Record<string, unknown>> & { readonly kty?: string }

export interface KeyOptions extends Omit<SenderOptions, 'named'> {
  /** Keys that are trusted: one, several, or a JWK Set. */
  readonly keys?: PublicKey | readonly PublicKey[] | { readonly keys: readonly PublicKey[] }
  /** Origins whose keys are trusted, beside the card's own. */
  readonly keyOrigins?: readonly string[]
  readonly signal?: AbortSignal
  readonly now?: () => number
}

export interface CardHome {
  /** Where it was found. */
  readonly url?: string
  /** The origin that the user named; default: that of `url`. Keys that are published there count. */
  readonly origin?: string
}

/** Every key is tried with every form of the card: a stranger’s list must not decide how long that takes. */
const mostOfOneName = 4

type Keys = { readonly keys: readonly PublicKey[] } | { readonly reason: string }

/** Given keys first, then those that are published where the card may send us. */
export function createKeyFinder(
  card: CardHome,
  options: KeyOptions,
): (kid: string, jku: string | undefined) => Promise<Keys> {
  const { now = Date.now, keyOrigins = [], signal } = options
  const given = keysIn(options.keys)
  const home = card.origin ?? (card.url === undefined ? undefined : new URL(card.url).origin)
  const named = [...(home === undefined ? [] : [home]), ...keyOrigins]
  const send = createSender({ maxBytes: 256 * 1024, headersTimeoutMs: 10_000, ...options, named })
  const fetched = new Map<string, Promise<readonly PublicKey[]>>()
  const isGood = (key: PublicKey, kid: string) =>
    key.kid === kid && key.kty !== 'oct' && !(typeof key.exp === 'number' && key.exp * 1000 < now())

  const published = (url: string) => {
    const known =
      fetched.get(url) ?? fetchKeys(url, { send, signal, faultOf: (place) => placeFault(place, home, keyOrigins) })
    fetched.set(url, known)
    return known
  }

  return async (kid, jku) => {
    const own = given.filter((key) => isGood(key, kid) || (key.kid === undefined && given.length === 1))
    if (own.length > 0) return { keys: own }
    const url = jku ?? (home === undefined ? undefined : `${home}/.well-known/jwks.json`)
    if (url === undefined) return { reason: `The key ${JSON.stringify(kid.slice(0, 80))} is not known` }
    const fault = placeFault(url, home, keyOrigins)
    if (fault !== undefined) return { reason: fault }
    try {
      const keys = (await published(url)).filter((key) => isGood(key, kid)).slice(0, mostOfOneName)
      return keys.length > 0 ? { keys } : { reason: `The key ${JSON.stringify(kid.slice(0, 80))} is not at ${url}` }
    } catch (caught) {
      if (signal?.aborted) throw caught
      return { reason: `The keys at ${url} cannot be read: ${caught instanceof Error ? caught.message : 'unknown'}` }
    }
  }
}

/** Keys over HTTPS, or from where the card came from anyway; and never from just anywhere. */
function placeFault(url: string, home: string | undefined, keyOrigins: readonly string[]): string | undefined {
  if (!canParseUrl(url)) return 'The address of the key cannot be read'
  const { origin, protocol, hostname } = new URL(url)
  if (keyOrigins.some((each) => canParseUrl(each) && new URL(each).origin === origin)) return undefined
  if (home === undefined || !isSameHost(new URL(home).hostname, hostname))
    return `The key is at ${origin}, where nobody vouches for it: allow it in keyOrigins if that is right`
  return protocol === 'https:' || origin === home ? undefined : `The key is at ${origin}, in the clear`
}

interface KeyFetch {
  readonly send: HttpSender
  readonly signal: AbortSignal | undefined
  readonly faultOf: (url: string) => string | undefined
}

async function fetchKeys(url: string, { send, signal, faultOf }: KeyFetch): Promise<readonly PublicKey[]> {
  const headers = { accept: 'application/jwk-set+json, application/json' }
  const response = await send({ method: 'GET', url, headers, ...(signal && { signal }) })
  // A redirect, which anybody may have put into the address, vouches for nothing.
  const fault = response.url === '' ? undefined : faultOf(response.url)
  if (fault !== undefined) throw new TransportError('refused', fault)
  if (!response.ok) throw new TransportError('bad-answer', `HTTP ${response.status}`)
  return keysIn((await response.json()) as KeyOptions['keys']) // whatever it is, only objects are taken out of it
}

function keysIn(keys: KeyOptions['keys']): readonly PublicKey[] {
  if (!isObject(keys)) return Array.isArray(keys) ? keys.filter(isObject).slice(0, 100) : []
  return Array.isArray(keys.keys) ? keysIn(keys.keys as readonly PublicKey[]) : [keys as PublicKey]
}
