/**
 * Whether a card is signed by somebody the user has reason to believe (R-SIGN-6). A key counts when it was
 * given, or when it is published where the card itself comes from or at an origin that was allowed: a signature
 * by a key from anywhere proves nothing.
 */
import canonicalize from 'canonicalize'
import type * as Jose from 'jose'
import { canParseUrl } from '../model/can-parse-url.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { TransportError } from '../model/transport-error.js'
import { isSameHost } from '../net/addresses.js'
import { loadJose } from '../net/load-jose.js'
import {
  canonicalBytes,
  payloadsOf,
  type SignedForm,
  type SignedPayload,
  strictCard,
  withoutEmpty,
} from '../signing/card-payload.js'
import type { HttpSender } from '../transports/http-sender.js'
import { createSender, type SenderOptions } from './guarded-fetch.js'
import { readCard } from './read-card.js'
export const signaturePolicies = ['require', 'warn', 'ignore'] as const
export type SignaturePolicy = (typeof signaturePolicies)[number]

export interface SignatureOptions extends Pick<KeyOptions, 'keys' | 'keyOrigins'> {
  /** `require`: only signed cards are good. Default `warn`. */
  readonly policy?: SignaturePolicy
  /**
   * What a signature may be over. Default: all there are, and anything but `strict` is reported. Whatever is empty
   * in a card may be changed under a signature over `stripped`.
   */
  readonly forms?: readonly SignedForm[]
}

export interface VerifyOptions extends KeyOptions, SignatureOptions {}

const optionNames = {
  policy: signaturePolicies,
  keys: true,
  keyOrigins: true,
  forms: true,
  signal: true,
  now: true,
  allowPrivate: 'boolean',
  fetch: true,
  handle: true,
  certificate: true,
  lookup: true,
  headersTimeoutMs: true,
  bodyTimeoutMs: true,
  maxBytes: true,
  onWire: true,
} satisfies NamesOf<VerifyOptions>

export interface Verification {
  /** `unknown-key`: there is a signature, and no key that is trusted to check it with. */
  readonly state: 'valid' | 'invalid' | 'absent' | 'unknown-key'
  readonly keyId?: string
  /** What was signed; anything but `strict` is no more than compatible with v1.0. */
  readonly form?: SignedForm
  readonly reason?: string
  /** For the user, by the policy. */
  readonly warning?: string
}

export interface SignedCard extends CardHome {
  /** The card as it came. */
  readonly raw: unknown
}

/**
 * Who has signed a card, if anybody. Throws `refused` when signatures are required and none is valid.
 *
 * ```ts
 * const { state, keyId } = await verifyCard({ raw: card, origin: 'https://agent.example' })
 * ```
 */
export async function verifyCard(card: SignedCard, options: VerifyOptions = {}): Promise<Verification> {
  assertOptions('verifyCard', options, optionNames)
  const { policy = 'warn' } = options
  const signatures = signaturesOf(card.raw)
  if (policy === 'ignore')
    return { state: signatures.length > 0 ? 'unknown-key' : 'absent', reason: 'Signatures were not looked at' }
  const found: Verification =
    signatures.length === 0
      ? { state: 'absent', reason: 'The card is not signed' }
      : await check(signatures, card, options)
  if (found.state !== 'valid') {
    if (policy === 'require') throw new TransportError('refused', `A signed card is required: ${found.reason}`)
    return { ...found, ...(found.reason !== undefined && { warning: found.reason }) }
  }
  return found.form === 'strict' ? found : { ...found, warning: `The card is signed in the form ${found.form}` }
}

const mostSignatures = 8
/** Nothing that proves nothing, and nothing that both sides share (R-SIGN-6). */
const algorithms = ['ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512', 'EdDSA', 'Ed25519']

interface Signature {
  readonly protected: string
  readonly signature: string
}

function signaturesOf(raw: unknown): readonly Signature[] {
  const listed: unknown = isObject(raw) ? raw.signatures : undefined
  if (!Array.isArray(listed)) return []
  return listed
    .slice(0, mostSignatures)
    .filter(
      (each): each is Record<string, unknown> & Signature =>
        isObject(each) && typeof each.protected === 'string' && typeof each.signature === 'string',
    )
}

