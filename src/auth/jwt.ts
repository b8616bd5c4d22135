/** Schemes for signed tokens: `jwt` with keys of your own, `oidc` with an OpenID provider. */
import type { JSONWebKeySet, JWK, JWTVerifyGetKey } from 'jose'
import { assertOptions, type NamesOf, type OptionNames } from '../model/option-names.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { loadJose } from '../net/load-jose.js'
import { assertTrustworthy, type Fetch, fetchJson, type KeyTimes, keyTimeNames, remoteKeys } from './remote-keys.js'
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
    /** The required issuer of a token. Default: any holder of the key. */
    readonly issuer?: string
    /** Name of the scheme in the card. Default `jwt`. */
    readonly scheme?: string
  }

const jwtOptions: OptionNames = {
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
 * Accepts signed tokens (JWT) of your own issuer, without OpenID Connect.
 *
 * ```ts
 * serve(agent, { auth: jwt({ audience: 'https://agent.example', jwksUrl: 'https://id.example/jwks' }) })
 * serve(agent, { auth: jwt({ audience: 'agent', issuer: 'gateway', secret: process.env.TOKEN_SECRET }) })
 * ```
 */
export function jwt(options: JwtOptions): AuthScheme {
  assertOptions('jwt', options, jwtOptions)
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

/** A shorter secret could be guessed from a single token. */
const minSecretBytes = 32

function sharedSecret(secret: string | Uint8Array, scheme: string): JWTVerifyGetKey {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
  if (!(bytes instanceof Uint8Array) || bytes.byteLength < minSecretBytes)
    throw new TypeError(`${scheme}: \`secret\` must have at least ${minSecretBytes} bytes`)
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

/** Options of `oidc`. */
export interface OidcOptions extends TokenOptions {
  /** Name of the scheme in the card, and prefix of the callers' ids. Default `oidc`. */
  readonly scheme?: string
  /** Reads the issuer's documents. Default: the global `fetch`. */
  readonly fetch?: Fetch
  /** Times for which keys are cached. */
  readonly times?: KeyTimes
}

const oidcOptions = {
  ...tokenOptionNames,
  scheme: true,
  fetch: true,
  times: keyTimeNames,
} satisfies NamesOf<OidcOptions>

/**
 * Accepts access tokens of an OpenID provider. The server discovers the provider's keys when the first token arrives, and
 * again when a token is signed with an unknown key.
 *
 * ```ts
 * serve(agent, { auth: oidc('https://id.example', { audience: 'https://agent.example' }) })
 * ```
 */
export function oidc(issuer: string, options: OidcOptions): AuthScheme {
  assertOptions('oidc', options, oidcOptions)
  const { scheme = 'oidc', description, fetch = globalThis.fetch, times } = options
  assertTrustworthy(issuer, `${scheme}: the issuer`)
  const openIdConnectUrl = `${withoutTrailingSlashes(issuer)}/.well-known/openid-configuration`
  return tokenScheme(options, {
    name: scheme,
    card: { openIdConnectSecurityScheme: { ...(description && { description }), openIdConnectUrl } },
    algorithms: chooseAlgorithms(scheme, publicKeyAlgorithms, options.algorithms),
    issuer,
    key: remoteKeys(async () => {
      const found = (await fetchJson(openIdConnectUrl, fetch)) as { issuer?: unknown; jwks_uri?: unknown } | null
      // A document of another issuer must not supply keys.
      if (found?.issuer !== issuer) throw new Error(`${openIdConnectUrl} is about another issuer`)
      if (typeof found.jwks_uri !== 'string') throw new Error(`${openIdConnectUrl} names no keys`)
      assertTrustworthy(found.jwks_uri, `${scheme}: \`jwks_uri\``)
      return (await fetchJson(found.jwks_uri, fetch)) as JSONWebKeySet // jose checks it
    }, times),
  })
}
