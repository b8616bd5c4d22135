/** Requirements for callers: any one of several requirements, each a set of schemes that are all needed. */
import type { AgentCard, OAuthFlows, SecurityRequirement } from '../model/agent-card.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import type { Caller } from '../model/service.js'
import { assertTrustworthy } from './remote-keys.js'
import type { AuthScheme } from './scheme.js'

interface Need {
  readonly scheme: AuthScheme
  readonly scopes: readonly string[]
}

/** Schemes that are needed together, with the scopes that their credentials must have. */
export interface Requirement {
  readonly needs: readonly Need[]
}

/** One scheme or requirement, or several of which a caller must satisfy one. */
export type Auth = AuthScheme | Requirement | readonly (AuthScheme | Requirement)[]

/**
 * Requires all of these schemes together. The first one determines the caller's id.
 *
 * ```ts
 * serve(agent, { auth: [allOf(oidc(issuer, { audience }), mtls())] })
 * ```
 */
export function allOf(...parts: readonly (AuthScheme | Requirement)[]): Requirement {
  const needs = parts.flatMap((part) => requirementOf(part).needs)
  if (needs.length === 0) throw new TypeError('allOf needs at least one scheme')
  return { needs }
}

/**
 * Requires that the credentials of a scheme have all of these scopes.
 *
 * ```ts
 * serve(agent, { auth: [withScopes(oidc(issuer, { audience }), ['agent:call'])] })
 * ```
 */
export function withScopes(scheme: AuthScheme, scopes: readonly string[]): Requirement {
  return { needs: [{ scheme, scopes }] }
}

function requirementOf(part: AuthScheme | Requirement): Requirement {
  return 'needs' in part ? part : { needs: [{ scheme: part, scopes: [] }] }
}

/** Throws a `TypeError` that says what to write unless this is a scheme or a list of schemes that is not empty. */
export function assertAuth(auth: unknown): asserts auth is Auth {
  if (Array.isArray(auth) && auth.length === 0)
    throw new TypeError("`auth` is an empty list: name a scheme, or set `auth: 'none'`")
  for (const part of listOf(auth)) {
    if (isClientCredential(part))
      throw new TypeError(
        "`auth` contains a client credential from 'dragoman/client'. Import a scheme such as `apiKey` from 'dragoman' and write `auth: apiKey('…')`",
      )
    if (!isObject(part) || !('authenticate' in part || 'needs' in part))
      throw new TypeError("`auth` must be a scheme or a list of schemes: write `auth: apiKey('…')`, or `auth: 'none'`")
  }
}

function listOf<Part>(auth: Part | readonly Part[]): readonly Part[] {
  return Array.isArray(auth) ? auth : [auth as Part] // `Array.isArray` does not narrow readonly arrays
}

/** Whether this was created by `apiKeyCredential` or another function of `dragoman/client`. */
function isClientCredential(part: unknown): boolean {
  return isObject(part) && 'fits' in part && 'get' in part
}

export function requirementsOf(auth: Auth): readonly Requirement[] {
  assertAuth(auth)
  const requirements = listOf<AuthScheme | Requirement>(auth).map(requirementOf)
  const byName = new Map<string, AuthScheme>()
  for (const { needs } of requirements) {
    for (const { scheme } of needs) {
      const other = byName.get(scheme.name)
      if (other && other !== scheme)
        throw new TypeError(`Two schemes are called ${scheme.name}: give one of them another name with \`scheme\``)
      byName.set(scheme.name, scheme)
    }
  }
  return requirements
}

/** Every scheme once, in the order in which they appear. */
export function schemesOf(requirements: readonly Requirement[]): readonly AuthScheme[] {
  return [...new Set(requirements.flatMap(({ needs }) => needs.map(({ scheme }) => scheme)))]
}

/** The security members of the card. */
export function cardSecurity(
  requirements: readonly Requirement[],
): Pick<AgentCard, 'securitySchemes' | 'securityRequirements'> {
  if (requirements.length === 0) return {}
  return {
    securitySchemes: Object.fromEntries(schemesOf(requirements).map(({ name, card }) => [name, card])),
    securityRequirements: requirements.map(({ needs }) => ({
      schemes: Object.fromEntries(
        needs.map(({ scheme, scopes }) => [scheme.name, scopes.length > 0 ? { list: scopes } : {}]),
      ),
    })),
  }
}

/** The scopes that a credential lacks. */
export function missingScopes({ scopes = [] }: Caller, wanted: readonly string[]): readonly string[] {
  return wanted.filter((scope) => !scopes.includes(scope))
}

/** Whether a caller satisfies a requirement of the card. */
export function isMet({ schemes = {} }: SecurityRequirement, caller: Caller): boolean {
  const proofs = [caller, ...(caller.also ?? [])]
  return Object.entries(schemes).every(([name, { list = [] }]) =>
    proofs.some((proof) => proof.scheme === name && missingScopes(proof, list).length === 0),
  )
}

/** Addresses that each flow requires. */
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
  const { issuer, headers, needsCertificate } = scheme
  // Methods are called on the scheme itself: it may be an instance of a class with private fields.
  return {
    name,
    card,
    ...(issuer !== undefined && { issuer }),
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
