import type { OAuthFlows } from '../model/agent-card.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { assertTrustworthy } from './fetch-json.js'
import type { AuthScheme } from './scheme.js'

/** Addresses that a flow must have. */
const addresses: Readonly<Record<keyof OAuthFlows, readonly string[]>> = {
  authorizationCode: ['authorizationUrl', 'tokenUrl'],
  clientCredentials: ['tokenUrl'],
  deviceCode: ['deviceAuthorizationUrl', 'tokenUrl'],
  implicit: ['authorizationUrl'],
  password: ['tokenUrl'],
}

const flowNames = Object.keys(addresses).join(', ')

/** Options of `withFlows`. */
export interface FlowsOptions {
  /** The metadata of the authorization server (RFC 8414). */
  readonly metadataUrl?: string
}

const optionNames = { metadataUrl: true } satisfies NamesOf<FlowsOptions>

/**
 * Declares on the card how callers get the tokens of a scheme: an OAuth 2 scheme with one or several flows. The scheme
 * (`jwt`, `oidc` or `bearer`) verifies the tokens as before. Throws `TypeError` for other schemes and incomplete flows.
 *
 * ```ts
 * const tokens = jwt({ scheme: 'oauth2', audience, issuer, jwksUrl: 'https://id.example/jwks' })
 * serve(agent, { auth: [withFlows(tokens, { clientCredentials: { tokenUrl: 'https://id.example/token', scopes: {} } })] })
 * ```
 */
export function withFlows(scheme: AuthScheme, flows: OAuthFlows, options: FlowsOptions = {}): AuthScheme {
  assertOptions('withFlows', options, optionNames)
  const { metadataUrl } = options
  const { name } = scheme
  if (!isTokenScheme(scheme))
    throw new TypeError(`Not a scheme of tokens: ${name}; pass jwt(), oidc() or bearer() to withFlows`)
  if (!isObject(flows)) throw new TypeError(`${name}: \`flows\` must be an object of flows: ${flowNames}`)
  const entries = Object.entries<unknown>(flows).filter(([, flow]) => flow !== undefined)
  if (entries.length === 0) throw new TypeError(`${name} needs a flow: ${flowNames}`)
  for (const [flow, content] of entries) assertFlow(name, flow, content)
  if (metadataUrl !== undefined) assertTrustworthy(metadataUrl, `${name}: \`metadataUrl\``)
  const description = Object.values(scheme.card)[0]?.description
  const card = {
    oauth2SecurityScheme: {
      ...(description !== undefined && { description }),
      flows: Object.fromEntries(entries),
      ...(metadataUrl !== undefined && { oauth2MetadataUrl: metadataUrl }),
    },
  }
  const { headers, needsCertificate } = scheme
  // Methods are called on the scheme itself: it may be an instance of a class with private fields.
  return {
    name,
    card,
    ...(headers && { headers }),
    ...(needsCertificate !== undefined && { needsCertificate }),
    ...(scheme.credential && { credential: (credentials) => scheme.credential?.(credentials) }),
    challenge: (shortfall) => scheme.challenge(shortfall),
    authenticate: (credentials) => scheme.authenticate(credentials),
  }
}

function isTokenScheme({ card }: AuthScheme): boolean {
  if ('httpAuthSecurityScheme' in card) return card.httpAuthSecurityScheme.scheme.toLowerCase() === 'bearer'
  return 'openIdConnectSecurityScheme' in card || 'oauth2SecurityScheme' in card
}

function assertFlow(scheme: string, flow: string, content: unknown): void {
  if (!Object.hasOwn(addresses, flow)) throw new TypeError(`${scheme}: Unknown flow: ${flow}; choose from ${flowNames}`)
  const what = `${scheme}: ${flow}`
  if (!isObject(content)) throw new TypeError(`${what} must be an object with the addresses of the flow`)
  const { scopes, refreshUrl } = content
  const canLackScopes = scopes === undefined && (flow === 'implicit' || flow === 'password')
  if (!canLackScopes && !isObject(scopes))
    throw new TypeError(`${what} needs \`scopes\`: scopes with their descriptions, or {}`)
  for (const member of addresses[flow as keyof OAuthFlows])
    assertTrustworthy(String(content[member] ?? ''), `${what}: \`${member}\``)
  if (refreshUrl !== undefined) assertTrustworthy(String(refreshUrl), `${what}: \`refreshUrl\``)
}
