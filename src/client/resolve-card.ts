/**
 * Reads the card at an address, in any protocol version. A card is data from another party: its size is limited before it
 * is parsed, and nothing in it is acted upon here.
 */
import { type ClientDialects, newestVersion } from '../dialects/client-dialects.js'
import type { DialectName } from '../dialects/dialect.js'
import type { AgentCard } from '../model/agent-card.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import { TransportError } from '../model/transport-error.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { classifyHost } from '../net/addresses.js'
import type { HttpRequest, HttpResponse, HttpSender } from '../transports/http-client.js'
import { parseJson } from '../transports/read-json.js'
import { type CachedCard, type CardCache, cachedCard, conditionalHeaders } from './card-cache.js'
import { type ClientDialer, createClientDialer } from './client-dialer.js'
import { createSender, type SenderOptions } from './guarded-fetch.js'
import { readCard } from './read-card.js'

export interface ResolveOptions
  extends Pick<SenderOptions, 'fetch' | 'allowPrivate' | 'certificate' | 'lookup' | 'wire'> {
  /** Default: a dialer with the other options. */
  readonly dialer?: ClientDialer
  /** Default: no cache. */
  readonly cache?: CardCache
  /** Asks the server even if the cached card is fresh. */
  readonly refresh?: boolean
  /**
   * Adds credentials to a request for a protected card. Called after 401 or 403. Cards that were read with credentials are
   * not cached.
   */
  readonly authorize?: (send: HttpSender) => HttpSender
  /** Dialects that cards are read in. Default: those of this package. */
  readonly dialects?: ClientDialects
  readonly signal?: AbortSignal
  /** Time for the whole search. Default 15 s. */
  readonly timeoutMs?: number
  readonly now?: () => number
}

export interface ResolvedCard {
  readonly card: AgentCard
  /** The JSON as the server sent it, for checks of signatures. */
  readonly raw: unknown
  /** Address of the card. Absent if the card itself was passed. */
  readonly url?: string
  /** Origin of the address that was passed. */
  readonly origin?: string
  /** The dialect that the card is written in. */
  readonly dialect: DialectName
  /** The card does not name its version, so the agent may use another one. */
  readonly isGuess: boolean
  readonly warnings: readonly string[]
}

const maxCardBytes = 1024 * 1024

/** Reads the card at an address such as `localhost:8001`, or takes the card that is passed. */
export async function resolveCard(ref: string | object, options: ResolveOptions = {}): Promise<ResolvedCard> {
  if (typeof ref !== 'string') return await decodeCard(ref, [], options.dialects)
  const locations = cardLocations(ref)
  const { origin } = locations
  const dialer = options.dialer ?? createClientDialer({ ...options, namedOrigins: [origin] })
  const { raw, url, warnings } = await findCard(locations, { ...options, dialer })
  return { ...(await decodeCard(raw, warnings, options.dialects)), url, origin }
}

async function decodeCard(
  raw: unknown,
  warnings: readonly string[],
  dialects?: ClientDialects,
): Promise<Omit<ResolvedCard, 'url' | 'origin'>> {
  return { ...(await readCard(raw, dialects)), raw, warnings }
}

interface CardLocations {
  readonly origin: string
  /** Origin and path, if the address has a path: cards below it are tried before those of the origin. */
  readonly address?: string
  /** URLs to try, in order. */
  readonly urls: readonly string[]
}

const wellKnownPaths = ['/.well-known/agent-card.json', '/.well-known/agent.json']

/** Lists where the card of an agent may be. `ref` is a host, a host with a port, a URL, or the URL of the card itself. */
export function cardLocations(ref: string): CardLocations {
  const url = toUrl(ref)
  const { origin, pathname } = url
  if (/\.json$/i.test(pathname) || pathname.includes('/.well-known/')) return { origin, urls: [url.href] }
  const path = withoutTrailingSlashes(pathname)
  const urlsAt = (base: string) => wellKnownPaths.map((wellKnown) => base + wellKnown)
  if (path === '') return { origin, urls: urlsAt(origin) }
  const address = origin + path
  return { origin, address, urls: [...urlsAt(address), ...urlsAt(origin)] }
}

