/** One call of a gRPC client, as the server sees it on its HTTP/2 stream. */
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Deadlines } from '../deadlines.js'
import { NodeHeaders, type ReceivedHeaders } from '../node-headers.js'
import { type OutputConnection, StreamOutput } from '../stream-output.js'
import type { HeaderReader } from '../transport.js'
import { acceptedEncodings, RequestReader } from './request-reader.js'
import { type CallStatus, detailsTrailer, statusCodes } from './status.js'
import { readTimeout } from './timeout.js'

/** The HTTP/2 connection of a call. */
export interface GrpcConnection extends OutputConnection {
  readonly socket: Socket
  readonly address: () => string | undefined
  /** Bytes of requests that are not complete. */
  requestBytes: number
  /** Whether incomplete requests hold too much, and the given bytes of one of them are not all of it. */
  isOverloaded(own: number): boolean
}

interface CallHeaders extends ReceivedHeaders {
  readonly headers: IncomingHttpHeaders
}

/** Limits of every call of a server. */
export interface CallLimits {
  readonly maxBytes: number
  /** From the metadata of a call to the end of its request. */
  readonly requestMs: number
  readonly deadlines: Deadlines
}

const contentType = 'application/grpc+proto'
const responseHeaders = {
  ':status': 200,
  'content-type': contentType,
  'grpc-accept-encoding': acceptedEncodings,
}
const okTrailers = { 'grpc-status': '0' }
/** A date in every response costs more than its use: gRPC clients ignore it. */
const withTrailers = { waitForTrailers: true, sendDate: false }
const withoutBody = { endStream: true, sendDate: false }

export class ServerCall {
  readonly path: string
  readonly headers: HeaderReader
  readonly connection: GrpcConnection
  /** Called when the caller leaves or the deadline passes, before the call has ended. */
  onGone: (() => void) | undefined
  readonly output: StreamOutput
  readonly #stream: ServerHttp2Stream
  readonly #received: IncomingHttpHeaders
  readonly #limits: CallLimits
  readonly #reader: RequestReader
  /** The deadline of the caller, in the time of `performance.now()`. */
  #deadline = Number.POSITIVE_INFINITY
  #slot = 0
  #isRequestRead = false
  #isReleased = false
  #isOver = false
  #trailers: OutgoingHttpHeaders = okTrailers

