/**
 * Signs in the name of a server: its cards (R-SIGN), and tokens about what it sends (R-PDEL-9). The first key
 * signs; all are published, so that a new one is known before it is used and an old one as long as it is needed.
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
  /** The first one signs, all of them are published. */
  readonly keys: readonly SigningKey[]
  /** `all`: cards are signed with every private key, while clients move from one to the next. Default `first`. */
  readonly signWith?: 'first' | 'all'
  /**
   * `spec`: by the letter of v1.0 (default). `sdk`: what official SDKs expect, which leave out whatever is empty, and
   * one of them the security schemes: they can then verify every card, and see less of what was changed in it.
   * Both: signatures of both kinds, where they differ.
   */
  readonly profiles?: readonly SignatureProfile[]
}

const optionNames = { keys: true, signWith: true, profiles: true } satisfies NamesOf<SigningOptions>

/** The text that a card's signature covers. */
export type SignatureProfile = 'spec' | 'sdk'

/** Plain claims; the caller says when the token was issued and when it ends. */
export type Claims = JWTPayload

/** Signs cards and webhook calls, and publishes its public keys. */
export interface Signer {
  /** Adds signatures over each of the forms to the card. `jku` is the address of the published keys. Default form: `strict`. */
  signCard<Card extends object>(
    card: Card,
    jku: string,
    forms?: readonly CardSigningForm[],
  ): Promise<Card & { readonly signatures: readonly AgentCardSignature[] }>
  /** A compact JWT by the current key. */
  signJwt(claims: Claims): Promise<string>
  /**
   * The public keys, as a JWK Set: asked for with every request for them, and for a card. Cards are signed anew when it
   * is another one; caches may hold what was signed before for some minutes, so a key that is replaced stays in it.
   */
  jwks(): { readonly keys: readonly JWK[] }
}

/**
 * Reads the keys and checks them.
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
  const { privateKey, alg, kid } = current as PrivateKey // looked at above

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

/** Options as a signer; one that is made already, or that signs elsewhere, is taken as it is. */
export async function toSigner(given: SigningOptions | Signer): Promise<Signer> {
  return 'signCard' in given ? given : await createSigner(given)
}

type PrivateKey = LoadedKey & { readonly privateKey: NonNullable<LoadedKey['privateKey']> }

function isPrivate(key: LoadedKey): key is PrivateKey {
  return key.privateKey !== undefined
}

/** Most cards have nothing empty in them: then the forms are the same, and one signature is good for all. */
function bytesToSign(
  card: object,
  forms: readonly CardSigningForm[],
  profiles: readonly SignatureProfile[],
): readonly Uint8Array[] {
  // As it is sent: members that are `undefined` here are not there.
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