async function check(
  signatures: readonly Signature[],
  card: SignedCard,
  options: VerifyOptions,
): Promise<Verification> {
  // Most cards are not signed: nobody pays for this unless one is.
  const jose = await loadJose()
  const { forms } = options
  const payloads = payloadsOf(card.raw as Record<string, unknown>) // it has signatures, so it is an object
    .filter(({ form }) => forms?.includes(form) ?? true)
  const keys = createKeyFinder(card, options)
  const verdicts: Verification[] = []
  for (const signature of signatures) {
    const verdict = await judge(signature)
    if (verdict.form === 'strict') return verdict
    verdicts.push(verdict)
  }
  // Any good one is enough; signed wrongly says more than signed by a stranger.
  const best = (wanted: Verification['state']) => verdicts.find(({ state }) => state === wanted)
  return best('valid') ?? best('invalid') ?? (verdicts[0] as Verification) // there was one signature

  async function judge(signature: Signature): Promise<Verification> {
    const header = headerOf(jose, signature)
    if (typeof header?.kid !== 'string' || typeof header.alg !== 'string')
      return { state: 'invalid', reason: 'A signature does not name its algorithm and key' }
    const { kid, alg, jku } = header
    const invalid = (reason: string): Verification => ({ state: 'invalid', keyId: kid, reason })
    if (!algorithms.includes(alg)) return invalid(`A signature has the algorithm ${JSON.stringify(alg.slice(0, 20))}`)
    const found = await keys(kid, typeof jku === 'string' ? jku : undefined)
    if ('reason' in found) return { state: 'unknown-key', keyId: kid, reason: found.reason }
    for (const payload of payloads) {
      if (!(await isSigned(payload, signature, found.keys))) continue
      const isCovered = readAlike(payload, card.raw)
      return isCovered
        ? { state: 'valid', keyId: kid, form: payload.form }
        : invalid('The signature does not cover everything that the card says')
    }
    return invalid(`The signature by ${JSON.stringify(kid.slice(0, 80))} is not of this card`)
  }

  async function isSigned(payload: SignedPayload, signature: Signature, found: readonly PublicKey[]): Promise<boolean> {
    const bytes = bytesOf(payload)
    if (!bytes) return false
    for (const key of found) {
      try {
        const jws = {
          protected: signature.protected,
          signature: signature.signature,
          payload: jose.base64url.encode(bytes),
        }
        await jose.flattenedVerify(jws, await jose.importJWK(key as Jose.JWK, headerOf(jose, signature)?.alg), {
          algorithms,
        })
        return true
      } catch {
        // The next key or form may be the one.
      }
    }
    return false
  }

  function bytesOf(payload: SignedPayload): Uint8Array | undefined {
    try {
      return canonicalBytes(payload)
    } catch {
      return undefined // what has no canonical form cannot be signed
    }
  }

  /** Readers know more spellings than signers: what is read from the card must be what is read from what was signed. */
  function readAlike({ content, form }: SignedPayload, raw: unknown): boolean {
    const normal = form === 'stripped' ? withoutEmpty : strictCard
    try {
      return canonicalize(normal(contentOf(content))) === canonicalize(normal(contentOf(raw)))
    } catch {
      return false
    }
  }
}

function contentOf(raw: unknown): object {
  const { signatures: _signatures, ...card } = readCard(raw).card
  return card
}

function headerOf(jose: typeof Jose, signature: Signature): Jose.JWSHeaderParameters | undefined {
  try {
    return jose.decodeProtectedHeader({ ...signature, payload: '' }) as Jose.JWSHeaderParameters // of a JWS
  } catch {
    return undefined
  }
}

/** A JSON Web Key, as far as it concerns those who pass it on. */
export type PublicKey = Readonly<Record<string, unknown>> & { readonly kty?: string }

export interface KeyOptions extends Omit<SenderOptions, 'namedOrigins'> {
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
  const namedOrigins = [...(home === undefined ? [] : [home]), ...keyOrigins]
  const send = createSender({ maxBytes: 256 * 1024, headersTimeoutMs: 10_000, ...options, namedOrigins })
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
