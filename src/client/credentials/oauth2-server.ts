/**
 * Finds the authorization server of a scheme. A card may name only servers at the agent's own host or at origins that the
 * user allowed; otherwise it could have the client secret sent to a server of its choice. The same holds for metadata that the card points
 * to. All endpoints must be on the same side, the agent's host or elsewhere, so that codes of a provider are not sent to the
 * agent (mix-up attack, RFC 9700 section 4.4).
 */

import type { AuthorizationServer } from 'oauth4webapi'
import type { OAuthFlows, SecurityScheme } from '../../model/agent-card.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { A2AError } from '../../model/errors.js'
import { TransportError } from '../../model/transport-error.js'
import { withoutTrailingSlashes } from '../../model/trim-end.js'
import { classifyHost, isSameHost } from '../../net/addresses.js'
import type { HttpSender } from '../../transports/http-client.js'
import { parseJson } from '../../transports/read-json.js'

export interface ServerOptions {
  /** Issuer of the authorization server. Its metadata name the endpoints; those of the card are ignored. */
  readonly issuer?: string
  /** Token endpoint, if there is no metadata. The endpoints of the card are ignored. */
  readonly tokenUrl?: string
  readonly authorizationUrl?: string
  readonly deviceAuthorizationUrl?: string
  /** Origins of authorization servers that the card may name, beside the agent's own host. */
  readonly allowedOrigins?: readonly string[]
}

export interface FoundServer {
  readonly server: AuthorizationServer
  /** The issuer is derived from the token endpoint, so nothing can be checked against it. */
  readonly isAssumed: boolean
}

/** Returns the origins that the user named, for the address guard. */
export function originsToDial(options: ServerOptions, agentOrigin: string): readonly string[] {
  const { issuer, tokenUrl, authorizationUrl, deviceAuthorizationUrl, allowedOrigins = [] } = options
  return [agentOrigin, issuer, tokenUrl, authorizationUrl, deviceAuthorizationUrl, ...allowedOrigins].filter(
    (each): each is string => each !== undefined && each !== '',
  )
}

interface ServerSearch {
  /** The flow whose endpoints are used if the card has several. */
  readonly flow: keyof OAuthFlows
  /** Origin of the agent. */
  readonly origin: string
  readonly send: HttpSender
}

export async function findServer(
  scheme: SecurityScheme,
  options: ServerOptions,
  { flow, origin, send }: ServerSearch,
): Promise<FoundServer> {
  if (options.issuer !== undefined) return fetchMetadata(options.issuer, wellKnownOf(options.issuer), send)
  const { tokenUrl, authorizationUrl, deviceAuthorizationUrl } = options
  if (tokenUrl !== undefined) return assumedServer({ tokenUrl, authorizationUrl, deviceAuthorizationUrl })
  const trusted = (url: string) => assertTrusted(url, origin, options.allowedOrigins ?? [])
  const found = await namedByCard(scheme, trusted, { flow, send })
  assertSameSide(found.server, origin, trusted)
  return found
}

async function namedByCard(
  scheme: SecurityScheme,
  trusted: (url: string) => string,
  { flow, send }: Pick<ServerSearch, 'flow' | 'send'>,
): Promise<FoundServer> {
  if ('openIdConnectSecurityScheme' in scheme) {
    const url = trusted(scheme.openIdConnectSecurityScheme.openIdConnectUrl)
    return fetchMetadata(undefined, [url], send)
  }
  if (!('oauth2SecurityScheme' in scheme))
    throw new A2AError('UNAUTHENTICATED', 'The scheme names no authorization server: pass `issuer` or `tokenUrl`')
  const { flows, oauth2MetadataUrl } = scheme.oauth2SecurityScheme
  if (oauth2MetadataUrl !== undefined) return fetchMetadata(undefined, [trusted(oauth2MetadataUrl)], send)
  return assumedServer(endpointsOf(flows, flow))
}

interface Endpoints {
  readonly tokenUrl?: string | undefined
  readonly authorizationUrl?: string | undefined
  readonly deviceAuthorizationUrl?: string | undefined
}

/** Falls back to another flow of the card: flows mostly share the token endpoint. */
function endpointsOf(flows: OAuthFlows, flow: keyof OAuthFlows): Endpoints {
  const { authorizationCode, deviceCode, clientCredentials, password } = flows
  const found = flows[flow] ?? authorizationCode ?? deviceCode ?? clientCredentials ?? password ?? {}
  const { tokenUrl, authorizationUrl, deviceAuthorizationUrl }: Endpoints = found
  return { tokenUrl, authorizationUrl, deviceAuthorizationUrl }
}

