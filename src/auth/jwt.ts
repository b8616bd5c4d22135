import type { JSONWebKeySet, JWK, JWTVerifyGetKey } from 'jose'
import { assertOptions, type OptionNames } from '../model/option-names.js'
import { loadJose } from '../net/load-jose.js'
import { assertTrustworthy, type Fetch, fetchJson } from './fetch-json.js'
import { type KeyTimes, keyTimeNames, remoteKeys } from './remote-keys.js'
import type { AuthScheme } from './scheme.js'
import {
  chooseAlgorithms,
  publicKeyAlgorithms,
  secretAlgorithms,
  type TokenOptions,
  tokenOptionNames,
  tokenScheme,
} from './token.js'

/** The keys that verify tokens: at an address, in a list, or a secret shared with the issuer. */
export type JwtKeys =
  | { readonly jwksUrl: string; readonly fetch?: Fetch; readonly times?: KeyTimes }
  | { readonly keys: readonly JWK[] }
  | { readonly secret: string | Uint8Array }

/** Options of `jwt`. */
export type JwtOptions = TokenOptions &
  JwtKeys & {
    /** Who must have issued a token. Default: whoever has the key. */
    readonly issuer?: string
    /** What the card calls the scheme. Default `jwt`. */
    readonly scheme?: string
  }

const optionNames: OptionNames = {
  ...tokenOptionNames,
  jwksUrl: true,
  fetch: true,
  times: keyTimeNames,
  keys: true,
  secret: true,
  issuer: true,
  scheme: true,
}

/**
 * Signed tokens of an issuer of your own, without OpenID Connect.
 *
 * ```ts
 * serve(agent, { auth: [jwt({ audience: 'https://agent.example', jwksUrl: 'https://id.example/jwks' })] })
 * serve(agent, { auth: [jwt({ audience: 'agent', issuer: 'gateway', secret: process.env.TOKEN_SECRET })] })
 * ```
 */
export function jwt(options: JwtOptions): AuthScheme {
  assertOptions('jwt', options, optionNames)
  const { scheme = 'jwt', issuer, description } = options
  const fitting = 'secret' in options ? secretAlgorithms : publicKeyAlgorithms
  return tokenScheme(options, {
    name: scheme,
    card: { httpAuthSecurityScheme: { ...(description && { description }), scheme: 'Bearer', bearerFormat: 'JWT' } },
    algorithms: chooseAlgorithms(scheme, fitting, options.algorithms),
    issuer,
    key: keyOf(options, scheme),
  })
}

function keyOf(options: JwtKeys, scheme: string): JWTVerifyGetKey {
  if ('secret' in options) return sharedSecret(options.secret, scheme)
  if ('keys' in options) return listedKeys(options.keys, scheme)
  if (typeof options.jwksUrl !== 'string')
    throw new TypeError(`${scheme} needs keys: give \`jwksUrl\`, \`keys\` or \`secret\``)
  const { jwksUrl, fetch = globalThis.fetch, times } = options
  assertTrustworthy(jwksUrl, `${scheme}: \`jwksUrl\``)
  return remoteKeys(async () => (await fetchJson(jwksUrl, fetch)) as JSONWebKeySet, times) // jose checks it
}

/** A shorter one could be guessed from a single token. */
const leastSecretBytes = 32

function sharedSecret(secret: string | Uint8Array, scheme: string): JWTVerifyGetKey {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
  if (!(bytes instanceof Uint8Array) || bytes.byteLength < leastSecretBytes)
    throw new TypeError(`${scheme}: \`secret\` must have at least ${leastSecretBytes} bytes`)
  return async () => bytes
}

function listedKeys(keys: readonly JWK[], scheme: string): JWTVerifyGetKey {
  if (keys.length === 0 || keys.some(({ kty }) => kty === undefined || kty === 'oct'))
    throw new TypeError(`${scheme}: \`keys\` is a list of public keys (JWK)`)
  let find: JWTVerifyGetKey | undefined
  return async (header, token) => {
    const { createLocalJWKSet } = await loadJose()
    find ??= createLocalJWKSet({ keys: [...keys] })
    return await find(header, token)
  }
}
