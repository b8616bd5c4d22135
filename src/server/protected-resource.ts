/** Metadata of OAuth 2 protected resources (RFC 9728), which tell clients of endpoints where to get tokens. */
import { type Requirement, schemesOf } from '../auth/requirement.js'
import { type AuthScheme, quoted } from '../auth/scheme.js'
import type { Endpoint } from './endpoints.js'
import { refusalOf } from './refusal.js'

const wellKnown = '/.well-known/oauth-protected-resource'

interface ResourceDeps {
  /** The address of the server. */
  readonly url: string
  readonly security: readonly Requirement[]
}

/** Metadata of one path of an endpoint. */
export interface ProtectedResource {
  /** Answers requests for the metadata, of every caller and every web page. */
  readonly endpoint: Endpoint
  /** Adds the address of the metadata to a challenge. */
  addTo(challenge: string): string
}

/** Returns the metadata by the paths of endpoints with `isOAuthResource`. Empty unless `auth` has an OAuth scheme. */
export function protectedResources(
  endpoints: readonly Endpoint[],
  { url, security }: ResourceDeps,
): ReadonlyMap<string, ProtectedResource> {
  const servers = [...new Set(schemesOf(security).flatMap((scheme) => authorizationServer(scheme) ?? []))]
  const guarded = endpoints.filter(({ isOAuthResource, isPublic }) => isOAuthResource && !isPublic)
  if (servers.length === 0 || guarded.length === 0) return new Map()
  const scopes = [...new Set(security.flatMap(({ needs }) => needs.flatMap((need) => need.scopes)))]
  const common = {
    authorization_servers: servers,
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
  }
  return new Map(
    guarded.flatMap(({ name, paths }) =>
      paths.map((path) => {
        const place = path === '/' ? '' : path
        const body = JSON.stringify({ resource: `${url}${path}`, ...common })
        const parameter = `resource_metadata=${quoted(`${url}${wellKnown}${place}`)}`
        return [
          path,
          {
            endpoint: metadataEndpoint(`${name} (metadata)`, `${wellKnown}${place}`, body),
            // Clients read the first Bearer challenge only.
            addTo: (challenge) => challenge.replace(/\bBearer (?=\w+=)/, `Bearer ${parameter}, `),
          },
        ]
      }),
    ),
  )
}

/** The issuer, or the one that the address of its metadata names (RFC 8414, 3.1; OpenID Connect Discovery, 4). */
function authorizationServer({ card, issuer }: AuthScheme): string | undefined {
  const isAddress = issuer !== undefined && /^https?:/.test(issuer)
  if ('openIdConnectSecurityScheme' in card)
    return isAddress ? issuer : issuerOf(card.openIdConnectSecurityScheme.openIdConnectUrl)
  if (!('oauth2SecurityScheme' in card)) return undefined
  const { oauth2MetadataUrl } = card.oauth2SecurityScheme
  if (isAddress) return issuer
  return oauth2MetadataUrl === undefined ? undefined : issuerOf(oauth2MetadataUrl)
}

function issuerOf(metadataUrl: string): string {
  return metadataUrl.replace(/\/\.well-known\/(?:openid-configuration|oauth-authorization-server)/, '')
}

function metadataEndpoint(name: string, path: string, body: string): Endpoint {
  const open = { 'access-control-allow-origin': '*' }
  return {
    name,
    paths: [path],
    isPublic: true,
    answer(exchange, visit) {
      if (visit.path !== path) return undefined
      // Clients in browsers send headers of their protocol.
      if (exchange.method === 'OPTIONS')
        return { status: 204, headers: { ...open, 'access-control-allow-headers': '*' } }
      if (exchange.method !== 'GET' && exchange.method !== 'HEAD')
        return { status: 405, headers: { ...open, allow: 'GET, HEAD, OPTIONS' } }
      return {
        status: 200,
        headers: { ...open, 'content-type': 'application/json', 'cache-control': 'max-age=60' },
        body,
      }
    },
    refuse: (refused) => refusalOf({ refused }),
  }
}