function assumedServer({ tokenUrl, authorizationUrl, deviceAuthorizationUrl }: Endpoints): FoundServer {
  if (tokenUrl === undefined || !canParseUrl(tokenUrl))
    throw new A2AError('UNAUTHENTICATED', 'The card names no token endpoint: pass `issuer` or `tokenUrl`')
  const server: AuthorizationServer = {
    issuer: new URL(tokenUrl).origin,
    token_endpoint: tokenUrl,
    ...(authorizationUrl !== undefined && { authorization_endpoint: authorizationUrl }),
    ...(deviceAuthorizationUrl !== undefined && { device_authorization_endpoint: deviceAuthorizationUrl }),
  }
  return { server, isAssumed: true }
}

function wellKnownOf(issuer: string): readonly string[] {
  if (!canParseUrl(issuer)) throw new TypeError(`Invalid \`issuer\`: ${JSON.stringify(issuer)} must be a URL`)
  const { origin, pathname } = new URL(issuer)
  const path = withoutTrailingSlashes(pathname)
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]
}

/** Reads the metadata of a server (OpenID Connect Discovery, RFC 8414). */
async function fetchMetadata(
  issuer: string | undefined,
  urls: readonly string[],
  send: HttpSender,
): Promise<FoundServer> {
  for (const url of urls) {
    const response = await send({ method: 'GET', url, headers: { accept: 'application/json' } })
    if (!response.ok) continue
    // Metadata of another origin, after a redirect, are not trusted.
    const isSameOrigin = response.url === '' || new URL(response.url).origin === new URL(url).origin
    const server = parseMetadata(await response.bytes())
    // The issuer must match, so that a server cannot impersonate another one.
    const isOwn = issuer === undefined ? isIssuedAt(server, url) : withoutSlash(server?.issuer) === withoutSlash(issuer)
    if (!server || !isOwn || !isSameOrigin)
      throw new A2AError('UNAUTHENTICATED', `The metadata at ${url} belong to another issuer`)
    return { server, isAssumed: false }
  }
  throw new A2AError('UNAUTHENTICATED', `There are no metadata of an authorization server: ${urls.join(', ')}`)
}

function parseMetadata(bytes: Uint8Array): AuthorizationServer | undefined {
  try {
    const metadata = parseJson(bytes) as Partial<AuthorizationServer> | null // checked in the next line
    return typeof metadata?.issuer === 'string' ? (metadata as AuthorizationServer) : undefined
  } catch {
    return undefined
  }
}

function isIssuedAt(server: AuthorizationServer | undefined, url: string): boolean {
  return server !== undefined && canParseUrl(server.issuer) && new URL(server.issuer).origin === new URL(url).origin
}

function withoutSlash(url: string | undefined): string | undefined {
  return url === undefined ? undefined : withoutTrailingSlashes(url)
}

/** Throws if some endpoints are at the agent's host and others are not. */
function assertSameSide(server: AuthorizationServer, agentOrigin: string, trusted: (url: string) => string): void {
  const { token_endpoint, authorization_endpoint, device_authorization_endpoint } = server
  const urls = [token_endpoint, authorization_endpoint, device_authorization_endpoint]
    .filter((url) => url !== undefined)
    .map(trusted)
  if (new Set(urls.map((url) => isAtHostOf(agentOrigin, url))).size > 1)
    throw new TransportError(
      'refused',
      'The card names endpoints at the agent and at another host: pass `issuer` if that is right',
    )
}

function isAtHostOf(agentOrigin: string, url: string): boolean {
  return canParseUrl(agentOrigin) && isSameHost(new URL(agentOrigin).hostname, new URL(url).hostname)
}

function assertTrusted(url: string, agentOrigin: string, allowed: readonly string[]): string {
  if (typeof url !== 'string' || !canParseUrl(url))
    throw new TransportError(
      'refused',
      `The card wants tokens from ${JSON.stringify(String(url).slice(0, 200))}, which is not a URL`,
    )
  const { protocol, hostname, origin } = new URL(url)
  if (allowed.some((each) => canParseUrl(each) && new URL(each).origin === origin)) return url
  if (!isAtHostOf(agentOrigin, url))
    throw new TransportError(
      'refused',
      `The card wants tokens from ${origin}, which is not the agent's host: pass it as \`issuer\` or in \`allowedOrigins\` if that is right`,
    )
  if (protocol !== 'https:' && classifyHost(hostname) !== 'loopback')
    throw new TransportError('refused', `The card wants tokens from ${origin}, which does not use https`)
  return url
}
