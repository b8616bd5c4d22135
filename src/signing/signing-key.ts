/** Loads signing keys: reads the supported formats, checks each key once, and derives its public half. */
import type { CryptoKey, JWK } from 'jose'
import { assertOptions } from '../model/option-names.js'
import { loadJose } from '../net/load-jose.js'

/** The algorithms that sign cards. */
export const signingAlgorithms = ['ES256', 'RS256', 'EdDSA'] as const
/** ES256 is fast and widely supported; EdDSA is deterministic. */
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

/** A JSON Web Key, a PEM (`PRIVATE KEY`, or `PUBLIC KEY` for one that is only published), or a key of Web Crypto. */
export type KeyMaterial = JWK | string | CryptoKey | { readonly privateKey: CryptoKey; readonly publicKey: CryptoKey }

/** A key with a name chosen by the user. */
export interface NamedKey {
  readonly key: KeyMaterial
  /** The published name. Default: the `kid` in the JWK, else its thumbprint (RFC 7638). */
  readonly kid?: string
}

/** A key that signs, or is only published. */
export type SigningKey = KeyMaterial | NamedKey

/** A key after loading. */
export interface LoadedKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  /** Absent if the key is only published: a former or a future key. */
  readonly privateKey: CryptoKey | undefined
  /** The published form. */
  readonly publicJwk: JWK
}

/**
 * Generates a private key as a JWK with a `kid`. Keep it secret.
 *
 * ```ts
 * await serve(agent, { signing: { keys: [await generateSigningKey()] } })
 * ```
 */
export async function generateSigningKey(options: { readonly alg?: SigningAlgorithm } = {}): Promise<JWK> {
  assertOptions('generateSigningKey', options, { alg: true })
  const { alg = 'ES256' } = options
  if (!signingAlgorithms.includes(alg)) throw new TypeError(`Keys are for ${algorithmNames}, not for ${alg}`)
  const { generateKeyPair, exportJWK } = await loadJose()
  const { privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength: 3072 })
  const jwk = await exportJWK(privateKey)
  return { ...jwk, kid: await thumbprint(jwk), alg, use: 'sig' }
}

/** Loads a key. Throws a `TypeError` that explains the problem without revealing the key. */
export async function loadKey(given: SigningKey): Promise<LoadedKey> {
  const { key: material, kid }: NamedKey = isNamed(given) ? given : { key: given }
  const { jwk, privateKey } = await read(material)
  const alg = algorithmOf(jwk)
  const bare = publicMembers(jwk)
  const name = kid ?? jwk.kid ?? (await thumbprint(bare))
  if (typeof name !== 'string' || name === '') throw new TypeError('The `kid` of a signing key is a text')
  const key: LoadedKey = { kid: name, alg, privateKey, publicJwk: { ...bare, kid: name, alg, use: 'sig' } }
  await assertSigns(key)
  return key
}

const algorithmNames = 'ES256, RS256 and EdDSA (Ed25519)'

function isNamed(given: SigningKey): given is NamedKey {
  return typeof given === 'object' && given !== null && 'key' in given && !('kty' in given)
}

interface Read {
  /** Contains at least the public members. */
  readonly jwk: JWK
  readonly privateKey: CryptoKey | undefined
}

async function read(material: KeyMaterial): Promise<Read> {
  if (typeof material === 'string') return await readPem(material.trim())
  if (typeof material !== 'object' || material === null)
    throw new TypeError('A signing key is a JWK, a PEM or a CryptoKey')
  if ('privateKey' in material) return { jwk: await exported(material.publicKey), privateKey: material.privateKey }
  if ('kty' in material) return await readJwk(material)
  const key = material as CryptoKey // the remaining type of the union
  return { jwk: await exported(key), privateKey: key.type === 'private' ? key : undefined }
}

async function readJwk(jwk: JWK): Promise<Read> {
  const alg = algorithmOf(jwk)
  if (jwk.d === undefined) return { jwk, privateKey: undefined }
  const { importJWK } = await loadJose()
  const privateKey = (await importJWK(jwk, alg).catch(unreadable)) as CryptoKey // only `oct` keys are bytes
  return { jwk, privateKey }
}

async function readPem(pem: string): Promise<Read> {
  const isPublic = pem.startsWith('-----BEGIN PUBLIC KEY-----')
  if (!isPublic && !pem.startsWith('-----BEGIN PRIVATE KEY-----'))
    throw new TypeError(
      'A PEM of a signing key begins with "-----BEGIN PRIVATE KEY-----": `openssl pkcs8 -topk8 -nocrypt` makes one of others',
    )
  const { importPKCS8, importSPKI } = await loadJose()
  // A PEM does not name its algorithm, so each one is tried.
  for (const alg of signingAlgorithms) {
    try {
      const key = await (isPublic ? importSPKI : importPKCS8)(pem, alg, { extractable: true })
      return { jwk: { ...(await exported(key)), alg }, privateKey: isPublic ? undefined : key }
    } catch {
      // Try the next algorithm.
    }
  }
  throw new TypeError(`The PEM of a signing key cannot be read; keys are for ${algorithmNames}`)
}

async function exported(key: CryptoKey): Promise<JWK> {
  if (!key.extractable && key.type !== 'public')
    throw new TypeError('The public half of a CryptoKey that is not extractable is not known: give the pair')
  const { exportJWK } = await loadJose()
  return await exportJWK(key).catch(unreadable)
}

function unreadable(cause: unknown): never {
  throw new TypeError('A signing key cannot be read', { cause })
}

function algorithmOf({ kty, crv, alg }: JWK): SigningAlgorithm {
  const own = kty === 'RSA' ? 'RS256' : crv === 'P-256' ? 'ES256' : crv === 'Ed25519' ? 'EdDSA' : undefined
  const isMeant = alg === undefined || alg === own || (alg === 'Ed25519' && own === 'EdDSA')
  if (own === undefined || !isMeant)
    throw new TypeError(`A signing key is for ${alg ?? crv ?? kty}; keys are for ${algorithmNames}`)
  return own
}

/** Lists the public members explicitly, so that unknown private members are never published. */
function publicMembers({ kty, crv, x, y, n, e }: JWK): JWK {
  if (kty === 'RSA') return defined({ kty, n, e })
  return kty === 'EC' ? defined({ kty, crv, x, y }) : defined({ kty, crv, x })
}

function defined(members: Readonly<Record<string, string | undefined>>): JWK {
  if (Object.values(members).some((each) => typeof each !== 'string'))
    throw new TypeError('A signing key lacks members of its public half')
  return members as JWK // all of them are strings
}

async function thumbprint(jwk: JWK): Promise<string> {
  const { calculateJwkThumbprint } = await loadJose()
  return await calculateJwkThumbprint(jwk)
}

/** Signs and verifies once, so that a pair that does not match fails at start-up instead of at the client. */
async function assertSigns({ alg, kid, privateKey, publicJwk }: LoadedKey): Promise<void> {
  const { FlattenedSign, flattenedVerify, importJWK } = await loadJose()
  const publicKey = await importJWK(publicJwk, alg).catch(unreadable)
  if (!privateKey) return
  try {
    const jws = await new FlattenedSign(new Uint8Array(1)).setProtectedHeader({ alg }).sign(privateKey)
    await flattenedVerify(jws, publicKey)
  } catch (cause) {
    throw new TypeError(`The signing key ${kid} does not sign: its halves do not match, or it is too weak`, { cause })
  }
}
