/** Adds credentials to calls to trusted origins. */
import type { AgentCard, SecurityScheme } from '../../model/agent-card.js'
import { A2AError, clip } from '../../model/errors.js'
import { TransportError } from '../../model/transport-error.js'
import type { HttpRequest, HttpSender } from '../../transports/http-client.js'
import { createSender, type GuardedRequest } from '../guarded-fetch.js'
import { originOf } from '../trusted-origins.js'
import {
  type Credential,
  type CredentialContext,
  type CredentialSource,
  type CredentialSources,
  isSource,
  type SchemeNeed,
  sourcesIn,
} from './credential.js'

interface AuthorizerOptions {
  /** Origins that get credentials, beginning with the one that the user named. */
  readonly origins: readonly string[]
  /** Returns the sender for authorization servers. Default: a guarded sender. */
  readonly sender?: (namedOrigins: readonly string[]) => HttpSender
}

export interface Additions {
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** All secret values, for the wire log to redact. */
  readonly secrets: readonly string[]
}

/** HTTP uses it through `withCredentials`, gRPC for its metadata. */
export interface Authorizer {
  /** Returns the additions to a call. Empty for origins that are not trusted. */
  additionsFor(url: string, signal?: AbortSignal): Promise<Additions>
  /** Called after the agent answered 401. Returns whether there may be other credentials now. */
  refused(given: Additions, signal?: AbortSignal): Promise<boolean>
  /** Whether calls to this address get credentials. */
  sendsTo(url: string): boolean
  /** Whether this error comes from a credential source, and not from the agent. */
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
  // The credentials of each addition, so that their sources learn which ones were refused.
  const usedFor = new WeakMap<Additions, readonly (readonly [PlannedCredential, Credential])[]>()
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
      usedFor.set(additions, given)
      return additions
    },
    async refused(additions, signal) {
      const context = contextOf(signal)
      const answers = await Promise.all(
        (usedFor.get(additions) ?? []).map(
          ([{ need, source }, given]) => source.refused?.(need, given, context) ?? false,
        ),
      ).catch(recordError)
      return answers.some(Boolean)
    },
  }
}

/** Adds credentials to requests. After 401 it tries once more if there are other credentials. */
export function withCredentials(send: HttpSender, authorizer: Authorizer): HttpSender {
  return async (request) => {
    const { url, signal } = request
    const first = await authorizer.additionsFor(url, signal)
    const response = await send(withAdditions(request, first))
    if (response.status !== 401 || first === nothing) return response
    if (!(await authorizer.refused(first, signal))) return response
    return send(withAdditions(request, await authorizer.additionsFor(url, signal)))
  }
}

const nothing: Additions = { headers: {}, query: {}, secrets: [] }

function withAdditions(request: HttpRequest, { headers, query, secrets }: Additions): GuardedRequest {
  const url = new URL(request.url)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const isChanged = Object.keys(query).length > 0
  return { ...request, url: isChanged ? url.href : request.url, headers: { ...request.headers, ...headers }, secrets }
}

/** Names come from the card, so they are checked: a card must not set other headers. */
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

const forbiddenHeaders =
  /^(host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|accept|a2a-.*)$/

function headerName(name: string): string {
  const lower = token(name).toLowerCase()
  if (forbiddenHeaders.test(lower))
    throw new TransportError('refused', `The card wants a credential in the header ${lower}, which is not allowed`)
  return lower
}

function token(name: string): string {
  if (/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name)) return name
  const shown = JSON.stringify(name.slice(0, 100))
  throw new TransportError('refused', `The card wants a credential under the invalid name ${shown}`)
}

function headerValue(value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]+$/.test(value)) return value
  throw new TypeError('A credential contains characters that are not allowed in a header')
}

function cookieValue(value: string): string {
  return /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/.test(value) ? value : encodeURIComponent(value)
}

interface PlannedCredential {
  readonly need: SchemeNeed
  readonly source: CredentialSource
}

type CredentialPlan = { readonly uses: readonly PlannedCredential[] } | { readonly problem: string }

/** Chooses sources for all schemes of one requirement of the card. `problem`: no requirement can be met. */
export function planCredentials(card: AgentCard, sources: CredentialSources | undefined): CredentialPlan {
  if (sources === undefined || sourcesIn(sources).length === 0) return { uses: [] }
  const { securityRequirements: requirements = [] } = card
  if (requirements.length === 0) return { uses: unrequired(card, sources) }
  for (const { schemes = {} } of requirements) {
    const needs = Object.entries(schemes).map(([name, { list }]) => needOf(card, name, list))
    const uses = needs.flatMap((need) => {
      const source = need && sourceFor(sources, need)
      return need && source ? [{ need, source }] : []
    })
    if (needs.length > 0 && uses.length === needs.length) return { uses }
  }
  // A requirement without schemes means that no credential is needed.
  if (requirements.some(({ schemes = {} }) => Object.keys(schemes).length === 0)) return { uses: [] }
  return { problem: `The credentials that were given do not fit: ${describeRequirements(card)}` }
}

function describeRequirements({ name, securityRequirements = [], securitySchemes = {} }: AgentCard): string {
  const alternatives = securityRequirements.slice(0, 10).map(({ schemes = {} }) => {
    const names = Object.keys(schemes)
    return names.length === 0
      ? 'nothing'
      : names.map((each) => describeScheme(each, own(securitySchemes, each))).join(' and ')
  })
  return clip(`${name} asks for ${alternatives.join(', or ')}`)
}

/** The card requires nothing: credentials are sent as one of its schemes, or else the default way. */
function unrequired(card: AgentCard, sources: CredentialSources): readonly PlannedCredential[] {
  const schemes = Object.entries(card.securitySchemes ?? {})
  return sourcesIn(sources).flatMap((source) => {
    const fitting = schemes.find(([name, scheme]) => source.fits(scheme, name))
    const [name = '', scheme = source.defaultScheme] = fitting ?? []
    return scheme ? [{ source, need: { name, scheme, scopes: [] } }] : []
  })
}

function needOf(card: AgentCard, name: string, scopes: readonly string[] = []): SchemeNeed | undefined {
  const scheme = own(card.securitySchemes ?? {}, name)
  return scheme && { name, scheme, scopes }
}

function sourceFor(sources: CredentialSources, { name, scheme }: SchemeNeed): CredentialSource | undefined {
  if (isSource(sources) || Array.isArray(sources)) return sourcesIn(sources).find((source) => source.fits(scheme, name))
  const named = own(sources as { readonly [scheme: string]: CredentialSource }, name) // neither a list nor a source
  return named?.fits(scheme, name) ? named : undefined
}

/** Ignores inherited members: a card may name a scheme `constructor`. */
function own<T>(values: { readonly [name: string]: T }, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function describeScheme(name: string, scheme: SecurityScheme | undefined): string {
  if (!scheme) return `${name} (of an unknown kind)`
  if ('apiKeySecurityScheme' in scheme) {
    const { location, name: keyName } = scheme.apiKeySecurityScheme
    return `${name} (an API key in the ${location} ${keyName})`
  }
  if ('httpAuthSecurityScheme' in scheme) return `${name} (HTTP ${scheme.httpAuthSecurityScheme.scheme})`
  if ('oauth2SecurityScheme' in scheme)
    return `${name} (OAuth 2, ${Object.keys(scheme.oauth2SecurityScheme.flows).join(', ')})`
  return 'mtlsSecurityScheme' in scheme ? `${name} (a client certificate)` : `${name} (OpenID Connect)`
}
