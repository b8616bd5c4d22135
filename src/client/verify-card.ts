/**
 * Verifies signatures of cards (R-SIGN-6). A key is trusted if the user passed it, or if it is published at the origin of the
 * card or at an origin in `keyOrigins`. Signatures with other keys prove nothing.
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
import type { HttpSender } from '../transports/http-client.js'
import { createSender, type SenderOptions } from './guarded-fetch.js'
import { readCard } from './read-card.js'

export const signaturePolicies = ['require', 'warn', 'ignore'] as const

/** `require` rejects cards without a valid signature, `warn` reports invalid signatures, `ignore` checks none. */
export type SignaturePolicy = (typeof signaturePolicies)[number]

/** A public key as a JSON Web Key (RFC 7517). */
export type PublicKey = Readonly<Record<string, unknown>> & { readonly kty?: string }

/** Rules for the signatures of cards. */
export interface SignatureOptions {
  /** Default `warn`. */
  readonly policy?: SignaturePolicy
  /** Trusted keys: one, several, or a JWK Set. */
  readonly keys?: PublicKey | readonly PublicKey[] | { readonly keys: readonly PublicKey[] }
  /** Origins whose published keys are trusted, beside the origin of the card. */
  readonly keyOrigins?: readonly string[]
  /**
   * Accepted forms of the signed content. Default: all; forms other than `strict` are reported. A signature over
   * `stripped` does not cover empty fields.
   */
  readonly forms?: readonly SignedForm[]
}

/** Options of `verifyCard`. */
export interface VerifyOptions extends SignatureOptions {
  /** Allows keys at addresses in private networks. Default false. */
  readonly allowPrivate?: boolean
  /** Replaces the guarded `fetch` that reads published keys. */
  readonly fetch?: typeof fetch
  /** Aborts the requests for keys. */
  readonly signal?: AbortSignal
}

const optionNames = {
  policy: signaturePolicies,
  keys: true,
  keyOrigins: true,
  forms: true,
  allowPrivate: 'boolean',
  fetch: true,
  signal: true,
} satisfies NamesOf<VerifyOptions>

/** The result of checking the signatures of a card. */
export interface Verification {
  /** `unknown-key`: there is a signature, but no trusted key to check it with. */
  readonly state: 'valid' | 'invalid' | 'absent' | 'unknown-key'
  readonly keyId?: string
  /** Form of the signed content. Only `strict` is the form of the specification. */
  readonly form?: SignedForm
  readonly reason?: string
  /** A message for the user, depending on the policy. */
  readonly warning?: string
}

/** A card and its origin. */
export interface SignedCard {
  /** The JSON as the server sent it. */
  readonly raw: unknown
  /** Address of the card. */
  readonly url?: string
  /** Origin whose published keys are trusted. Default: the origin of `url`. */
  readonly origin?: string
}

/**
 * Verifies the signatures of a card. Throws `TransportError` with `failure: 'refused'` if the policy is `require` and no
 * signature is valid.
 *
 * ```ts
 * const { state, keyId } = await verifyCard({ raw: card, origin: 'https://agent.example' })
 * ```
 */
export async function verifyCard(card: SignedCard, options: VerifyOptions = {}): Promise<Verification> {
  assertOptions('verifyCard', options, optionNames)
  return await verifySignatures(card, options)
}

type CheckOptions = VerifyOptions & Pick<SenderOptions, 'handle' | 'lookup' | 'wire'> & { readonly now?: () => number }

