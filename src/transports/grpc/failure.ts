/** How a call failed: what the agent said, or what happened to the wire. */
import { type Metadata, type StatusObject, status } from '@grpc/grpc-js'
import type { GrpcClientForm } from '../../dialects/client-dialect.js'
import { A2AError, clip } from '../../model/errors.js'
import { leftBy, TransportError } from '../../model/transport-error.js'
import { detailsTrailer, readDetails } from './status.js'

/** How far a call had come. */
export interface Progress {
  readonly isStream: boolean
  /** What came before the answer; absent when nothing did. */
  readonly headers: Metadata | undefined
}

type Status = Pick<StatusObject, 'code' | 'details' | 'metadata'>

/** Peers may send any number, and the library fails with none at all when an answer cannot be unpacked. */
export function statusName(code: number | undefined): string {
  return (code !== undefined && status[code]) || 'UNKNOWN'
}

/**
 * A status without details may be the library's own; it then says by its text alone what happened. Taking
 * a peer's words for those of the library does no harm: it fails either way.
 */
export function failureOf(ended: Status, form: GrpcClientForm, progress: Progress): A2AError | TransportError {
  const { code, details: text, metadata } = ended
  const told = detailsOf(metadata)
  const message = clip(text || told?.message || 'The agent gave no reason')
  if (told) return form.decodeError(statusName(code), message, told.details)
  switch (code) {
    case undefined:
      return new TransportError('bad-answer', 'The answer cannot be unpacked')
    case status.DEADLINE_EXCEEDED:
      return new TransportError('timeout', `No answer in time: ${message}`)
    case status.UNAVAILABLE:
      if (isNotSent(ended, progress)) return new TransportError('unreachable', message, { wasSent: false })
      return broken(progress, message)
    case status.CANCELLED:
      return broken(progress, message)
    case status.RESOURCE_EXHAUSTED:
      if (isTooLarge.test(text)) return tooLarge(progress, message)
      break
    case status.INTERNAL:
      if (text.startsWith('Received RST_STREAM')) return broken(progress, message)
      break
    default:
  }
  if (isNoAnswer.test(text) && !isRefusal.has(code)) return noAnswer(message)
  return form.decodeError(statusName(code), message, [])
}

/** The library's words for a call that waited for a connection which never came about. */
function isNotSent({ details, metadata }: Status, { headers }: Progress): boolean {
  const isOwn = !headers && Object.keys(metadata.getMap()).length === 0
  return isOwn && /^(No connection established|Name resolution failed)/.test(details)
}

/** The words of the gRPC libraries of JavaScript, Go, C++ and Java. */
const isTooLarge = /message (that decompresses to a size )?larger than|exceeds maximum size/i

/** What an answer looked like that was none. */
const isNoAnswer =
  /^(Received HTTP status code|No message received|Too many responses received|No status information|Failed to decompress)/

/** A gateway's 401 and 403 mean the same as the agent's. */
const isRefusal: ReadonlySet<number> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED])

/** Our limit and the peer's have one status. A request is measured before anything is answered. */
function tooLarge({ headers }: Progress, message: string): A2AError | TransportError {
  if (!headers) return new A2AError('PAYLOAD_TOO_LARGE', `The request is too large for this agent: ${message}`)
  // The first letters of a web page, taken for a length.
  if (!isAnswer(headers)) return noAnswer(message)
  return new TransportError('refused', `The answer is too large: ${message}`)
}

function broken({ isStream, headers }: Progress, message: string): TransportError {
  return isStream && headers && isAnswer(headers)
    ? new TransportError('broken-stream', `The stream broke off: ${message}`)
    : new TransportError('unreachable', message)
}

function noAnswer(message: string): TransportError {
  return new TransportError('bad-answer', `What answered does not speak gRPC: ${message}`)
}

function isAnswer(headers: Metadata): boolean {
  return String(headers.get('content-type')[0]).startsWith('application/grpc')
}

function detailsOf(metadata: Metadata): ReturnType<typeof readDetails> | undefined {
  const [bytes] = metadata.get(detailsTrailer)
  if (!Buffer.isBuffer(bytes)) return undefined
  try {
    return readDetails(bytes)
  } catch {
    // Whatever they are, they came from the agent.
    return { code: 0, message: '', details: [] }
  }
}

export function aborted(signal: AbortSignal | undefined): TransportError {
  return signal ? leftBy(signal) : new TransportError('aborted', 'The call was aborted')
}
