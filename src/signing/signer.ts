/**
 * Signs cards (R-SIGN) and webhook deliveries (R-PDEL-9) of a server. The first key signs. All keys are published, so
 * that a new key is known before its first use, and an old key as long as its signatures are in use.
 */
import type { JWK, JWTPayload } from 'jose'
import type { AgentCardSignature, CardSigningForm } from '../model/agent-card.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { loadJose } from '../net/load-jose.js'
import {
  canonicalBytes,
  receivedPayload,
  type SignedPayload,
  sdkPayloads,
  strictPayload,
  strippedPayload,
} from './card-payload.js'
import { type LoadedKey, loadKey, type SigningKey } from './signing-key.js'

/** Keys that sign cards and webhook calls. */
export interface SigningOptions {
  /** The first key signs; all keys are published. */
  readonly keys: readonly SigningKey[]
  /** `all`: signs cards with every private key, for the time of a key change. Default `first`. */
  readonly signWith?: 'first' | 'all'
  /**
   * `spec`: as v1.0 specifies (default). `sdk`: as official SDKs expect. They omit empty values, and one of them omits the
   * security schemes: these SDKs can then verify every card, but detect fewer changes. Both: signatures of both kinds, if
   * they differ.
   */
  readonly profiles?: readonly SignatureProfile[]
}

const optionNames = { keys: true, signWith: true, profiles: true } satisfies NamesOf<SigningOptions>

/** The text that a card's signature covers. */
export type SignatureProfile = 'spec' | 'sdk'

/** Claims of a JWT. The caller sets the times of issue and expiry. */
export type Claims = JWTPayload

/** Signs cards and webhook calls, and publishes its public keys. */
export interface Signer {
  /** Adds a signature for each form to the card. `jku` is the address of the published keys. Default form: `strict`. */
  signCard<Card extends object>(
    card: Card,
    jku: string,
    forms?: readonly CardSigningForm[],
  ): Promise<Card & { readonly signatures: readonly AgentCardSignature[] }>
  /** Signs a compact JWT with the current key. */
  signJwt(claims: Claims): Promise<string>
  /**
   * The public keys as a JWK Set. Called for every request for the keys or a card. When the set changes, cards are signed
   * again. Caches may hold earlier signatures for some minutes, so a replaced key must stay in the set for that time.
   */
  jwks(): { readonly keys: readonly JWK[] }
}

/**
 * Creates a signer. Throws `TypeError` for invalid keys.
 *
 * ```ts
 * const signer = await createSigner({ keys: [newKey, oldKey] })
 * const token = await signer.signJwt({ iss, aud, iat, exp, jti })
 * ```
 */
export async function createSigner(options: SigningOptions): Promise<Signer> {
  assertOptions('createSigner', options, optionNames)
  const { keys: given, signWith = 'first', profiles = ['spec'] } = options
  if (!Array.isArray(given) || given.length === 0) throw new TypeError('Signing needs a key: `keys` is a list of them')
  if (profiles.length === 0 || profiles.some((each) => each !== 'spec' && each !== 'sdk'))
    throw new TypeError("`profiles` is a list of 'spec' and 'sdk'")
  const keys = await Promise.all(given.map(loadKey))
  const twice = keys.find(({ kid }, place) => keys.findIndex((each) => each.kid === kid) !== place)
  if (twice) throw new TypeError(`Two signing keys are called ${twice.kid}: give one of them another kid`)
  const [current] = keys
  if (!current?.privateKey) throw new TypeError('The first signing key is the one that signs: it must be private')
  const { FlattenedSign, SignJWT } = await loadJose()
  const signing = (signWith === 'all' ? keys : [current]).filter(isPrivate)
  const published = { keys: keys.map(({ publicJwk }) => publicJwk) }
  const { privateKey, alg, kid } = current as PrivateKey // checked above

  return {
    async signCard(card, jku, forms = ['strict']) {
      const payloads = bytesToSign(card, forms, profiles)
      const signatures: AgentCardSignature[] = []
      for (const key of signing) {
        for (const bytes of payloads) {
          const header = { alg: key.alg, kid: key.kid, typ: 'JOSE', jku }
          const jws = await new FlattenedSign(bytes).setProtectedHeader(header).sign(key.privateKey)
          signatures.push({ protected: jws.protected ?? '', signature: jws.signature })
        }
      }
      const { signatures: before = [] } = card as { readonly signatures?: readonly AgentCardSignature[] }
      return { ...card, signatures: [...before, ...signatures] }
    },
    signJwt: (claims) => new SignJWT(claims).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(privateKey),
    jwks: () => published,
  }
}

/** Creates a signer from options; returns a given signer unchanged. */
export async function toSigner(given: SigningOptions | Signer): Promise<Signer> {
  return 'signCard' in given ? given : await createSigner(given)
}

type PrivateKey = LoadedKey & { readonly privateKey: NonNullable<LoadedKey['privateKey']> }

function isPrivate(key: LoadedKey): key is PrivateKey {
  return key.privateKey !== undefined
}

/** Most cards have no empty values: then all forms are equal, and one signature is enough. */
function bytesToSign(
  card: object,
  forms: readonly CardSigningForm[],
  profiles: readonly SignatureProfile[],
): readonly Uint8Array[] {
  // As sent: JSON omits members that are `undefined`.
  const sent = JSON.parse(JSON.stringify(card)) as Record<string, unknown>
  const payloads = profiles.flatMap((profile) => forms.flatMap((form) => payloadsFor[form][profile](sent)))
  const bytes = payloads.map(canonicalForm)
  return bytes.filter((each, place) => bytes.findIndex((other) => isSame(each, other)) === place)
}

const payloadsFor = {
  strict: { spec: (card) => [strictPayload(card)], sdk: sdkPayloads },
  'as-received': { spec: (card) => [receivedPayload(card)], sdk: (card) => [strippedPayload(card)] },
} as const satisfies Record<
  CardSigningForm,
  Record<SignatureProfile, (card: Readonly<Record<string, unknown>>) => readonly SignedPayload[]>
>

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, place) => byte === other[place])
}

function canonicalForm(payload: SignedPayload): Uint8Array {
  try {
    return canonicalBytes(payload)
  } catch (cause) {
    throw new TypeError('The card cannot be signed: it has no canonical form', { cause })
  }
}
