/**
 * Which authorization server a token comes from. The card is a stranger's: what it says about servers counts
 * only where they are at the agent's own host or at an origin that the user allowed, or else a card could have
 * the user's client secret sent to anybody. So does what is found where the card points to. All endpoints are on one
 * side, too: who logs in at a provider has the code for it sent to no agent (mix-up, RFC 9700 4.4).
 */

import type { AuthorizationServer } from 'oauth4webapi'
import type { OAuthFlows, SecurityScheme } from '../../model/agent-card.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { A2AError } from '../../model/errors.js'
import { TransportError } from '../../model/transport-error.js'
import { withoutTrailingSlashes } from '../../model/trim-end.js'
import { classifyHost, isSameHost } from '../../net/addresses.js'
import type { HttpSender } from '../../transports/http-sender.js'
import { parseJson } from '../../transports/read-json.js'

export interface ServerOptions {
  /** The authorization server, by its issuer: its endpoints are looked up there, and the card's are not used. */
  readonly issuer?: string
  /** Endpoints, where they are known: the card's are not used. */
  readonly tokenUrl?: string
  readonly authorizationUrl?: string
  readonly deviceAuthorizationUrl?: string
  /** Origins of authorization servers that the card may name. The agent's own host always is one. */
  readonly allowedOrigins?: readonly string[]
}

export interface FoundServer {
  readonly server: AuthorizationServer
  /** The issuer is made up: nothing that names one can be checked against it. */
  readonly isMadeUp: boolean
}

/** Origins that the user gave, for the guard of addresses. */
export function namedOrigins(options: ServerOptions, agentOrigin: string): readonly string[] {
  const { issuer, tokenUrl, authorizationUrl, deviceAuthorizationUrl, allowedOrigins = [] } = options
  return [agentOrigin, issuer, tokenUrl, authorizationUrl, deviceAuthorizationUrl, ...allowedOrigins].filter(
    (each): each is string => each !== undefined && each !== '',
  )
}

interface ServerSearch {
  /** The flow that the card's endpoints are for, where it names several. */
  readonly flow: keyof OAuthFlows
  /** The agent's. */
  readonly origin: string
  readonly send: HttpSender
}

export async function findServer(
  scheme: SecurityScheme,
  options: ServerOptions,
  { flow, origin, send }: ServerSearch,
): Promise<FoundServer> {
  if (options.issuer !== undefined) return discovered(options.issuer, wellKnownOf(options.issuer), send)
  const { tokenUrl, authorizationUrl, deviceAuthorizationUrl } = options
  if (tokenUrl !== undefined) return madeUp({ tokenUrl, authorizationUrl, deviceAuthorizationUrl })
  const trusted = (url: string) => mustBeTrusted(url, origin, options.allowedOrigins ?? [])
  const found = await namedByCard(scheme, trusted, { flow, send })
  mustBeOnOneSide(found.server, origin, trusted)
  return found
}

/** What the card says, or where it points to. */
async function namedByCard(
  scheme: SecurityScheme,
  trusted: (url: string) => string,
  { flow, send }: Pick<ServerSearch, 'flow' | 'send'>,
): Promise<FoundServer> {
  if ('openIdConnectSecurityScheme' in scheme) {
    const url = trusted(scheme.openIdConnectSecurityScheme.openIdConnectUrl)
    return discovered(undefined, [url], send)
  }
  if (!('oauth2SecurityScheme' in scheme))
    throw new A2AError('UNAUTHENTICATED', 'A token needs to be told where it comes from: give `issuer` or `tokenUrl`')
  const { flows, oauth2MetadataUrl } = scheme.oauth2SecurityScheme
  if (oauth2MetadataUrl !== undefined) return discovered(undefined, [trusted(oauth2MetadataUrl)], send)
  return madeUp(endpointsOf(flows, flow))
}

interface Endpoints {
  readonly tokenUrl?: string | undefined
  readonly authorizationUrl?: string | undefined
  readonly deviceAuthorizationUrl?: string | undefined
}

/** Those of the flow, or of another one: they mostly share the token endpoint. */
function endpointsOf(flows: OAuthFlows, flow: keyof OAuthFlows): Endpoints {
  const { authorizationCode, deviceCode, clientCredentials, password } = flows
  const found = flows[flow] ?? authorizationCode ?? deviceCode ?? clientCredentials ?? password ?? {}
  const { tokenUrl, authorizationUrl, deviceAuthorizationUrl }: Endpoints = found
  return { tokenUrl, authorizationUrl, deviceAuthorizationUrl }
}

