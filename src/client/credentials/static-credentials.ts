/** Credentials that are simply there: keys, passwords, tokens that somebody else gets. */
import { assertOptions, describeValue, type NamesOf } from '../../model/option-names.js'
import { bearerHeader, type Credential, type CredentialSource, type SchemeNeed } from './credential.js'

export interface ApiKeyOptions {
  /** Where it goes when the card does not say. Default: the header `X-API-Key`. */
  readonly name?: string
  readonly location?: 'header' | 'query' | 'cookie'
}

const keyNames = { name: 'string', location: ['header', 'query', 'cookie'] } satisfies NamesOf<ApiKeyOptions>

/** Sends an API key in the header, query parameter or cookie that the agent's card names. */
export function apiKeyCredential(key: string, options: ApiKeyOptions = {}): CredentialSource {
  assertOptions('apiKeyCredential', options, keyNames)
  const { name = 'X-API-Key', location = 'header' } = options
  assertSecret(key, 'apiKeyCredential needs a key')
  return {
    defaultScheme: { apiKeySecurityScheme: { location, name } },
    fits: (scheme) => 'apiKeySecurityScheme' in scheme && places.has(scheme.apiKeySecurityScheme.location),
    async get({ scheme }) {
      if (!('apiKeySecurityScheme' in scheme)) return {}
      const { location: place, name: called } = scheme.apiKeySecurityScheme
      if (place === 'query') return { query: { [called]: key } }
      return place === 'cookie' ? { cookies: { [called]: key } } : { headers: { [called]: key } }
    },
  }
}

const places: ReadonlySet<string> = new Set(['header', 'query', 'cookie'])

/** Sends a user name and a password with HTTP Basic authentication (RFC 7617). */
export function basicCredential(user: string, password: string): CredentialSource {
  for (const each of [user, password])
    if (typeof each !== 'string')
      throw new TypeError(`basicCredential needs a user and a password; got ${describeValue(each)}`)
  if (user.includes(':')) throw new TypeError('The user name of basicCredential must not contain a colon')
  const given = new TextEncoder().encode(`${user}:${password}`)
  const credential = { headers: { authorization: `Basic ${btoa(String.fromCharCode(...given))}` } }
  return {
    defaultScheme: { httpAuthSecurityScheme: { scheme: 'Basic' } },
    fits: (scheme) => isHttp(scheme, 'basic'),
    get: async () => credential,
  }
}

/**
 * Sends a token in the `Authorization` header. A function is called for each request, and again when the agent rejected
 * its token. Satisfies bearer, OAuth 2 and OpenID Connect schemes.
 */
export function bearerCredential(token: string | (() => string | Promise<string>)): CredentialSource {
  if (typeof token !== 'function') assertSecret(token, 'bearerCredential needs a token')
  const get = async () => bearerHeader(typeof token === 'string' ? token : await token())
  return {
    defaultScheme: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
    fits: (scheme) =>
      isHttp(scheme, 'bearer') || 'oauth2SecurityScheme' in scheme || 'openIdConnectSecurityScheme' in scheme,
    get,
    refused: async (_need, given) => typeof token !== 'string' && !isSame(await get(), given),
  }
}

/** What a client certificate consists of, as PEM. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: string
  readonly passphrase?: string
  /** Who may have signed the agent's certificate. Default: those the platform trusts. */
  readonly ca?: string
}

const certificateNames = { cert: true, key: true, passphrase: true, ca: true } satisfies NamesOf<ClientCertificate>

/** Says that calls are made with a client certificate. It adds nothing to a call: the connection is the proof. */
export interface CertificateSource extends CredentialSource {
  readonly certificate: ClientCertificate
}

/**
 * A client certificate. It works on Node: the assembly makes the connections with it, by the dialer of `net/`
 * and by gRPC's own credentials.
 */
export function mutualTls(certificate: ClientCertificate): CertificateSource {
  assertOptions('mutualTls', certificate, certificateNames)
  return { certificate, fits: (scheme) => 'mtlsSecurityScheme' in scheme, get: async () => ({}) }
}

/** The certificate among some sources. */
export function certificateOf(sources: readonly CredentialSource[]): ClientCertificate | undefined {
  const found = sources.find((source): source is CertificateSource => 'certificate' in source)
  return found?.certificate
}

function isHttp(scheme: SchemeNeed['scheme'], name: string): boolean {
  return 'httpAuthSecurityScheme' in scheme && scheme.httpAuthSecurityScheme.scheme.toLowerCase() === name
}

function isSame(one: Credential, other: Credential): boolean {
  return one.headers?.authorization === other.headers?.authorization
}

function assertSecret(value: unknown, message: string): void {
  if (typeof value !== 'string') throw new TypeError(`${message}; got ${describeValue(value)}`)
  if (value === '') throw new TypeError(message)
}
