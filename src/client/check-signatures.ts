/** Checks the signatures of a card, and finds the keys for it. Loaded with the first signed card: most cards have none. */
import canonicalize from 'canonicalize'
import type * as Jose from 'jose'
import { canParseUrl } from '../model/can-parse-url.js'
import { isObject } from '../model/is-object.js'
import { TransportError } from '../model/transport-error.js'
import { isSameHost } from '../net/addresses.js'
import { loadJose } from '../net/load-jose.js'
import { canonicalBytes, payloadsOf, type SignedPayload, strictCard, withoutEmpty } from '../signing/card-payload.js'
import type { HttpSender } from '../transports/http-client.js'
import { createSender } from './guarded-fetch.js'
import { readCard } from './read-card.js'
import type { CheckOptions, PublicKey, Signature, SignatureOptions, SignedCard, Verification } from './verification.js'

/** Asymmetric algorithms only (R-SIGN-6). */
const algorithms = ['ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512', 'EdDSA', 'Ed25519']

export async function checkSignatures(
  signatures: readonly Signature[],
  card: SignedCard,
  options: CheckOptions,
): Promise<Verification> {
  const jose = await loadJose()
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
      return (await coversCard(payload, card.raw))
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
async function coversCard({ content, form }: SignedPayload, raw: unknown): Promise<boolean> {
  const normalize = form === 'stripped' ? withoutEmpty : strictCard
  try {
    const [signed, whole] = await Promise.all([contentOf(content), contentOf(raw)])
    return canonicalize(normalize(signed)) === canonicalize(normalize(whole))
  } catch {
    return false
  }
}

async function contentOf(raw: unknown): Promise<object> {
  const { signatures: _signatures, ...card } = (await readCard(raw)).card
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
