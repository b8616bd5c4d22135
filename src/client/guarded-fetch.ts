/**
 * `fetch` for addresses that strangers wrote: it follows few redirects and none into places the user did not
 * ask for, reads no more than it was told to, waits no longer, and says in plain words what went wrong.
 * Which addresses it may ask at all is up to its `Reach`.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import { clip } from '../model/errors.js'
import { TransportError, type TransportFailure } from '../model/transport-error.js'
import { userAgent } from '../model/user-agent.js'
import { AddressRefused, NotConnected } from '../net/address-rules.js'
import { readAtMost } from '../net/read-at-most.js'
import { isNode } from '../net/runtime.js'
import type { HttpRequest, HttpSender } from '../transports/http-sender.js'
import { type ClientDialer, type ClientDialerOptions, createClientDialer } from './client-dialer.js'
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

export interface SenderOptions extends ClientDialerOptions, SenderLimits {}

const mostRedirects = 3
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

interface Guarded {
  readonly reach: ClientDialer
  readonly log: WireLog | undefined
  readonly limits: { readonly headersTimeoutMs: number; readonly bodyTimeoutMs: number; readonly maxBytes: number }
}

/** The answer's `url` is the one that answered, after redirects. */
export function createSender(options: SenderOptions | (SenderLimits & { readonly reach: ClientDialer })): HttpSender {
  const { headersTimeoutMs = 300_000, bodyTimeoutMs = 60_000, maxBytes = 10 * 1024 * 1024, onWire } = options
  const guarded: Guarded = {
    reach: 'reach' in options ? options.reach : createClientDialer(options),
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

/** The body, or a refusal as soon as it is known to be too long. */
export async function readLimited(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readAtMost(response, maxBytes)
  if (!bytes) throw new TransportError('refused', `The answer is longer than ${maxBytes} bytes`)
  return bytes
}

interface Attempt {
  readonly url: string
  /** The caller's. */
  readonly signal?: AbortSignal | undefined
  /** The limit of ours that ran out. */
  readonly timeoutMs?: number | undefined
}

export function failureOf(caught: unknown, { url, signal, timeoutMs }: Attempt): TransportError {
  if (caught instanceof TransportError) return caught
  if (caught instanceof AddressRefused && caught.rule !== 'name')
    return new TransportError('refused', caught.message, { cause: caught, wasSent: false })
  const { host } = new URL(url)
  if (signal?.aborted) {
    return isTimeout(signal.reason)
      ? new TransportError('timeout', `${host} did not answer in time`, { cause: caught })
      : new TransportError('aborted', `The call to ${host} was aborted`, { cause: signal.reason })
  }
  if (timeoutMs !== undefined)
    return new TransportError('timeout', `${host} did not answer within ${timeoutMs} ms`, { cause: caught })
  const code = codeOf(caught)
  if (caught instanceof AddressRefused && code === '')
    return new TransportError('unreachable', caught.message, { cause: caught, wasSent: false })
  const [, failure, words] = meanings.find(([pattern]) => pattern.test(code)) ?? unknownMeaning(caught)
  const isRetryable = failure === 'unreachable' && !lasting.test(code)
  return new TransportError(failure, `${host} cannot be reached: ${words}${code && ` (${code})`}`, {
    cause: caught,
    isRetryable,
    wasSent: !isBefore(caught, code),
  })
}

/** A `fetch` that is not ours does not say how far it came; these happen at one time only. */
function isBefore(caught: unknown, code: string): boolean {
  const isOurs = chainOf(caught).some((error) => error instanceof NotConnected || error instanceof AddressRefused)
  return isOurs || /^(BAD_PORT|ECONNREFUSED|ENOTFOUND|EAI_[A-Z]+|UND_ERR_CONNECT_TIMEOUT)$/.test(code)
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError'
}

const meanings: readonly (readonly [code: RegExp, failure: TransportFailure, words: string])[] = [
  [/^ECONNREFUSED$/, 'unreachable', 'nothing listens there'],
  [/^BAD_PORT$/, 'unreachable', 'fetch does not allow this port, serve on another one'],
  [/^ENOTFOUND$/, 'unreachable', 'the name is not known'],
  [/^EAI_/, 'unreachable', 'the name could not be looked up'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'unreachable', 'the connection was closed'],
  [/^E(HOST|NET)UNREACH$/, 'unreachable', 'there is no way to it'],
  [/TIMEOUT|^ETIMEDOUT$/, 'timeout', 'it took too long'],
  [/WRONG_VERSION_NUMBER|^EPROTO$|PACKET_LENGTH/, 'unreachable', 'it does not speak TLS, try http://'],
  [/CERT|SIGNATURE|^ERR_TLS/, 'unreachable', 'its certificate is not trusted'],
  [/^HPE_|^UND_ERR_RESPONSE/, 'bad-answer', 'it does not speak HTTP'],
]
/** Trying again does not help with these. */
const lasting = /BAD_PORT|CERT|SIGNATURE|ERR_TLS|WRONG_VERSION|EPROTO|PACKET_LENGTH|ENOTFOUND/

/** The innermost message, so that the reason is not lost. */
function unknownMeaning(caught: unknown): (typeof meanings)[number] {
  const reason = chainOf(caught).findLast(({ message }) => typeof message === 'string' && message !== '')?.message
  return [/^/, 'unreachable', `the connection failed${reason === undefined ? '' : `: ${clip(String(reason))}`}`]
}

/** Node hides the reason below `fetch failed`, and below a list when a name has several addresses. */
function codeOf(caught: unknown): string {
  for (const { code, name, message } of chainOf(caught)) {
    if (typeof code === 'string') return code
    if (message === 'bad port') return 'BAD_PORT' // `fetch` blocks ports of other protocols, and has no code for it
    if (name === 'HTTPParserError') return 'HPE_INVALID' // some of these have no code
  }
  return ''
}

interface Failure {
  readonly name?: unknown
  readonly message?: unknown
  readonly code?: unknown
  readonly cause?: unknown
  readonly errors?: unknown
}

function chainOf(caught: unknown): readonly Failure[] {
  const chain: Failure[] = []
  for (let error = caught; isObject(error) && chain.length < 5; ) {
    chain.push(error)
    error = Array.isArray(error.errors) ? (error.errors as unknown[])[0] : error.cause
  }
  return chain
}

function isObject(value: unknown): value is Failure {
  return typeof value === 'object' && value !== null
}
