/**
 * HTTP requests to addresses that may come from other parties, such as cards. `createSender` limits redirects, size and
 * time, and turns failures into `TransportError` with a readable message. `client-dialer.ts` decides which addresses may be
 * called.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import { clip } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import { TransportError, type TransportFailure } from '../model/transport-error.js'
import { userAgent } from '../model/user-agent.js'
import { decodeUtf8 } from '../model/utf8.js'
import { AddressRefused, NotConnected } from '../net/address-rules.js'
import { type ByteReader, collectAtMost, readAtMost } from '../net/read-at-most.js'
import { isNode } from '../net/runtime.js'
import type { HttpRequest, HttpResponse, HttpSender } from '../transports/http-client.js'
import {
  type ClientDialer,
  type ClientDialerOptions,
  createClientDialer,
  type DialedResponse,
} from './client-dialer.js'
import type { WireLog } from './wire-log.js'

/** A request with instructions for the wire log. */
export interface GuardedRequest extends HttpRequest {
  /** Values of credentials, which the log redacts wherever they occur. */
  readonly secrets?: readonly string[]
  /** The log redacts the bodies of the request and of its response. */
  readonly isConfidential?: boolean
}

interface SenderLimits {
  /** Time until the headers of the response. Default 5 minutes: a response may wait for the end of a task. */
  readonly headersTimeoutMs?: number
  /** Time for the body of a response that is not a stream. Default 1 minute. */
  readonly bodyTimeoutMs?: number
  /** Maximum size of a response that is not a stream. Default 10 MB. */
  readonly maxBytes?: number
  readonly wire?: WireLog
}

export interface SenderOptions extends ClientDialerOptions, SenderLimits {}

interface SenderDeps {
  readonly dialer: ClientDialer
  readonly wire: WireLog | undefined
  readonly limits: { readonly headersTimeoutMs: number; readonly bodyTimeoutMs: number; readonly maxBytes: number }
}

/** Creates a sender. `url` of a response is the address after redirects. */
export function createSender(options: SenderOptions | (SenderLimits & { readonly dialer: ClientDialer })): HttpSender {
  const { headersTimeoutMs = 300_000, bodyTimeoutMs = 60_000, maxBytes = 10 * 1024 * 1024, wire } = options
  const deps: SenderDeps = {
    dialer: 'dialer' in options ? options.dialer : createClientDialer(options),
    wire,
    limits: { headersTimeoutMs, bodyTimeoutMs, maxBytes },
  }
  return (request) => send(deps, request)
}

async function send(deps: SenderDeps, request: GuardedRequest): Promise<HttpResponse> {
  // Browsers set their own user agent.
  let current = isNode() ? { ...request, headers: { 'user-agent': userAgent, ...request.headers } } : request
  for (let count = 0; ; count++) {
    const response = await exchange(deps, current)
    if (!('redirect' in response)) return response
    current = redirected(current, response.redirect, count)
  }
}

const maxRedirects = 3
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

function isRedirect({ status, type }: DialedResponse): boolean {
  return redirectStatuses.has(status) || type === 'opaqueredirect'
}

/** Returns the request for the next address. Only GET is repeated at another address. */
function redirected(request: GuardedRequest, location: string | null, count: number): GuardedRequest {
  const from = new URL(request.url)
  if (location === null || !canParseUrl(location, request.url))
    throw refused(`${from.origin} redirects without a valid location`)
  const to = new URL(location, request.url)
  if (request.method !== 'GET') throw refused(`${shown(from)} redirects to ${shown(to)}: use that address`)
  if (count >= maxRedirects) throw refused(`${from.origin} redirects more than ${maxRedirects} times`)
  if (from.protocol === 'https:' && to.protocol !== 'https:')
    throw refused(`${from.origin} redirects from https to ${to.protocol.slice(0, -1)}`)
  to.hash = ''
  const headers = to.origin === from.origin ? request.headers : withoutCredentials(request.headers)
  return { ...request, url: to.href, headers }
}

/** An address without credentials and query, for messages. */
function shown({ origin, pathname }: URL): string {
  return clip(origin + pathname)
}

/** Headers that may go to another origin. A list of forbidden ones would miss custom credential headers. */
const safeHeaders =
  /^(accept|accept-language|user-agent|a2a-version|if-none-match|if-modified-since|traceparent|tracestate)$/i

function withoutCredentials(headers: HttpRequest['headers']): HttpRequest['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => safeHeaders.test(name)))
}

/** Sends one request within the limits. Follows no redirect. */
async function exchange(
  { dialer, wire, limits }: SenderDeps,
  request: GuardedRequest,
): Promise<HttpResponse | { readonly redirect: string | null }> {
  const { method, url, headers, body, signal, isStream = false } = request
  const log = wire && (await import('./wire-log.js')).logRequest(wire, request)
  const timeout = startTimeout(limits.headersTimeoutMs)
  try {
    const response = await dialer.send(url, {
      method,
      headers,
      signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
      ...(body !== undefined && { body }),
    })
    if (isRedirect(response)) {
      await response.body?.cancel()
      log?.answered(response, undefined)
      return { redirect: response.headers.get('location') }
    }
    if (isStream && response.body && isEventStream(response))
      return toHttpResponse(response, url, log?.streaming(response, response.body) ?? response.body)
    timeout.restart(limits.bodyTimeoutMs)
    const bytes = await readAtMost(response, limits.maxBytes)
    if (!bytes) throw refused(`The response of ${new URL(url).host} is larger than ${limits.maxBytes} bytes`)
    log?.answered(response, bytes)
    return toHttpResponse(response, url, bytes)
  } catch (caught) {
    const failure = toTransportError(caught, { url, signal, timeoutMs: timeout.expiredAfterMs })
    log?.failed(failure)
    throw failure
  } finally {
    timeout.stop()
  }
}

