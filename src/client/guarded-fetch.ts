/**
 * `fetch` for addresses that strangers wrote: it follows few redirects and none into places the user did not
 * ask for, reads no more than it was told to, waits no longer, and says in plain words what went wrong.
 * Which addresses it may ask at all is up to its `Reach`.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import { TransportError } from '../model/transport-error.js'
import { userAgent } from '../model/user-agent.js'
import { isNode } from '../net/runtime.js'
import type { HttpRequest, HttpSender } from '../transports/http-sender.js'
import { failureOf } from './fetch-failure.js'
import { createReach, type Reach, type ReachOptions } from './reach.js'
import { readLimited } from './read-limited.js'
import { createWireLog, type WireEvent, type WireLog } from './wire-log.js'

/** A request with words for the log of the wire. */
export interface GuardedRequest extends HttpRequest {
  /** What credentials put into it: never logged, wherever it stands. */
  readonly secrets?: readonly string[]
  /** The bodies, the answer's too, are not for logs. */
  readonly isConfidential?: boolean
}

/** What a sender keeps to, wherever it sends. */
export interface SenderLimits {
  /** Until the head of the answer is there. Default 5 minutes: answers that wait for the end of a task take long. */
  readonly headersTimeoutMs?: number
  /** For the rest of an answer that is no stream. Default 1 minute. */
  readonly bodyTimeoutMs?: number
  /** For answers that are no streams. Default 10 MB. */
  readonly maxBytes?: number
  /** Sees everything that goes over the wire, without the secrets in it. */
  readonly onWire?: (event: WireEvent) => void
}

export interface SenderOptions extends ReachOptions, SenderLimits {}

const mostRedirects = 3
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

interface Guarded {
  readonly reach: Reach
  readonly log: WireLog | undefined
  readonly limits: { readonly headersTimeoutMs: number; readonly bodyTimeoutMs: number; readonly maxBytes: number }
}

/** The answer's `url` is the one that answered, after redirects. */
export function createSender(options: SenderOptions | (SenderLimits & { readonly reach: Reach })): HttpSender {
  const { headersTimeoutMs = 300_000, bodyTimeoutMs = 60_000, maxBytes = 10 * 1024 * 1024, onWire } = options
  const guarded: Guarded = {
    reach: 'reach' in options ? options.reach : createReach(options),
    log: onWire && createWireLog(onWire),
    limits: { headersTimeoutMs, bodyTimeoutMs, maxBytes },
  }
  return (request) => send(guarded, request)
}

async function send(guarded: Guarded, request: GuardedRequest): Promise<Response> {
  // Browsers have a name of their own.
  let current = isNode() ? { ...request, headers: { 'user-agent': userAgent, ...request.headers } } : request
  for (let count = 0; ; count++) {
    const response = await exchange(guarded, current)
    if (!isRedirect(response)) return response
    current = redirected(current, response.headers.get('location'), count)
  }
}

/** Browsers show that there is a redirect, and nothing else of it. */
function isRedirect({ status, type }: Response): boolean {
  return redirects.has(status) || type === 'opaqueredirect'
}

/** The next request, or a refusal. Only what reads is repeated somewhere else. */
function redirected(request: GuardedRequest, location: string | null, count: number): GuardedRequest {
  const from = new URL(request.url)
  if (location === null || !canParseUrl(location, request.url))
    throw refused(`${from.origin} redirects to an address that is not known here`)
  const to = new URL(location, request.url)
  if (request.method !== 'GET') throw refused(`${from.origin} redirects to ${to.origin}: use that address`)
  if (count >= mostRedirects) throw refused(`${from.origin} redirects more than ${mostRedirects} times`)
  if (from.protocol === 'https:' && to.protocol !== 'https:')
    throw refused(`${from.origin} redirects from https to ${to.protocol.slice(0, -1)}`)
  to.hash = ''
  const headers = to.origin === from.origin ? request.headers : harmless(request.headers)
  return { ...request, url: to.href, headers }
}

/** What may be told to another origin. A list of what may not would miss the names that credentials invent. */
const harmlessHeaders =
  /^(accept|accept-language|user-agent|a2a-version|if-none-match|if-modified-since|traceparent|tracestate)$/i

function harmless(headers: HttpRequest['headers']): HttpRequest['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmlessHeaders.test(name)))
}

/** One request, one answer; within the limits, and without redirects. */
async function exchange({ reach, log, limits }: Guarded, request: GuardedRequest): Promise<Response> {
  const { method, url, headers, body, signal, isStream = false } = request
  const clock = startClock(limits.headersTimeoutMs)
  const exchanged = log?.begin(request)
  try {
    const response = await reach.fetch(url, {
      method,
      headers,
      // Cookies of a browser are not ours to send: credentials are given, never found.
      credentials: 'omit',
      signal: signal ? AbortSignal.any([signal, clock.signal]) : clock.signal,
      ...(body !== undefined && { body }),
    })
    if (isRedirect(response)) {
      await response.body?.cancel()
      exchanged?.answered(response, undefined)
      return response
    }
    if (isStream && isEventStream(response)) return addressed(exchanged?.streaming(response) ?? response, url)
    clock.restart(limits.bodyTimeoutMs)
    const bytes = await readLimited(response, limits.maxBytes)
    exchanged?.answered(response, bytes)
    const { status, statusText } = response
    // Some statuses forbid a body, even an empty one.
    const copy = new Response(bytes.byteLength > 0 ? bytes : null, { status, statusText, headers: response.headers })
    return addressed(copy, url)
  } catch (caught) {
    const failure = failureOf(caught, { url, signal, timeoutMs: clock.expiredAfterMs })
    exchanged?.failed(failure)
    throw failure
  } finally {
    clock.stop()
  }
}

function isEventStream({ headers, ok }: Response): boolean {
  return ok && /^\s*text\/event-stream\b/i.test(headers.get('content-type') ?? '')
}

function addressed(response: Response, url: string): Response {
  if (response.url !== url) Object.defineProperty(response, 'url', { value: url })
  return response
}

/** Not `AbortSignal.timeout`: that one cannot be stopped, and would end streams that have begun well. */
function startClock(timeoutMs: number) {
  const controller = new AbortController()
  let expiredAfterMs: number | undefined
  const start = (ms: number) =>
    setTimeout(() => {
      expiredAfterMs = ms
      controller.abort()
    }, ms)
  let timer = start(timeoutMs)
  return {
    signal: controller.signal,
    get expiredAfterMs() {
      return expiredAfterMs
    },
    restart(ms: number) {
      clearTimeout(timer)
      timer = start(ms)
    },
    stop: () => clearTimeout(timer),
  }
}

function refused(message: string): TransportError {
  return new TransportError('refused', message)
}
