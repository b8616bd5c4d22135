/**
 * Verification of signed tokens (JWT) for `jwt` and `oidc`. Verified tokens are cached, so that calls with a known token
 * need no cryptography. No claim is trusted before the signature is verified. The server decides the allowed algorithms:
 * never `none`, and never a shared-secret algorithm with a public key.
 */
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { A2AError } from '../model/errors.js'
import type { NamesOf } from '../model/option-names.js'
import type { Struct } from '../model/part.js'
import type { Caller } from '../model/service.js'
import { loadJose } from '../net/load-jose.js'
import { type AuthScheme, bearerChallenge, callerNamed, foreignId, type NamedCaller, type Verdict } from './scheme.js'
import { bearerToken } from './static-schemes.js'

/** Checks that `jwt` and `oidc` make on a token. */
export interface TokenOptions {
  /** The required audience of a token: this agent's name at the issuer. Tokens for other audiences are rejected. */
  readonly audience: string | readonly string[]
  /** Allowed signature algorithms. Default: all that fit the keys. */
  readonly algorithms?: readonly string[]
  /** Tolerance for the issuer's clock. Default 30 s. */
  readonly clockToleranceSeconds?: number
  /** The required type in the token's header, such as `at+jwt`. Default: any. */
  readonly type?: string
  /** The caller's name: a claim, or a function of the claims. Default: the claim `sub`. */
  readonly caller?: string | ((claims: Struct) => NamedCaller | undefined)
  /** Realm of the challenge. Default `agent`. */
  readonly realm?: string
  readonly description?: string
}

export const tokenOptionNames = {
  audience: true,
  algorithms: true,
  clockToleranceSeconds: true,
  type: true,
  caller: true,
  realm: true,
  description: true,
} satisfies NamesOf<TokenOptions>

interface TokenParts {
  readonly name: string
  readonly card: AuthScheme['card']
  readonly algorithms: readonly string[]
  readonly issuer?: string | undefined
  /** Finds the key that a token names. Throws `UNAVAILABLE` if the keys are unavailable. */
  readonly key: JWTVerifyGetKey
}

/** Algorithms with a key pair: a holder of the verification key cannot sign. */
export const publicKeyAlgorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
] as const
export const secretAlgorithms = ['HS256', 'HS384', 'HS512'] as const

export function chooseAlgorithms(
  scheme: string,
  fitting: readonly string[],
  chosen?: readonly string[],
): readonly string[] {
  const wrong = chosen?.find((algorithm) => !fitting.includes(algorithm))
  if (wrong !== undefined)
    throw new TypeError(`${scheme}: ${wrong} does not fit these keys, choose from ${fitting.join(', ')}`)
  if (chosen?.length === 0) throw new TypeError(`${scheme}: \`algorithms\` is empty, so no token could be valid`)
  return chosen ?? fitting
}

export function tokenScheme(options: TokenOptions, parts: TokenParts): AuthScheme {
  const { name, card, algorithms, issuer, key } = parts
  const { realm = 'agent', clockToleranceSeconds = 30, type, caller = 'sub' } = options
  const audience = typeof options.audience === 'string' ? [options.audience] : [...(options.audience ?? [])]
  if (audience.length === 0 || audience.some((each) => typeof each !== 'string' || each === ''))
    throw new TypeError(`${name} needs an \`audience\`: tokens for other services must not be accepted`)
  const rules: JWTVerifyOptions = {
    audience,
    algorithms: [...algorithms],
    clockTolerance: clockToleranceSeconds,
    requiredClaims: ['exp'],
    ...(issuer !== undefined && { issuer }),
    ...(type !== undefined && { typ: type }),
  }
  const cache = new TokenCache()

  const judge = async (token: string): Promise<Verdict> => {
    const claims = await verify(token, key, rules)
    const known = claims && callerOf(name, claims, caller)
    if (!known) return 'refused'
    cache.add(token, known, ((claims.exp ?? 0) + clockToleranceSeconds) * 1000)
    return { caller: known }
  }
  return {
    name,
    card,
    ...(issuer !== undefined && { issuer }),
    headers: ['Authorization'],
    challenge: (shortfall) => bearerChallenge(realm, shortfall),
    authenticate(credentials) {
      const token = bearerToken(credentials)
      if (token === undefined) return 'absent'
      const known = cache.get(token)
      if (known) return { caller: known }
      return isPlausible(token, algorithms, issuer) ? judge(token) : 'refused'
    },
  }
}

/** Rejects tokens that cannot be valid before the keys are used, so that invalid tokens cause no request to the issuer. */
function isPlausible(token: string, algorithms: readonly string[], issuer: string | undefined): boolean {
  const [header, payload, signature, ...more] = token.split('.')
  if (!header || !payload || !signature || more.length > 0) return false
  if (!algorithms.includes(String(membersOf(header).alg))) return false
  return issuer === undefined || membersOf(payload).iss === issuer
}

function membersOf(part: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(atob(part.replaceAll('-', '+').replaceAll('_', '/')))
    return typeof read === 'object' && read !== null ? (read as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** The claims of a valid token; undefined for invalid ones. */
async function verify(token: string, key: JWTVerifyGetKey, rules: JWTVerifyOptions): Promise<JWTPayload | undefined> {
  const { jwtVerify, errors } = await loadJose()
  try {
    return (await jwtVerify(token, key, rules)).payload
  } catch (caught) {
    if (!(caught instanceof errors.JOSEError)) throw A2AError.from(caught)
    if (!(caught instanceof errors.JWKSMultipleMatchingKeys)) return undefined
    // The token names no key, and several keys match.
    for await (const candidate of caught) {
      const claims = await verify(token, async () => candidate, rules)
      if (claims) return claims
    }
    return undefined
  }
}

function callerOf(name: string, claims: JWTPayload, caller: NonNullable<TokenOptions['caller']>): Caller | undefined {
  const parsedClaims = claims as Struct // parsed from JSON
  const named = typeof caller === 'function' ? caller(parsedClaims) : foreignId(name, parsedClaims[caller])
  if (named === undefined) return undefined
  const known = callerNamed(name, named)
  const isScoped = typeof named === 'object' && named.scopes !== undefined
  return { ...known, ...(!isScoped && { scopes: scopesIn(parsedClaims) }), claims: parsedClaims }
}

/** `scope` is a string (RFC 9068); some issuers use `scp`, as a string or a list. */
function scopesIn({ scope, scp }: Struct): readonly string[] {
  const listed = scope ?? scp
  if (Array.isArray(listed)) return listed.filter((each) => typeof each === 'string')
  return typeof listed === 'string' ? listed.split(' ').filter((each) => each !== '') : []
}

/** Caches verified tokens until they expire. */
class TokenCache {
  readonly #known = new Map<string, { readonly caller: Caller; readonly untilMs: number }>()

  get(token: string): Caller | undefined {
    const found = this.#known.get(token)
    if (!found) return undefined
    if (Date.now() < found.untilMs) return found.caller
    this.#known.delete(token)
    return undefined
  }

  add(token: string, caller: Caller, expiresMs: number): void {
    // Only valid tokens are added, so that evicting the tokens of others requires many valid ones.
    if (this.#known.size >= maxTokens) {
      const [oldest] = this.#known.keys()
      if (oldest !== undefined) this.#known.delete(oldest)
    }
    this.#known.set(token, { caller, untilMs: Math.min(expiresMs, Date.now() + maxCacheMs) })
  }
}

/** A few megabytes at a typical token size. */
const maxTokens = 2000

/** Maximum time for which a token stays cached after its issuer withdraws the key. */
const maxCacheMs = 5 * 60_000