function isEventStream({ headers, status }: DialedResponse): boolean {
  return isSuccess(status) && /^\s*text\/event-stream\b/i.test(headers.get('content-type') ?? '')
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

/** A response with its body, or with an event stream that is read as it arrives. */
function toHttpResponse(
  { status, headers }: DialedResponse,
  url: string,
  body: Uint8Array<ArrayBuffer> | ByteReader,
): HttpResponse {
  const isRead = body instanceof Uint8Array
  const bytes = async () => (isRead ? body : await collectAtMost(body, Number.POSITIVE_INFINITY)) ?? new Uint8Array()
  const text = async () => decodeUtf8(await bytes()).replace(/^\uFEFF/, '')
  return {
    status,
    ok: isSuccess(status),
    url,
    headers,
    body: isRead ? null : body,
    bytes,
    text,
    json: async () => JSON.parse(await text()) as unknown,
  }
}

/** A timeout that can be stopped, unlike `AbortSignal.timeout`, which would end streams that have started. */
function startTimeout(timeoutMs: number) {
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

interface FailedRequest {
  readonly url: string
  /** The signal of the caller. */
  readonly signal?: AbortSignal | undefined
  /** The time limit of the sender that expired, if one did. */
  readonly timeoutMs?: number | undefined
}

export function toTransportError(caught: unknown, { url, signal, timeoutMs }: FailedRequest): TransportError {
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
  const [, failure, reason] = knownFailures.find(([pattern]) => pattern.test(code)) ?? unknownFailure(caught)
  return new TransportError(failure, `${host} cannot be reached: ${reason}${code && ` (${code})`}`, {
    cause: caught,
    isRetryable: failure === 'unreachable' && !permanentCodes.test(code),
    wasSent: !failedBeforeSending(caught, code),
  })
}

/** The guarded dialer marks failures to connect. For a custom `fetch`, these codes occur only while connecting. */
function failedBeforeSending(caught: unknown, code: string): boolean {
  const isMarked = causesOf(caught).some((error) => error instanceof NotConnected || error instanceof AddressRefused)
  return isMarked || /^(BAD_PORT|ECONNREFUSED|ENOTFOUND|EAI_[A-Z]+|UND_ERR_CONNECT_TIMEOUT)$/.test(code)
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError'
}

const knownFailures: readonly (readonly [code: RegExp, failure: TransportFailure, reason: string])[] = [
  [/^ECONNREFUSED$/, 'unreachable', 'nothing listens there'],
  [/^BAD_PORT$/, 'unreachable', 'fetch does not allow this port, serve on another one'],
  [/^ENOTFOUND$/, 'unreachable', 'the name is not known'],
  [/^EAI_/, 'unreachable', 'the name could not be looked up'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'unreachable', 'the connection was closed'],
  [/^E(HOST|NET)UNREACH$/, 'unreachable', 'there is no route to the host'],
  [/TIMEOUT|^ETIMEDOUT$/, 'timeout', 'the connection timed out'],
  [/WRONG_VERSION_NUMBER|^EPROTO$|PACKET_LENGTH/, 'unreachable', 'it does not speak TLS, try http://'],
  [/CERT|SIGNATURE|^ERR_TLS/, 'unreachable', 'its certificate is not trusted'],
  [/^HPE_|^UND_ERR_RESPONSE/, 'bad-answer', 'it does not speak HTTP'],
  [/^Z_|^ERR_(_ERROR|BROTLI)/, 'bad-answer', 'its response is not compressed as its header states'],
]
/** Codes for which a retry cannot succeed. */
const permanentCodes = /BAD_PORT|CERT|SIGNATURE|ERR_TLS|WRONG_VERSION|EPROTO|PACKET_LENGTH|ENOTFOUND/

/** Uses the innermost message, which has the reason. */
function unknownFailure(caught: unknown): (typeof knownFailures)[number] {
  const reason = causesOf(caught).findLast(({ message }) => typeof message === 'string' && message !== '')?.message
  return [/^/, 'unreachable', `the connection failed${reason === undefined ? '' : `: ${clip(String(reason))}`}`]
}

/** Node nests the code in causes of `fetch failed`, and in `errors` if a name has several addresses. */
function codeOf(caught: unknown): string {
  for (const { code, name, message } of causesOf(caught)) {
    if (typeof code === 'string') return code
    if (message === 'bad port') return 'BAD_PORT' // `fetch` blocks ports of other protocols, without a code
    if (name === 'HTTPParserError') return 'HPE_INVALID' // some of these have no code
  }
  return ''
}

function causesOf(caught: unknown): readonly Readonly<Record<string, unknown>>[] {
  const causes: Readonly<Record<string, unknown>>[] = []
  for (let error = caught; isObject(error) && causes.length < 5; ) {
    causes.push(error)
    error = Array.isArray(error.errors) ? (error.errors as unknown[])[0] : error.cause
  }
  return causes
}
