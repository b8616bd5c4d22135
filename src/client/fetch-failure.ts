/** What `fetch` threw, in plain words. */
import { clip } from '../model/errors.js'
import { TransportError, type TransportFailure } from '../model/transport-error.js'
import { AddressRefused } from '../net/address-rules.js'
import { NotConnected } from '../net/not-connected.js'

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