function madeUp({ tokenUrl, authorizationUrl, deviceAuthorizationUrl }: Endpoints): FoundServer {
  if (tokenUrl === undefined || !canParseUrl(tokenUrl))
    throw new A2AError('UNAUTHENTICATED', 'The card does not say where tokens come from: give `issuer` or `tokenUrl`')
  const server: AuthorizationServer = {
    issuer: new URL(tokenUrl).origin,
    token_endpoint: tokenUrl,
    ...(authorizationUrl !== undefined && { authorization_endpoint: authorizationUrl }),
    ...(deviceAuthorizationUrl !== undefined && { device_authorization_endpoint: deviceAuthorizationUrl }),
  }
  return { server, isMadeUp: true }
}

function wellKnownOf(issuer: string): readonly string[] {
  if (!canParseUrl(issuer)) throw new TypeError(`The issuer ${JSON.stringify(issuer)} is no address`)
  const { origin, pathname } = new URL(issuer)
  const path = withoutTrailingSlashes(pathname)
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]
}

/** What a server says of itself (OpenID Connect Discovery, RFC 8414). */
async function discovered(issuer: string | undefined, urls: readonly string[], send: HttpSender): Promise<FoundServer> {
  for (const url of urls) {
    const response = await send({ method: 'GET', url, headers: { accept: 'application/json' } })
    if (!response.ok) {
      await response.body?.cancel()
      continue
    }
    // A redirect, which anybody may have put into the address, speaks for nobody.
    const isThere = response.url === '' || new URL(response.url).origin === new URL(url).origin
    const server = parseMetadata(new Uint8Array(await response.arrayBuffer()))
    // Its name must be the one it was asked under, or it could speak for another one.
    const isOwn = issuer === undefined ? isIssuedAt(server, url) : withoutSlash(server?.issuer) === withoutSlash(issuer)
    if (!server || !isOwn || !isThere) throw new A2AError('UNAUTHENTICATED', `What ${url} says is not about itself`)
    return { server, isMadeUp: false }
  }
  throw new A2AError('UNAUTHENTICATED', `Nothing tells where tokens come from: ${urls.join(', ')}`)
}

function parseMetadata(bytes: Uint8Array): AuthorizationServer | undefined {
  try {
    const metadata = parseJson(bytes) as Partial<AuthorizationServer> | null // looked at in the next line
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

/** Everything that codes, secrets and people are sent to. */
function mustBeOnOneSide(server: AuthorizationServer, agentOrigin: string, trusted: (url: string) => string): void {
  const { token_endpoint, authorization_endpoint, device_authorization_endpoint } = server
  const urls = [token_endpoint, authorization_endpoint, device_authorization_endpoint]
    .filter((url) => url !== undefined)
    .map(trusted)
  if (new Set(urls.map((url) => isAtHostOf(agentOrigin, url))).size > 1)
    throw new TransportError(
      'refused',
      'The card has people log in at one place and tokens come from another: name the issuer if that is right',
    )
}

function isAtHostOf(agentOrigin: string, url: string): boolean {
  return canParseUrl(agentOrigin) && isSameHost(new URL(agentOrigin).hostname, new URL(url).hostname)
}

function mustBeTrusted(url: string, agentOrigin: string, allowed: readonly string[]): string {
  if (typeof url !== 'string' || !canParseUrl(url))
    throw new TransportError(
      'refused',
      `The card wants tokens from ${JSON.stringify(String(url).slice(0, 200))}, which is no address`,
    )
  const { protocol, hostname, origin } = new URL(url)
  if (allowed.some((each) => canParseUrl(each) && new URL(each).origin === origin)) return url
  if (!isAtHostOf(agentOrigin, url))
    throw new TransportError(
      'refused',
      `The card wants tokens from ${origin}, which is not the agent's host: name it as issuer or in allowedOrigins if that is right`,
    )
  if (protocol !== 'https:' && classifyHost(hostname) !== 'loopback')
    throw new TransportError('refused', `The card wants tokens from ${origin}, in the clear`)
  return url
}