/** As `verifyCard`, with the options that only `connect` and tests set. */
export async function verifySignatures(card: SignedCard, options: CheckOptions): Promise<Verification> {
  const { policy = 'warn' } = options
  const signatures = signaturesOf(card.raw)
  if (policy === 'ignore')
    return { state: signatures.length > 0 ? 'unknown-key' : 'absent', reason: 'Signatures were not checked' }
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

const maxSignatures = 8
/** Asymmetric algorithms only (R-SIGN-6). */
const algorithms = ['ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512', 'EdDSA', 'Ed25519']

interface Signature {
  readonly protected: string
  readonly signature: string
}

function signaturesOf(raw: unknown): readonly Signature[] {
  const listed: unknown = isObject(raw) ? raw.signatures : undefined
  if (!Array.isArray(listed)) return []
  return listed
    .slice(0, maxSignatures)
    .filter(
      (each): each is Record<string, unknown> & Signature =>
        isObject(each) && typeof each.protected === 'string' && typeof each.signature === 'string',
    )
}

async function check(signatures: readonly Signature[], card: SignedCard, options: CheckOptions): Promise<Verification> {
  const jose = await loadJose() // only when there is a signature: most cards have none
  const { forms } = options
  const payloads = payloadsOf(card.raw as Record<string, unknown>) // it has signatures, so it is an object
    .filter(({ form }) => forms?.includes(form) ?? true)
  const keys = createKeyFinder(card, options)
  const results: Verification[] = []
  for (const signature of signatures) {
    const result = await checkOne(signature)
    if (result.form === 'strict') return result
    results.push(result)
  }
  // One valid signature is enough. An invalid one says more than one with an unknown key.
  const first = (wanted: Verification['state']) => results.find(({ state }) => state === wanted)
  return first('valid') ?? first('invalid') ?? (results[0] as Verification) // there is at least one

  async function checkOne(signature: Signature): Promise<Verification> {
    const header = headerOf(jose, signature)
    if (typeof header?.kid !== 'string' || typeof header.alg !== 'string')
      return { state: 'invalid', reason: 'A signature does not name its algorithm and key' }
    const { kid, alg, jku } = header
    const invalid = (reason: string): Verification => ({ state: 'invalid', keyId: kid, reason })
    if (!algorithms.includes(alg))
      return invalid(`The algorithm ${JSON.stringify(alg.slice(0, 20))} of a signature is not supported`)
    const found = await keys(kid, typeof jku === 'string' ? jku : undefined)
    if ('reason' in found) return { state: 'unknown-key', keyId: kid, reason: found.reason }
    for (const payload of payloads) {
      if (!(await isSigned(payload, signature, alg, found.keys))) continue
      return coversCard(payload, card.raw)
        ? { state: 'valid', keyId: kid, form: payload.form }
        : invalid('The signature does not cover every field of the card')
    }
    return invalid(`The signature by ${JSON.stringify(kid.slice(0, 80))} does not match the card`)
  }

  async function isSigned(
    payload: SignedPayload,
    { protected: header, signature }: Signature,
    alg: string,
    found: readonly PublicKey[],
  ): Promise<boolean> {
    const bytes = bytesOf(payload)
    if (!bytes) return false
    const jws = { protected: header, signature, payload: jose.base64url.encode(bytes) }
    for (const key of found) {
      try {
        await jose.flattenedVerify(jws, await jose.importJWK(key as Jose.JWK, alg), { algorithms })
        return true
      } catch {
        // Another key or form may match.
      }
    }
    return false
  }
}

function bytesOf(payload: SignedPayload): Uint8Array | undefined {
  try {
    return canonicalBytes(payload)
  } catch {
    return undefined // a value without a canonical form cannot be signed
  }
}

/** Readers accept more spellings than signers: the card must decode to the same value as the signed content. */
function coversCard({ content, form }: SignedPayload, raw: unknown): boolean {
  const normalize = form === 'stripped' ? withoutEmpty : strictCard
  try {
    return canonicalize(normalize(contentOf(content))) === canonicalize(normalize(contentOf(raw)))
  } catch {
    return false
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

/** Every key is tried with every form, so the number of keys with one id is limited. */
const maxKeysPerId = 4

type FoundKeys = { readonly keys: readonly PublicKey[] } | { readonly reason: string }

/** Finds keys by id: first those that the user passed, then those that are published. */
function createKeyFinder(
  card: SignedCard,
  options: CheckOptions,
): (kid: string, jku: string | undefined) => Promise<FoundKeys> {
  const { now = Date.now, keyOrigins = [], signal, allowPrivate, fetch, handle, lookup, wire } = options
  const given = keysIn(options.keys)
  const home = card.origin ?? (card.url === undefined ? undefined : new URL(card.url).origin)
  const send = createSender({
    namedOrigins: [...(home === undefined ? [] : [home]), ...keyOrigins],
    maxBytes: 256 * 1024,
    headersTimeoutMs: 10_000,
    ...(allowPrivate !== undefined && { allowPrivate }),
    ...(fetch && { fetch }),
    ...(handle && { handle }),
    ...(lookup && { lookup }),
    ...(wire && { wire }),
  })
  const problemWith = (url: string) => keyUrlProblem(url, home, keyOrigins)
  const fetched = new Map<string, Promise<readonly PublicKey[]>>()
  const isUsable = (key: PublicKey, kid: string) =>
    key.kid === kid && key.kty !== 'oct' && !(typeof key.exp === 'number' && key.exp * 1000 < now())
  const keysAt = (url: string) => {
    const keys = fetched.get(url) ?? fetchKeys(url, send, signal, problemWith)
    fetched.set(url, keys)
    return keys
  }

  return async (kid, jku) => {
    const shownId = JSON.stringify(kid.slice(0, 80))
    const own = given.filter((key) => isUsable(key, kid) || (key.kid === undefined && given.length === 1))
    if (own.length > 0) return { keys: own }
    const url = jku ?? (home === undefined ? undefined : `${home}/.well-known/jwks.json`)
    if (url === undefined) return { reason: `The key ${shownId} is not known` }
    const problem = problemWith(url)
    if (problem !== undefined) return { reason: problem }
    try {
      const keys = (await keysAt(url)).filter((key) => isUsable(key, kid)).slice(0, maxKeysPerId)
      return keys.length > 0 ? { keys } : { reason: `The key ${shownId} is not at ${url}` }
    } catch (caught) {
      if (signal?.aborted) throw caught
      const reason = caught instanceof Error ? caught.message : 'unknown error'
      return { reason: `The keys at ${url} cannot be read: ${reason}` }
    }
  }
}

/** Returns why keys at this URL are not trusted, if they are not. */
function keyUrlProblem(url: string, home: string | undefined, keyOrigins: readonly string[]): string | undefined {
  if (!canParseUrl(url)) return 'The address of the key is invalid'
  const { origin, protocol, hostname } = new URL(url)
  if (keyOrigins.some((each) => canParseUrl(each) && new URL(each).origin === origin)) return undefined
  if (home === undefined || !isSameHost(new URL(home).hostname, hostname))
    return `The key is at ${origin}, which is not trusted: add it to \`keyOrigins\` if that is right`
  return protocol === 'https:' || origin === home ? undefined : `The key is at ${origin}, which does not use https`
}

async function fetchKeys(
  url: string,
  send: HttpSender,
  signal: AbortSignal | undefined,
  problemWith: (url: string) => string | undefined,
): Promise<readonly PublicKey[]> {
  const headers = { accept: 'application/jwk-set+json, application/json' }
  const response = await send({ method: 'GET', url, headers, ...(signal && { signal }) })
  // A redirect leads to an origin that may not be trusted.
  const problem = response.url === '' ? undefined : problemWith(response.url)
  if (problem !== undefined) throw new TransportError('refused', problem)
  if (!response.ok) throw new TransportError('bad-answer', `HTTP ${response.status}`)
  return keysIn((await response.json()) as SignatureOptions['keys']) // only objects are taken out of it
}

function keysIn(keys: SignatureOptions['keys']): readonly PublicKey[] {
  if (!isObject(keys)) return Array.isArray(keys) ? keys.filter(isObject).slice(0, 100) : []
  return Array.isArray(keys.keys) ? keysIn(keys.keys as readonly PublicKey[]) : [keys as PublicKey]
}