/** Without a scheme, loopback hosts get http and all others https. */
function toUrl(ref: string): URL {
  const text = ref.trim()
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(text)
  const host = /^(\[[^\]]*\]|[^/:?#]*)/.exec(text)?.[0] ?? ''
  const scheme = classifyHost(host) === 'loopback' ? 'http' : 'https'
  const href = hasScheme ? text : `${scheme}://${text}`
  const isUsable = canParseUrl(href) && !/\s/.test(text) && text.length <= 2048
  if (!isUsable) throw new TransportError('refused', `${quoted(text)} is neither an address nor the name of an agent`)
  const url = new URL(href)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TransportError(
      'refused',
      `Invalid address of an agent: ${quoted(text)} must begin with http:// or https://`,
    )
  url.hash = ''
  return url
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}

interface FoundCard {
  readonly raw: unknown
  readonly url: string
  readonly warnings: readonly string[]
}

async function findCard(
  locations: CardLocations,
  options: ResolveOptions & { readonly dialer: ClientDialer },
): Promise<FoundCard> {
  const { now = Date.now, refresh = false, cache } = options
  const key = locations.urls[0] as string // there is at least one
  const known = await cache?.get(key)
  if (known && !refresh && known.freshUntilMs > now())
    return { raw: known.raw, url: known.url, warnings: fallbackWarning(locations, known.url) }
  const fetchCard = createCardFetch(options)
  const urls = known ? [known.url, ...locations.urls.filter((url) => url !== known.url)] : locations.urls
  const misses: string[] = []
  for (const url of urls) {
    const cached = url === known?.url ? known : undefined
    const answer = await fetchCard(url, cached)
    if ('miss' in answer) {
      misses.push(`${url} ${answer.miss}`)
      continue
    }
    const { raw, warnings, finalUrl } = answer
    // A protected card may differ by caller.
    const entry = answer.isProtected ? undefined : cachedCard(url, raw, answer.headers, now())
    if (entry) await cache?.set(key, { ...cached, ...entry })
    else await cache?.delete(key)
    const found = misses.length > 0 ? [`Found at ${url}, after: ${misses.join('; ')}`] : []
    return { raw, url: finalUrl, warnings: [...warnings, ...fallbackWarning(locations, url), ...found] }
  }
  await cache?.delete(key)
  throw new TransportError('bad-answer', `There is no card at ${locations.origin}: ${misses.join('; ')}`)
}

/** Warns if the address has no card and the card of its origin is used. */
function fallbackWarning({ address, origin }: CardLocations, url: string): readonly string[] {
  if (address === undefined || url.startsWith(`${address}/`)) return []
  return [`There is no card at ${address}: connected to the agent at ${origin} instead`]
}

interface CardResponse {
  readonly raw: unknown
  readonly headers: HttpResponse['headers']
  readonly finalUrl: string
  readonly warnings: readonly string[]
  /** The request was sent with credentials. */
  readonly isProtected: boolean
}

type CardAnswer = CardResponse | { readonly miss: string }

function createCardFetch(options: ResolveOptions & { readonly dialer: ClientDialer }) {
  const { dialer, timeoutMs = 15_000, signal, wire } = options
  const send = createSender({ dialer, headersTimeoutMs: timeoutMs, maxBytes: maxCardBytes, ...(wire && { wire }) })
  const deadline = AbortSignal.timeout(timeoutMs)
  const get = cardSender(send, options.authorize)
  return async (url: string, cached: CachedCard | undefined): Promise<CardAnswer> => {
    const request = (headers: Record<string, string>) =>
      get({
        method: 'GET',
        url,
        headers: { ...headers, accept: 'application/json' },
        signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      })
    const conditions = conditionalHeaders(cached)
    const versioned = await request({ ...conditions, 'a2a-version': newestVersion })
    // Servers of older versions may reject the version, and have a card for requests without one.
    const { response, isProtected } = rejectsVersion(versioned.response.status) ? await request(conditions) : versioned
    if (response.status === 304 && cached)
      return { raw: cached.raw, headers: response.headers, finalUrl: cached.url, warnings: [], isProtected }
    return await readResponse(url, response, isProtected)
  }
}

/** Sends each request without credentials and, after 401 or 403, once more with them. */
export function cardSender(
  send: HttpSender,
  authorize: ResolveOptions['authorize'],
): (request: HttpRequest) => Promise<{ readonly response: HttpResponse; readonly isProtected: boolean }> {
  const authorized = authorize?.(send)
  return async (request) => {
    const response = await send(request) // has read the whole body, so no connection stays open
    if (!authorized || !isForbidden(response)) return { response, isProtected: false }
    return { response: await authorized(request), isProtected: true }
  }
}

function isForbidden({ status }: HttpResponse): boolean {
  return status === 401 || status === 403
}

function rejectsVersion(status: number): boolean {
  return status >= 400 && status < 500 && ![401, 403, 404, 410, 429].includes(status)
}

async function readResponse(url: string, response: HttpResponse, isProtected: boolean): Promise<CardAnswer> {
  const { status, headers } = response
  if (isForbidden(response)) {
    const code = status === 401 ? 'UNAUTHENTICATED' : 'PERMISSION_DENIED'
    const reason = isProtected ? 'the credentials that were sent were refused' : 'valid credentials are needed'
    throw new A2AError(code, `The card at ${url} is protected: ${reason} (HTTP ${status})`)
  }
  if (status === 429 || status >= 500)
    throw new TransportError('unreachable', `${url} answers with HTTP ${status}`, { isRetryable: true })
  if (!response.ok) return { miss: `answers with HTTP ${status}` }
  let raw: unknown
  try {
    raw = parseJson(await response.bytes())
  } catch {
    return { miss: 'is not JSON' } // many sites answer every path with their front page
  }
  if (!isObject(raw)) return { miss: 'is not a JSON object' }
  const type = headers.get('content-type') ?? 'no type'
  const finalUrl = response.url === '' ? url : response.url
  return {
    raw,
    headers,
    finalUrl,
    isProtected,
    warnings: [
      ...(/\bjson\b/i.test(type) ? [] : [`The card is sent as ${type.slice(0, 80)} and not as application/json`]),
      ...(new URL(finalUrl).origin === new URL(url).origin ? [] : [`${url} redirects to ${finalUrl}`]),
    ],
  }
}
