/**
 * From a reference to a card: finds it, reads it whatever its age, and says what is wrong with it. Everything in
 * a card is a stranger's words: it is measured before it is parsed, and nothing in it is acted upon here.
 */
import { type ClientDialects, newestVersion } from '../dialects/clients.js'
import type { DialectName } from '../dialects/dialect.js'
import { type CardReport, validateCard } from '../dialects/validate-card/index.js'
import type { AgentCard } from '../model/agent-card.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError, clip } from '../model/errors.js'
import { explained, TransportError } from '../model/transport-error.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { classifyHost } from '../net/addresses.js'
import type { HttpRequest, HttpSender } from '../transports/http-sender.js'
import { parseJson } from '../transports/read-json.js'
import { type CachedCard, type CardCache, cachedCard, validators } from './card-cache.js'
import { type ClientDialer, createClientDialer } from './client-dialer.js'
import { createSender, readLimited, type SenderOptions } from './guarded-fetch.js'
import { readCard } from './read-card.js'
import { type CardSource, reachableFrom } from './trusted-origins.js'

/** Finds agents by name: an address, a card, a list of these for the instances of one agent (best first), or nothing. */
export interface CardResolver {
  (name: string): Promise<string | object | readonly (string | object)[] | undefined>
  /**
   * Who wrote what it finds. `user`: the user did, and vouches for it. An address: others publish in the registry at that
   * address. Default: others, at an address that is not known.
   */
  readonly source?: 'user' | string
}

export interface ResolveOptions
  extends Omit<SenderOptions, 'namedOrigins' | 'headersTimeoutMs' | 'bodyTimeoutMs' | 'maxBytes'> {
  /** In place of one made of the other options. */
  readonly reach?: ClientDialer
  readonly resolvers?: readonly CardResolver[]
  /** Default: nothing is remembered. */
  readonly cache?: CardCache
  /** Asks even when the card in the cache is still good. */
  readonly refresh?: boolean
  /**
   * Adds the user's credentials to requests for a protected card. It is asked after a refusal (401, 403) at the origin that
   * the user named. Cards that are read with credentials are not remembered.
   */
  readonly authorize?: (send: HttpSender) => HttpSender
  /** Dialects that cards are read in. Default: those of this package. */
  readonly dialects?: ClientDialects
  readonly signal?: AbortSignal
  /** For the whole search. Default 15 s. */
  readonly timeoutMs?: number
  /** Default 1 MB. */
  readonly maxBytes?: number
  readonly now?: () => number
}

export interface ResolvedCard {
  readonly card: AgentCard
  /** As it came, for whoever checks signatures. */
  readonly raw: unknown
  /** Where it was found; absent when it was given. */
  readonly url?: string
  /** The origin that the user, or a resolver for the user, named. */
  readonly origin?: string
  /** The dialect that the card is written in. */
  readonly dialect: DialectName
  /** The card does not say its version: the agent may speak the next best. */
  readonly isGuess: boolean
  readonly report: CardReport
  readonly warnings: readonly string[]
}

/**
 * ```ts
 * const { card } = await resolveCard('localhost:8001')
 * ```
 */
export async function resolveCard(ref: string | object, options: ResolveOptions = {}): Promise<ResolvedCard> {
  const name: FoundName =
    typeof ref === 'string' ? await resolveName(ref.trim(), options.resolvers ?? []) : { found: ref, source: user }
  const { found, source } = name
  const target: unknown = Array.isArray(found) ? found[0] : found
  if (typeof target !== 'string') return understand(target, [], options.dialects)
  const places = placesOf(target)
  const namedOrigins = source === 'user' ? [places.origin] : reachableFrom(source, {})
  const reach = options.reach ?? createClientDialer({ ...options, namedOrigins })
  const { raw, url, warnings } = await findCard(places, { ...options, reach }).catch((error: unknown) => {
    throw explainHost(error, name)
  })
  return { ...understand(raw, warnings, options.dialects), url, origin: places.origin }
}

export interface FoundName {
  readonly found: string | object
  readonly source: CardSource
  /** The resolvers that do not know the name, which is taken for a host. */
  readonly unknownTo?: string
}

const user = 'user'

/** What a reference stands for: itself, where it is an address or nobody knows it; a list for several instances. */
export async function resolveName(ref: string, resolvers: readonly CardResolver[]): Promise<FoundName> {
  if (isAddress(ref)) return { found: ref, source: user }
  for (const resolve of resolvers) {
    const found = await lookUp(ref, resolve)
    if (found === undefined || (Array.isArray(found) && found.length === 0)) continue
    const { source } = resolve
    return { found, source: source === user ? user : source === undefined ? {} : { registry: source } }
  }
  if (resolvers.length === 0) return { found: ref, source: user }
  return { found: ref, source: user, unknownTo: resolvers.map(({ source }) => source ?? 'a resolver').join(', ') }
}

