import type { JSONWebKeySet } from 'jose'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { assertTrustworthy, type Fetch, fetchJson } from './fetch-json.js'
import { type KeyTimes, keyTimeNames, remoteKeys } from './remote-keys.js'
import type { AuthScheme } from './scheme.js'
import { chooseAlgorithms, publicKeyAlgorithms, type TokenOptions, tokenOptionNames, tokenScheme } from './token.js'

/** Options of `oidc`. */
export interface OidcOptions extends TokenOptions {
  /** What the card calls the scheme, and what stands before the callers' ids. Default `oidc`. */
  readonly scheme?: string
  /** For issuers that only a `fetch` of your own can reach. */
  readonly fetch?: Fetch
  /** When keys are fetched. */
  readonly times?: KeyTimes
}

const optionNames = {
  ...tokenOptionNames,
  scheme: true,
  fetch: true,
  times: keyTimeNames,
} satisfies NamesOf<OidcOptions>

/**
 * Access tokens of an OpenID provider. Its keys are found by discovery when the first token comes, and again
 * when it has new ones.
 *
 * ```ts
 * serve(agent, { auth: [oidc('https://id.example', { audience: 'https://agent.example' })] })
 * ```
 */
export function oidc(issuer: string, options: OidcOptions): AuthScheme {
  assertOptions('oidc', options, optionNames)
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
      // Somebody else's document must not bring somebody else's keys.
      if (found?.issuer !== issuer) throw new Error(`${openIdConnectUrl} is about another issuer`)
      if (typeof found.jwks_uri !== 'string') throw new Error(`${openIdConnectUrl} names no keys`)
      assertTrustworthy(found.jwks_uri, `${scheme}: \`jwks_uri\``)
      return (await fetchJson(found.jwks_uri, fetch)) as JSONWebKeySet // jose checks it
    }, times),
  })
}
