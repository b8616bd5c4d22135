/** Statuses of calls that failed, as the errors of a client. */
import { type Metadata, type StatusObject, status } from '@grpc/grpc-js'
import type { GrpcClientForm } from '../../dialects/client-dialect.js'
import { A2AError, clip } from '../../model/errors.js'
import { leftBy, TransportError } from '../../model/transport-error.js'
import { detailsTrailer, readDetails } from './status.js'

/** Progress of a call when it failed. */
export interface Progress {
  readonly isStream: boolean
  /** The response headers; absent if there were none. */
  readonly headers: Metadata | undefined
}

type Status = Pick<StatusObject, 'code' | 'details' | 'metadata'>

/** Peers may send unknown codes. grpc-js has no code for a response that cannot be decompressed. */
export function statusName(code: number | undefined): string {
  return (code !== undefined && status[code]) || 'UNKNOWN'
}

/**
 * Converts a status to an error. A status without details may come from grpc-js itself; only its text tells. Confusing
 * the two is harmless: the call fails in both cases.
 */
export function failureOf(ended: Status, form: GrpcClientForm, progress: Progress): A2AError | TransportError {
  const { code, details: text, metadata } = ended
  const received = detailsOf(metadata)
  const message = clip(text || received?.message || 'The agent gave no reason')
  if (received) return form.decodeError(statusName(code), message, received.details)
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

/** The texts of grpc-js for a call that never got a connection. */
function isNotSent({ details, metadata }: Status, { headers }: Progress): boolean {
  const isOwn = !headers && Object.keys(metadata.getMap()).length === 0
  return isOwn && /^(No connection established|Name resolution failed)/.test(details)
}

/** The texts of the gRPC libraries for JavaScript, Go, C++ and Java. */
const isTooLarge = /message (that decompresses to a size )?larger than|exceeds maximum size/i

/** The texts of grpc-js for responses that are not gRPC. */
const isNoAnswer =
  /^(Received HTTP status code|No message received|Too many responses received|No status information|Failed to decompress)/

/** A gateway's 401 and 403 mean the same as the agent's. */
const isRefusal: ReadonlySet<number> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED])

/** The client's limit and the peer's have the same status. The peer refuses before it sends headers. */
function tooLarge({ headers }: Progress, message: string): A2AError | TransportError {
  if (!headers) return new A2AError('PAYLOAD_TOO_LARGE', `The request is too large for this agent: ${message}`)
  // A web page, whose first bytes were read as a length.
  if (!isAnswer(headers)) return noAnswer(message)
  return new TransportError('refused', `The answer is too large: ${message}`)
}

function broken({ isStream, headers }: Progress, message: string): TransportError {
  return isStream && headers && isAnswer(headers)
    ? new TransportError('broken-stream', `The stream broke off: ${message}`)
    : new TransportError('unreachable', message)
}

function noAnswer(message: string): TransportError {
  return new TransportError('bad-answer', `The server does not support gRPC: ${message}`)
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
    // Details that cannot be decoded still prove that the agent sent the status.
    return { code: 0, message: '', details: [] }
  }
}

export function aborted(signal: AbortSignal | undefined): TransportError {
  return signal ? leftBy(signal) : new TransportError('aborted', 'The call was aborted')
}