async function lookUp(ref: string, resolve: CardResolver): ReturnType<CardResolver> {
  try {
    return await resolve(ref)
  } catch (error) {
    throw explained(error, (message) => `Agent ${clip(ref)} cannot be looked up: ${message}`)
  }
}

/** Explains that a name was taken for a host because no resolver knows it. */
export function explainHost(error: unknown, { found, unknownTo }: FoundName): unknown {
  if (unknownTo === undefined) return error
  const name = clip(String(found))
  return explained(error, (message) => `Agent not found: ${name} is not known to ${unknownTo}. As a host: ${message}`)
}

/** Throws `TypeError` unless `resolvers` is absent or a list of functions. */
export function assertResolvers(resolvers: unknown): void {
  if (resolvers === undefined) return
  if (Array.isArray(resolvers) && resolvers.every((each) => typeof each === 'function')) return
  throw new TypeError(
    "`resolvers` must be a list of resolvers: write `resolvers: [registryResolver('https://registry.example')]`",
  )
}

function understand(
  raw: unknown,
  warnings: readonly string[],
  dialects?: ClientDialects,
): Omit<ResolvedCard, 'url' | 'origin'> {
  const { card, dialect, isGuess } = readCard(raw, dialects)
  return { card, raw, dialect, isGuess, report: validateCard(raw), warnings }
}

interface Found {
  readonly raw: unknown
  readonly url: string
  readonly warnings: readonly string[]
}

async function findCard(
  places: CardPlaces,
  options: ResolveOptions & { readonly reach: ClientDialer },
): Promise<Found> {
  const { now = Date.now, refresh = false, cache } = options
  const key = places.urls[0] as string // there is always one
  const known = await cache?.get(key)
  if (known && !refresh && known.freshUntilMs > now())
    return { raw: known.raw, url: known.url, warnings: elsewhere(places, known.url) }
  const ask = createAsker(options)
  const urls = known ? [known.url, ...places.urls.filter((url) => url !== known.url)] : places.urls
  const misses: string[] = []
  for (const url of urls) {
    const cached = url === known?.url ? known : undefined
    const answer = await ask(url, cached)
    if ('miss' in answer) {
      misses.push(`${url} ${answer.miss}`)
      continue
    }
    const { raw, warnings, finalUrl } = answer
    // A card for one caller is not for the next one.
    const entry = answer.isProtected ? undefined : cachedCard(url, raw, answer.headers, now())
    if (entry) await cache?.set(key, { ...cached, ...entry })
    else await cache?.delete(key)
    const found = misses.length > 0 ? [`Found at ${url}, after: ${misses.join('; ')}`] : []
    return { raw, url: finalUrl, warnings: [...warnings, ...elsewhere(places, url), ...found] }
  }
  await cache?.delete(key)
  throw new TransportError('bad-answer', `There is no card at ${places.origin}: ${misses.join('; ')}`)
}

/** A warning if a card of the origin stands in for one of the address that the user named. */
function elsewhere({ address, origin }: CardPlaces, url: string): readonly string[] {
  if (address === undefined || url.startsWith(`${address}/`)) return []
  return [`There is no card at ${address}: connected to the agent at ${origin} instead`]
}

interface FoundAnswer {
  readonly raw: unknown
  readonly headers: Headers
  readonly finalUrl: string
  readonly warnings: readonly string[]
  /** It was read with credentials. */
  readonly isProtected?: boolean
}

type CardAnswer = FoundAnswer | { readonly miss: string }

function createAsker(options: ResolveOptions & { readonly reach: ClientDialer }) {
  const { timeoutMs = 15_000, maxBytes = 1024 * 1024, signal } = options
  const send = createSender({ ...options, headersTimeoutMs: timeoutMs, maxBytes })
  const deadline = AbortSignal.timeout(timeoutMs)
  const get = cardSender(send, options.authorize)
  return async (url: string, cached: CachedCard | undefined): Promise<CardAnswer> => {
    const asked = (headers: Record<string, string>) =>
      get({
        method: 'GET',
        url,
        headers: { ...headers, accept: 'application/json' },
        signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      })
    const conditions = validators(cached)
    const versioned = await asked({ ...conditions, 'a2a-version': newestVersion })
    // Servers of older versions may refuse the version by name, and have a card for those who name none.
    const { response, isProtected } = isRefusal(versioned.response.status) ? await asked(conditions) : versioned
    if (response.status === 304 && cached) {
      return { raw: cached.raw, headers: response.headers, finalUrl: cached.url, warnings: [], isProtected }
    }
    return { ...(await readAnswer(url, response, maxBytes, isProtected)), isProtected }
  }
}

