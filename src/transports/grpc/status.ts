/** An error as gRPC tells it: a status, a sentence, and the details in a trailer (R-ERR-6). */
import { Metadata, type StatusObject, status } from '@grpc/grpc-js'
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

export const detailsTrailer = 'grpc-status-details-bin'

const statusCodec = messageCodec([readStatus, writeStatus])
const detailCodecs: ReadonlyMap<string, MessageCodec> = new Map([
  ['type.googleapis.com/google.rpc.ErrorInfo', messageCodec([readErrorInfo, writeErrorInfo])],
  ['type.googleapis.com/google.rpc.BadRequest', messageCodec([readBadRequest, writeBadRequest])],
  ['type.googleapis.com/google.rpc.RetryInfo', messageCodec([readRetryInfo, writeRetryInfo])],
])

/** Peers drop trailers that are too large, the status with them: 8 KB is what most take. */
const mostDetailBytes = 3000
const longestMessage = 500

export function statusOf(error: A2AError, form: GrpcForm): StatusObject {
  const code = status[form.status(error) as keyof typeof status] ?? status.UNKNOWN
  const details = sentence(form.statusMessage?.(error) ?? error.message)
  const metadata = new Metadata()
  try {
    metadata.set(detailsTrailer, encodeDetails(code, details, form.errorDetails(error)))
  } catch {
    // Details of an error that an agent made in JavaScript may be anything. The status is told all the same.
  }
  return { code, details, metadata }
}

/** Half a surrogate pair cannot be sent. */
function sentence(message: string): string {
  const whole = message.toWellFormed()
  return whole.length > longestMessage ? `${whole.slice(0, longestMessage).toWellFormed()}…` : whole
}

/** The first details matter most: what does not fit is left out from behind. */
function encodeDetails(code: number, message: string, details: readonly object[]): Buffer {
  const known = details.flatMap((detail) => {
    const { '@type': typeUrl, ...members } = detail as { readonly '@type': string } // every detail names its type
    const codec = detailCodecs.get(typeUrl)
    return codec ? [{ typeUrl, value: codec.encode(members).toString('base64') }] : []
  })
  for (;;) {
    const bytes = statusCodec.encode({ code, message, details: known })
    if (bytes.byteLength <= mostDetailBytes || known.length === 0) return bytes
    known.pop()
  }
}

/** What a trailer says, for clients: each detail with its `@type`. */
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
