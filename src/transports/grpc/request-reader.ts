/** Reads the one message of a request, which may be compressed. */
import { gunzip, inflate } from 'node:zlib'
import { type CallStatus, statusCodes } from './status.js'
import { framePrefixBytes } from './wire.js'

/** Names of encodings that a request may have. Responses are not compressed. */
export const acceptedEncodings = 'identity,deflate,gzip'

/** A map, because clients choose the name: an object also has the members of its prototype. */
const decompressors = new Map([
  ['gzip', gunzip],
  ['deflate', inflate],
])

/** Decompressions at a time. Each can produce the largest message: without a limit, 1 MB of requests took 1.1 GB. */
const maxRunning = 4
let running = 0
const waiting: (() => void)[] = []

function startWaiting(): void {
  while (running < maxRunning) {
    const start = waiting.shift()
    if (!start) return
    start()
  }
}

interface FinishedRequest {
  readonly encoding: string
  /** Whether the call has ended. Its message is then not decompressed, or discarded. */
  readonly isOver: () => boolean
  readonly onMessage: (message: Buffer) => void
  readonly onRefused: (status: CallStatus) => void
}

/** Collects the bytes of one message. Bytes beyond the limit, and beyond the message, are refused at once. */
export class RequestReader {
  readonly #maxBytes: number
  /** The prefix and the bytes received so far, if the message came in several pieces. */
  #pieces: Buffer[] | undefined
  #received = 0
  /** Length of the message, if the prefix is complete. */
  #length: number | undefined
  #isCompressed = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get received(): number {
    return this.#received
  }

  /** Returns the status of a request that is refused. */
  add(piece: Buffer): CallStatus | undefined {
    if (this.#pieces) this.#pieces.push(piece)
    else this.#pieces = [piece]
    this.#received += piece.length
    if (this.#length === undefined && this.#received >= framePrefixBytes) {
      const [first] = this.#pieces
      const prefix = first && first.length >= framePrefixBytes ? first : this.#join()
      this.#isCompressed = prefix[0] !== 0
      this.#length = prefix.readUInt32BE(1)
      if (this.#length > this.#maxBytes)
        return exhausted(`Received message larger than max (${this.#length} vs. ${this.#maxBytes})`)
    }
    if (this.#length !== undefined && this.#received > framePrefixBytes + this.#length)
      return { code: statusCodes.UNIMPLEMENTED, message: 'Received a second request message' }
    return undefined
  }

  /** Passes on the message when the request has ended. */
  finish(request: FinishedRequest): void {
    const { onMessage, onRefused } = request
    if (this.#length === undefined || this.#received < framePrefixBytes + this.#length) {
      onRefused({ code: statusCodes.UNIMPLEMENTED, message: 'Received no request message' })
      return
    }
    const message = this.#join().subarray(framePrefixBytes)
    this.#pieces = undefined
    if (this.#isCompressed) this.#decompress(message, request)
    else onMessage(message)
  }

  #decompress(message: Buffer, { encoding, isOver, onMessage, onRefused }: FinishedRequest): void {
    const maxBytes = this.#maxBytes
    const decompress = decompressors.get(encoding)
    if (!decompress) {
      onRefused(unknownEncoding(encoding))
      return
    }
    const settle = (error: NodeJS.ErrnoException | null, decompressed: Buffer) => {
      if (isOver()) return
      if (!error) onMessage(decompressed)
      else if (error.code === 'ERR_BUFFER_TOO_LARGE')
        onRefused(exhausted(`Received message that decompresses to a size larger than ${maxBytes}`))
      else onRefused({ code: statusCodes.INTERNAL, message: 'Failed to decompress message' })
    }
    waiting.push(() => {
      if (isOver()) return
      running += 1
      decompress(message, { maxOutputLength: maxBytes }, (error, decompressed) => {
        running -= 1
        try {
          settle(error, decompressed)
        } finally {
          startWaiting()
        }
      })
    })
    startWaiting()
  }

  #join(): Buffer {
    const pieces = this.#pieces ?? []
    const [first] = pieces
    if (first && pieces.length === 1) return first
    const joined = Buffer.concat(pieces)
    this.#pieces = [joined]
    return joined
  }
}

function exhausted(message: string): CallStatus {
  return { code: statusCodes.RESOURCE_EXHAUSTED, message }
}

function unknownEncoding(encoding: string): CallStatus {
  // A message that is marked as compressed needs an encoding.
  if (encoding === 'identity') return { code: statusCodes.INTERNAL, message: 'The message has no compression' }
  const message = `Received message compressed with unsupported encoding "${encoding.slice(0, 40)}"`
  return { code: statusCodes.UNIMPLEMENTED, message }
}