interface SentForCard {
  readonly response: Response
  /** The request was sent with credentials. */
  readonly isProtected: boolean
}

/** Sends each request without credentials, and after 401 or 403 once more with the user's. */
export function cardSender(
  send: HttpSender,
  authorize: ResolveOptions['authorize'],
): (request: HttpRequest) => Promise<SentForCard> {
  const authorized = authorize?.(send)
  return async (request) => {
    const response = await send(request) // it has read the whole body: no connection stays open
    if (!authorized || !isClosed(response)) return { response, isProtected: false }
    return { response: await authorized(request), isProtected: true }
  }
}

function isClosed({ status }: Response): boolean {
  return status === 401 || status === 403
}

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && ![401, 403, 404, 410, 429].includes(status)
}

async function readAnswer(
  url: string,
  response: Response,
  maxBytes: number,
  sentCredentials: boolean,
): Promise<CardAnswer> {
  const { status, headers } = response
  if (isClosed(response)) {
    const code = status === 401 ? 'UNAUTHENTICATED' : 'PERMISSION_DENIED'
    const why = sentCredentials ? 'the credentials that were sent were refused' : 'valid credentials are needed'
    throw new A2AError(code, `The card at ${url} is protected: ${why} (HTTP ${status})`)
  }
  if (status === 429 || status >= 500) {
    throw new TransportError('unreachable', `${url} answers with HTTP ${status}`, { isRetryable: true })
  }
  if (!response.ok) return { miss: `answers with HTTP ${status}` }
  const bytes = await readLimited(response, maxBytes)
  let raw: unknown
  try {
    raw = parseJson(bytes)
  } catch {
    // Many sites answer every path with their front page.
    return { miss: 'is no JSON' }
  }
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return { miss: 'is no JSON object' }
  const type = headers.get('content-type') ?? 'no type'
  const finalUrl = response.url === '' ? url : response.url
  return {
    raw,
    headers,
    finalUrl,
    warnings: [
      ...(/\bjson\b/i.test(type) ? [] : [`The card is sent as ${type.slice(0, 80)} and not as application/json`]),
      ...(new URL(finalUrl).origin === new URL(url).origin ? [] : [`${url} redirects to ${finalUrl}`]),
    ],
  }
}

export interface CardPlaces {
  /** What the user named. */
  readonly origin: string
  /** The address with its path that the user named, if it has one: cards below it come before those of the origin. */
  readonly address?: string
  /** In the order in which they are tried. */
  readonly urls: readonly string[]
}

const newer = '/.well-known/agent-card.json'
const older = '/.well-known/agent.json'

/** Whether a reference can only be an address, so that no registry need be asked. */
export function isAddress(ref: string): boolean {
  if (/^https?:\/\//i.test(ref) || ref.includes('/')) return true
  const host = ref.replace(/:\d{1,5}$/, '')
  return host !== ref || (host !== '' && classifyHost(host) !== 'name' && !/\s/.test(host))
}

/** A host, a host with a port, an address, or the address of a card itself. */
export function placesOf(ref: string): CardPlaces {
  const url = toUrl(ref)
  const { origin, pathname } = url
  if (/\.json$/i.test(pathname) || pathname.includes('/.well-known/')) return { origin, urls: [url.href] }
  const path = withoutTrailingSlashes(pathname)
  const urlsAt = (base: string) => [base + newer, base + older]
  if (path === '') return { origin, urls: urlsAt(origin) }
  const address = origin + path
  return { origin, address, urls: [...urlsAt(address), ...urlsAt(origin)] }
}

/** Without a scheme, this machine is spoken to in the clear and everybody else is not. */
function toUrl(ref: string): URL {
  const text = ref.trim()
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(text)
  const host = /^(\[[^\]]*\]|[^/:?#]*)/.exec(text)?.[0] ?? ''
  const scheme = classifyHost(host) === 'loopback' ? 'http' : 'https'
  const spelled = hasScheme ? text : `${scheme}://${text}`
  const isUsable = canParseUrl(spelled) && !/\s/.test(text) && text.length <= 2048
  if (!isUsable) throw new TransportError('refused', `${quoted(text)} is neither an address nor the name of an agent`)
  const url = new URL(spelled)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TransportError(
      'refused',
      `${quoted(text)} is no address of an agent: it must begin with http:// or https://`,
    )
  url.hash = ''
  return url
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}
