/** Which sources answer what a card asks for: one of its requirements, and all schemes of that one. */
import type { AgentCard, SecurityScheme } from '../../model/agent-card.js'
import { clip } from '../../model/errors.js'
import type { CredentialSource, CredentialSources, SchemeNeed } from './credential.js'

export interface PlannedCredential {
  readonly need: SchemeNeed
  readonly source: CredentialSource
}

/** What is given with each call, or why nothing that was given fits. */
export type CredentialPlan = { readonly uses: readonly PlannedCredential[] } | { readonly problem: string }

export function planCredentials(card: AgentCard, sources: CredentialSources | undefined): CredentialPlan {
  if (sources === undefined || listOf(sources).length === 0) return { uses: [] }
  const { securityRequirements: requirements = [] } = card
  if (requirements.length === 0) return { uses: unasked(card, sources) }
  for (const { schemes = {} } of requirements) {
    const needs = Object.entries(schemes).map(([name, { list }]) => needOf(card, name, list))
    const uses = needs.flatMap((need) => {
      const source = need && sourceFor(sources, need)
      return need && source ? [{ need, source }] : []
    })
    if (needs.length > 0 && uses.length === needs.length) return { uses }
  }
  // One requirement without schemes: the agent is open, and nothing was asked for that we have.
  if (requirements.some(({ schemes = {} }) => Object.keys(schemes).length === 0)) return { uses: [] }
  return { problem: `The credentials that were given do not fit: ${describeNeeds(card)}` }
}

/** What an agent asks for, in one sentence. */
export function describeNeeds({ name, securityRequirements = [], securitySchemes = {} }: AgentCard): string {
  const ways = securityRequirements.slice(0, 10).map(({ schemes = {} }) => {
    const names = Object.keys(schemes)
    return names.length === 0
      ? 'nothing'
      : names.map((each) => describe(each, own(securitySchemes, each))).join(' and ')
  })
  return clip(ways.length === 0 ? `${name} asks for no credentials` : `${name} asks for ${ways.join(', or ')}`)
}

/** The card asks for nothing, and its user gave something: it goes where the card knows a place for it. */
function unasked(card: AgentCard, sources: CredentialSources): readonly PlannedCredential[] {
  const schemes = Object.entries(card.securitySchemes ?? {})
  return listOf(sources).flatMap((source) => {
    const [name = '', scheme = source.usual] = schemes.find(([called, each]) => source.fits(each, called)) ?? []
    return scheme ? [{ source, need: { name, scheme, scopes: [] } }] : []
  })
}

function needOf(card: AgentCard, name: string, scopes: readonly string[] = []): SchemeNeed | undefined {
  const scheme = own(card.securitySchemes ?? {}, name)
  return scheme && { name, scheme, scopes }
}

function sourceFor(sources: CredentialSources, { name, scheme }: SchemeNeed): CredentialSource | undefined {
  if (isSource(sources) || Array.isArray(sources)) return listOf(sources).find((source) => source.fits(scheme, name))
  const named = own(sources as { readonly [scheme: string]: CredentialSource }, name) // it is no list and no source
  return named?.fits(scheme, name) ? named : undefined
}

export function listOf(sources: CredentialSources): readonly CredentialSource[] {
  if (isSource(sources)) return [sources]
  return Array.isArray(sources) ? (sources as readonly CredentialSource[]) : Object.values(sources)
}

function isSource(sources: CredentialSources): sources is CredentialSource {
  return typeof (sources as Partial<CredentialSource> | undefined)?.get === 'function'
}

/** Throws a `TypeError` that says what to write if these are not credentials. */
export function assertCredentials(sources: CredentialSources | undefined): void {
  if (sources === undefined) return
  const isObject = typeof sources === 'object' && sources !== null
  // The main entry has functions of the same names, which make schemes that a server checks.
  if (isObject && !('authenticate' in sources) && listOf(sources).every(isSource)) return
  throw new TypeError(
    "`credentials` must come from 'dragoman/client': import `apiKey`, `basic` or `bearer` from there, not from 'dragoman', and write `credentials: apiKey('…')`",
  )
}

/** Names in cards are anybody's: `constructor` is not a scheme. */
function own<T>(values: { readonly [name: string]: T }, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function describe(name: string, scheme: SecurityScheme | undefined): string {
  if (!scheme) return `${name} (of no kind that is known)`
  if ('apiKeySecurityScheme' in scheme) {
    const { location, name: called } = scheme.apiKeySecurityScheme
    return `${name} (an API key in the ${location} ${called})`
  }
  if ('httpAuthSecurityScheme' in scheme) return `${name} (HTTP ${scheme.httpAuthSecurityScheme.scheme})`
  if ('oauth2SecurityScheme' in scheme)
    return `${name} (OAuth 2, ${Object.keys(scheme.oauth2SecurityScheme.flows).join(', ')})`
  return 'mtlsSecurityScheme' in scheme ? `${name} (a client certificate)` : `${name} (OpenID Connect)`
}
