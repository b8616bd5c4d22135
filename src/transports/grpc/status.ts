/** Errors as gRPC statuses: a code, a message, and details in a trailer (R-ERR-6). */
import type { GrpcForm } from '../../dialects/dialect.js'
import type { A2AError } from '../../model/errors.js'
import {
  readBadRequest,
  readErrorInfo,
  readRetryInfo,
  readStatus,
  writeBadRequest,
  writeErrorInfo,
  writeRetryInfo,
  writeStatus,
} from './gen/google-rpc.js'
import { type MessageCodec, messageCodec } from './messages.js'

/** The status codes of gRPC. */
export const statusCodes = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const

/** The end of a call. */
export interface CallStatus {
  readonly code: number
  readonly message: string
  /** The value of the trailer with details. */
  readonly details?: Buffer
  /** The value of the trailer `www-authenticate`. */
  readonly challenge?: string | undefined
}

export const detailsTrailer = 'grpc-status-details-bin'

const statusCodec = messageCodec([readStatus, writeStatus])
const detailCodecs: ReadonlyMap<string, MessageCodec> = new Map([
  ['type.googleapis.com/google.rpc.ErrorInfo', messageCodec([readErrorInfo, writeErrorInfo])],
  ['type.googleapis.com/google.rpc.BadRequest', messageCodec([readBadRequest, writeBadRequest])],
  ['type.googleapis.com/google.rpc.RetryInfo', messageCodec([readRetryInfo, writeRetryInfo])],
])

/** Most peers drop trailers of more than 8 KB, together with the status. */
const maxDetailBytes = 3000
const maxMessageLength = 500

export function statusOf(error: A2AError, form: GrpcForm): CallStatus {
  const code = statusCodes[form.status(error) as keyof typeof statusCodes] ?? statusCodes.UNKNOWN
  const message = sentence(form.statusMessage?.(error) ?? error.message)
  try {
    return { code, message, details: encodeDetails(code, message, form.errorDetails(error)) }
  } catch {
    // An agent may throw an error whose details cannot be encoded. Send the status without them.
    return { code, message }
  }
}

/** Limits the length. Unpaired surrogates cannot be encoded. */
function sentence(message: string): string {
  const whole = message.toWellFormed()
  return whole.length > maxMessageLength ? `${whole.slice(0, maxMessageLength).toWellFormed()}…` : whole
}

/** Drops the last details until the rest fits. */
function encodeDetails(code: number, message: string, details: readonly object[]): Buffer {
  const known = details.flatMap((detail) => {
    const { '@type': typeUrl, ...members } = detail as { readonly '@type': string } // every detail names its type
    const codec = detailCodecs.get(typeUrl)
    return codec ? [{ typeUrl, value: codec.encode(members).toString('base64') }] : []
  })
  for (;;) {
    const bytes = statusCodec.encode({ code, message, details: known })
    if (bytes.byteLength <= maxDetailBytes || known.length === 0) return bytes
    known.pop()
  }
}

/** Decodes the trailer: each detail with its `@type`. */
export function readDetails(bytes: Uint8Array): { code: number; message: string; details: object[] } {
  const { code = 0, message = '', details = [] } = statusCodec.decode(bytes) as ReturnType<typeof readStatus>
  return {
    code,
    message,
    details: details.flatMap(({ typeUrl = '', value = '' }) => {
      const codec = detailCodecs.get(typeUrl)
      return codec ? [{ '@type': typeUrl, ...codec.decode(Buffer.from(value, 'base64')) }] : []
    }),
  }
}