  constructor(stream: ServerHttp2Stream, received: CallHeaders, connection: GrpcConnection, limits: CallLimits) {
    const { headers } = received
    this.path = headers[':path'] ?? ''
    this.headers = metadataOf(received)
    this.connection = connection
    this.output = new StreamOutput(stream, connection)
    this.#stream = stream
    this.#received = headers
    this.#limits = limits
    this.#reader = new RequestReader(limits.maxBytes)
    stream.on('close', () => this.#close())
    const timeout = headers['grpc-timeout']
    const timeoutMs = timeout === undefined ? Number.POSITIVE_INFINITY : readTimeout(String(timeout))
    if (timeoutMs === undefined) {
      this.end({ code: statusCodes.INTERNAL, message: 'Invalid grpc-timeout value' })
      return
    }
    this.#deadline = performance.now() + timeoutMs
    this.#slot = limits.deadlines.add(this, Math.min(timeoutMs, limits.requestMs))
  }

  /** The status was sent, or the caller is gone. */
  get isOver(): boolean {
    return this.#isOver || this.#stream.destroyed || this.#stream.closed
  }

  /** Reads the request. It is not called unless the request is valid. */
  read(onMessage: (message: Buffer) => void): void {
    const stream = this.#stream
    stream.on('data', (piece: Buffer) => {
      if (this.#isOver) return
      const { connection } = this
      connection.requestBytes += piece.length
      const refused = this.#reader.add(piece)
      if (refused) this.end(refused)
      else if (connection.isOverloaded(this.#reader.received))
        this.end({ code: statusCodes.RESOURCE_EXHAUSTED, message: 'Too many large requests on this connection' })
    })
    stream.on('end', () => {
      // Streams that the client has reset end too.
      if (this.isOver) return
      this.#requestEnded()
      const encoding = String(this.#received['grpc-encoding'] ?? 'identity')
      this.#reader.finish({
        encoding,
        isOver: () => this.isOver,
        onMessage: (message) => {
          this.#release()
          try {
            onMessage(message)
          } catch {
            // An error in a listener would end the process.
            this.end({ code: statusCodes.INTERNAL, message: 'Internal error' })
          }
        },
        onRefused: (status) => {
          this.#release()
          this.end(status)
        },
      })
    })
  }

  /** Sends the response headers, once. */
  open(headers?: OutgoingHttpHeaders): void {
    if (this.isOver || this.#stream.headersSent) return
    const stream = this.#stream
    stream.on('wantTrailers', () => {
      if (!stream.destroyed && !stream.closed) stream.sendTrailers(this.#trailers)
    })
    stream.respond(headers ? { ...responseHeaders, ...headers } : responseHeaders, withTrailers)
  }

  /** Ends the call with OK, after the last messages if there are any. */
  finish(bytes?: Buffer): void {
    if (this.isOver) return
    this.open()
    this.#over()
    this.output.end(bytes)
  }

  /** Ends the call with a status. The first one counts. */
  end(status: CallStatus): void {
    if (this.isOver) return
    const stream = this.#stream
    this.#over()
    if (stream.headersSent) {
      this.#trailers = trailersOf(status)
      this.output.end()
    } else stream.respond({ ':status': 200, 'content-type': contentType, ...trailersOf(status) }, withoutBody)
    if (!this.#isRequestRead) {
      // The rest of the request is not read, and the client need not send it.
      stream.resume()
      stream.close(constants.NGHTTP2_NO_ERROR)
    }
  }

  /** Calls `then` when the stream has closed. */
  onClosed(then: () => void): void {
    if (this.#stream.destroyed) then()
    else this.#stream.once('close', then)
  }

  /** The time for the request, or for the whole call, is over. */
  expire(): void {
    this.#slot = 0
    const isPast = performance.now() >= this.#deadline
    if (!isPast && this.#isRequestRead) return
    const message = isPast ? 'Deadline exceeded' : 'The request never ended'
    const wasOver = this.isOver
    this.end({ code: statusCodes.DEADLINE_EXCEEDED, message })
    if (!wasOver) this.onGone?.()
  }

  #requestEnded(): void {
    this.#isRequestRead = true
    const { deadlines } = this.#limits
    deadlines.remove(this, this.#slot)
    if (this.#deadline !== Number.POSITIVE_INFINITY)
      this.#slot = deadlines.add(this, Math.max(0, this.#deadline - performance.now()))
  }

  /** The bytes of a request count until it is decompressed. */
  #release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.connection.requestBytes -= this.#reader.received
  }

  #over(): void {
    this.#isOver = true
    this.#limits.deadlines.remove(this, this.#slot)
  }

  #close(): void {
    const wasOver = this.#isOver
    this.#over()
    this.#isRequestRead = true
    this.#release()
    if (!wasOver) this.onGone?.()
  }
}

/** The headers of a request, as gRPC metadata. Several values of one name are a list (R-SVC-2). */
function metadataOf(received: ReceivedHeaders): HeaderReader {
  const headers = new NodeHeaders(received)
  return {
    get(name) {
      const text = headers.get(name)
      return text !== null && /-bin$/i.test(name) ? decodeBinary(text) : text
    },
  }
}

/** Names that end in `-bin` have bytes in base64. */
function decodeBinary(values: string): string {
  const decoded = values.split(',').map((value) => Buffer.from(value.trim(), 'base64').toString())
  return decoded.join(', ')
}

function trailersOf({ code, message, details, challenge }: CallStatus): OutgoingHttpHeaders {
  return {
    'grpc-status': String(code),
    // Escapes control characters, the percent sign and everything that is not ASCII.
    'grpc-message': encodeURI(message),
    ...(details && { [detailsTrailer]: details.toString('base64') }),
    ...(challenge !== undefined && { 'www-authenticate': challenge }),
  }
}
