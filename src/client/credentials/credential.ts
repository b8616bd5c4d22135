/**
 * Credentials of a client. The card names the schemes that an agent accepts, and the user passes sources. `authorizer.ts`
 * sends the credentials of a source only to trusted origins.
 */
import type { SecurityScheme } from '../../model/agent-card.js'
import { assertOptions, describeValue, type NamesOf } from '../../model/option-names.js'
import type { HttpSender } from '../../transports/http-client.js'

/** One scheme of a requirement of the card. */
export interface SchemeNeed {
  /** Name of the scheme in the card. Empty if the card requires nothing. */
  readonly name: string
  readonly scheme: SecurityScheme
  readonly scopes: readonly string[]
}

/** Additions to a call. gRPC has no query, so it ignores `query`. */
export interface Credential {
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly cookies?: Readonly<Record<string, string>>
}

export interface CredentialContext {
  /** Origin of the agent. */
  readonly origin: string
  /** Returns a sender for requests to authorization servers at origins that the user named. */
  sender(namedOrigins: readonly string[]): HttpSender
  readonly signal?: AbortSignal
}

/**
 * Provides credentials for `connect`. `apiKeyCredential`, `basicCredential`, `bearerCredential`, `mutualTls` and `oauth2`
 * create one.
 */
export interface CredentialSource {
  /** The scheme for agents whose card names none. Absent: the credential is not sent to them. */
  readonly defaultScheme?: SecurityScheme
  /** Whether the source has a credential for a scheme, which has this name in the card. Sends nothing. */
  fits(scheme: SecurityScheme, name?: string): boolean
  /** Returns the credential for a call. Throws `A2AError` with `UNAUTHENTICATED` if there is none. */
  get(need: SchemeNeed, context: CredentialContext): Promise<Credential>
  /** Called after the agent answered 401. Returns whether `get` may return another credential now. */
  refused?(need: SchemeNeed, given: Credential, context: CredentialContext): Promise<boolean>
}

/** One source, several, or sources by the names of the card's schemes. */
export type CredentialSources =
  | CredentialSource
  | readonly CredentialSource[]
  | { readonly [scheme: string]: CredentialSource }

/** Lists the sources. */
export function sourcesIn(sources: CredentialSources): readonly CredentialSource[] {
  if (isSource(sources)) return [sources]
  return Array.isArray(sources) ? (sources as readonly CredentialSource[]) : Object.values(sources)
}

export function isSource(sources: CredentialSources): sources is CredentialSource {
  return typeof (sources as Partial<CredentialSource> | undefined)?.get === 'function'
}

/** Throws `TypeError` unless `credentials` is absent or made of sources. */
export function assertCredentials(sources: CredentialSources | undefined): void {
  if (sources === undefined) return
  const isObject = typeof sources === 'object' && sources !== null
  if (isObject && !('authenticate' in sources) && sourcesIn(sources).every(isSource)) return
  throw new TypeError(
    "`credentials` must be made by `apiKeyCredential`, `basicCredential`, `bearerCredential`, `oauth2` or `mutualTls` of 'dragoman/client': write `credentials: apiKeyCredential('…')`",
  )
}

export function bearerHeader(token: string): Credential {
  return { headers: { authorization: `Bearer ${token}` } }
}

/** Options of `apiKeyCredential`. */
interface ApiKeyCredentialOptions {
  /** Name of the header, parameter or cookie for agents whose card names none. Default `X-API-Key`. */
  readonly name?: string
  /** Default `header`. */
  readonly location?: 'header' | 'query' | 'cookie'
}

const keyLocations = ['header', 'query', 'cookie'] as const
const keyOptionNames = { name: 'string', location: keyLocations } satisfies NamesOf<ApiKeyCredentialOptions>

/** Sends an API key in the header, query parameter or cookie that the agent's card names. */
export function apiKeyCredential(key: string, options: ApiKeyCredentialOptions = {}): CredentialSource {
  assertOptions('apiKeyCredential', options, keyOptionNames)
  const { name = 'X-API-Key', location = 'header' } = options
  assertSecret(key, 'apiKeyCredential needs a key')
  return {
    defaultScheme: { apiKeySecurityScheme: { location, name } },
    fits: (scheme) =>
      'apiKeySecurityScheme' in scheme && keyLocations.some((each) => each === scheme.apiKeySecurityScheme.location),
    async get({ scheme }) {
      if (!('apiKeySecurityScheme' in scheme)) return {}
      const { location: wanted, name: keyName } = scheme.apiKeySecurityScheme
      if (wanted === 'query') return { query: { [keyName]: key } }
      return wanted === 'cookie' ? { cookies: { [keyName]: key } } : { headers: { [keyName]: key } }
    },
  }
}

/** Sends a user name and a password with HTTP Basic authentication (RFC 7617). */
export function basicCredential(user: string, password: string): CredentialSource {
  for (const each of [user, password])
    if (typeof each !== 'string')
      throw new TypeError(`basicCredential needs a user and a password; got ${describeValue(each)}`)
  if (user.includes(':')) throw new TypeError('The user name of basicCredential must not contain a colon')
  const bytes = new TextEncoder().encode(`${user}:${password}`)
  const credential = { headers: { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` } }
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
    refused: async (_need, given) =>
      typeof token !== 'string' && (await get()).headers?.authorization !== given.headers?.authorization,
  }
}

/** A client certificate, as PEM texts. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: string
  /** Passphrase of the key, if it is encrypted. */
  readonly passphrase?: string
  /** Certificate authorities that may have signed the agent's certificate. Default: those of the platform. */
  readonly ca?: string
}

const certificateNames = { cert: true, key: true, passphrase: true, ca: true } satisfies NamesOf<ClientCertificate>

interface CertificateSource extends CredentialSource {
  readonly certificate: ClientCertificate
}

/** Connects with a client certificate (mutual TLS), on Node. */
export function mutualTls(certificate: ClientCertificate): CredentialSource {
  assertOptions('mutualTls', certificate, certificateNames)
  const source: CertificateSource = {
    certificate,
    fits: (scheme) => 'mtlsSecurityScheme' in scheme,
    get: async () => ({}), // the dialer and gRPC use the certificate; the call itself needs nothing
  }
  return source
}

/** Returns the client certificate of the sources, if there is one. */
export function certificateOf(sources: readonly CredentialSource[]): ClientCertificate | undefined {
  const found = sources.find((source): source is CertificateSource => 'certificate' in source)
  return found?.certificate
}

function isHttp(scheme: SecurityScheme, name: string): boolean {
  return 'httpAuthSecurityScheme' in scheme && scheme.httpAuthSecurityScheme.scheme.toLowerCase() === name
}

function assertSecret(value: unknown, message: string): void {
  if (typeof value !== 'string') throw new TypeError(`${message}; got ${describeValue(value)}`)
  if (value === '') throw new TypeError(message)
}
