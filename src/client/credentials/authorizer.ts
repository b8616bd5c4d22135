/** Adds credentials to calls, and only to calls to the origins that may have them. */
import type { AgentCard, SecurityScheme } from '../../model/agent-card.js'
import { A2AError, clip } from '../../model/errors.js'
import { TransportError } from '../../model/transport-error.js'
import type { HttpRequest, HttpSender } from '../../transports/http-sender.js'
import { createSender, type GuardedRequest } from '../guarded-fetch.js'
import { originOf } from '../trusted-origins.js'
import type { Credential, CredentialContext, CredentialSource, CredentialSources, SchemeNeed } from './credential.js'

export interface AuthorizerOptions {
  /** Who may have credentials: the origin the user named first, then those of interfaces and of `allowedOrigins`. */
  readonly origins: readonly string[]
  /** How authorization servers are reached. Default: a guarded sender for the origins the user gave. */
  readonly sender?: (named: readonly string[]) => HttpSender
}

export interface Additions {
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Every value in it that is a secret. */
  readonly secrets: readonly string[]
}

/** Any binding asks it: HTTP through `withCredentials`, gRPC for its metadata. */
export interface Authorizer {
  /** What to add to a call to this address; nothing for addresses that may not have it. */
  additionsFor(url: string, signal?: AbortSignal): Promise<Additions>
  /** The agent refused these (401). Whether other ones can be had now. */
  refused(url: string, given: Additions, signal?: AbortSignal): Promise<boolean>
  /** Whether calls to this address get credentials. */
  sendsTo(url: string): boolean
  /** Whether `additionsFor` or `refused` threw this error: no agent did. */
  isOwn(error: unknown): boolean
}

export function createAuthorizer(
  card: AgentCard,
  sources: CredentialSources | undefined,
  options: AuthorizerOptions,
): Authorizer {
  const plan = planCredentials(card, sources)
  const allowed = new Set(options.origins.map(originOf))
  const origin = options.origins[0] ?? ''
  const sender = options.sender ?? ((namedOrigins) => createSender({ namedOrigins }))
  const contextOf = (signal: AbortSignal | undefined): CredentialContext => ({
    origin,
    sender,
    ...(signal && { signal }),
  })
  // What each addition was made of, for the sources to know what was refused.
  const made = new WeakMap<Additions, readonly (readonly [PlannedCredential, Credential])[]>()
  const ownErrors = new WeakSet<object>()
  const recordError = (error: unknown): Promise<never> => {
    if (error instanceof Error) ownErrors.add(error)
    return Promise.reject(error)
  }
  return {
    sendsTo: (url) => allowed.has(originOf(url)) && 'uses' in plan && plan.uses.length > 0,
    isOwn: (error) => error instanceof Error && ownErrors.has(error),
    async additionsFor(url, signal) {
      if (!allowed.has(originOf(url))) return nothing
      if ('problem' in plan) throw new A2AError('UNAUTHENTICATED', plan.problem)
      if (plan.uses.length === 0) return nothing
      const context = contextOf(signal)
      const given = await Promise.all(
        plan.uses.map(async (use) => [use, await use.source.get(use.need, context)] as const),
      ).catch(recordError)
      const additions = merged(given.map(([, credential]) => credential))
      made.set(additions, given)
      return additions
    },
    async refused(_url, additions, signal) {
      const context = contextOf(signal)
      const answers = await Promise.all(
        (made.get(additions) ?? []).map(([{ need, source }, given]) => source.refused?.(need, given, context) ?? false),
      ).catch(recordError)
      return answers.some(Boolean)
    },
  }
}

/** A sender that adds credentials, and tries once more with new ones after a 401. */
export function withCredentials(send: HttpSender, authorizer: Authorizer): HttpSender {
  return async (request) => {
    const { url, signal } = request
    const first = await authorizer.additionsFor(url, signal)
    const response = await send(applied(request, first))
    if (response.status !== 401 || first === nothing) return response
    if (!(await authorizer.refused(url, first, signal))) return response
    await response.body?.cancel()
    return send(applied(request, await authorizer.additionsFor(url, signal)))
  }
}

const nothing: Additions = { headers: {}, query: {}, secrets: [] }

function applied(request: HttpRequest, { headers, query, secrets }: Additions): GuardedRequest {
  const url = new URL(request.url)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const isChanged = Object.keys(query).length > 0
  return { ...request, url: isChanged ? url.href : request.url, headers: { ...request.headers, ...headers }, secrets }
}

/** Names come from the card, so they are looked at: none may become another header than a credential's. */
function merged(credentials: readonly Credential[]): Additions {
  const headers: Record<string, string> = {}
  const query: Record<string, string> = {}
  const cookies: string[] = []
  for (const credential of credentials) {
    for (const [name, value] of Object.entries(credential.headers ?? {})) headers[headerName(name)] = headerValue(value)
    for (const [name, value] of Object.entries(credential.query ?? {})) query[name] = value
    for (const [name, value] of Object.entries(credential.cookies ?? {}))
      cookies.push(`${token(name)}=${cookieValue(value)}`)
  }
  if (cookies.length > 0) headers.cookie = cookies.join('; ')
  const secrets = [...Object.values(headers), ...Object.values(query)].flatMap((value) => [
    value,
    ...value.split(/[ ;=]+/).filter((part) => part.length > 7),
  ])
  return { headers, query, secrets }
}

const forbidden =
  /^(host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|accept|a2a-.*)$/

function headerName(name: string): string {
  const lower = token(name).toLowerCase()
  if (forbidden.test(lower)) throw new TransportError('refused', `The card wants a credential in the header ${lower}`)
  return lower
}

function token(name: string): string {
  if (/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name)) return name
  throw new TransportError(
    'refused',
    `The card wants a credential under the name ${JSON.stringify(name.slice(0, 100))}`,
  )
}

function headerValue(value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]+$/.test(value)) return value
  throw new TypeError('A credential has characters in it that no header can carry')
}

function cookieValue(value: string): string {
  return /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/.test(value) ? value : encodeURIComponent(value)
}

export interface PlannedCredential {
  readonly need: SchemeNeed
  readonly source: CredentialSource
}

/** What is given with each call, or why nothing that was given fits. */
export type CredentialPlan = { readonly uses: readonly PlannedCredential[] } | { readonly problem: string }

export function planCredentials(card: AgentCard, sources: CredentialSources | undefined): CredentialPlan {
  if (sources === undefined || sourcesIn(sources).length === 0) return { uses: [] }
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
  return sourcesIn(sources).flatMap((source) => {
    const [name = '', scheme = source.defaultScheme] = schemes.find(([called, each]) => source.fits(each, called)) ?? []
    return scheme ? [{ source, need: { name, scheme, scopes: [] } }] : []
  })
}

function needOf(card: AgentCard, name: string, scopes: readonly string[] = []): SchemeNeed | undefined {
  const scheme = own(card.securitySchemes ?? {}, name)
  return scheme && { name, scheme, scopes }
}

function sourceFor(sources: CredentialSources, { name, scheme }: SchemeNeed): CredentialSource | undefined {
  if (isSource(sources) || Array.isArray(sources)) return sourcesIn(sources).find((source) => source.fits(scheme, name))
  const named = own(sources as { readonly [scheme: string]: CredentialSource }, name) // it is no list and no source
  return named?.fits(scheme, name) ? named : undefined
}

export function sourcesIn(sources: CredentialSources): readonly CredentialSource[] {
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
  if (isObject && !('authenticate' in sources) && sourcesIn(sources).every(isSource)) return
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
