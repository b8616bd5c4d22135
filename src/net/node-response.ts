/** Responses of undici's `request`: headers, and bodies that are decompressed and read as they arrive. */
import { pipeline, type Readable } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import type { ByteReader } from './read-at-most.js'

export interface NodeResponse {
  readonly status: number
  readonly headers: ReceivedHeaders
  readonly body: ByteReader
}

export function toNodeResponse({ statusCode, headers: given, body }: Dispatcher.ResponseData): NodeResponse {
  const headers = new ReceivedHeaders(given)
  return { status: statusCode, headers, body: new StreamReader(decompressed(body, headers.get('content-encoding'))) }
}

type GivenHeaders = Dispatcher.ResponseData['headers']

class ReceivedHeaders {
  readonly #given: GivenHeaders

  constructor(given: GivenHeaders) {
    this.#given = given
  }

  get(name: string): string | null {
    const value = this.#given[name.toLowerCase()]
    return value === undefined ? null : joined(value)
  }

  *entries(): Generator<[string, string], void, void> {
    for (const [name, value] of Object.entries(this.#given)) if (value !== undefined) yield [name, joined(value)]
  }
}

function joined(value: string | string[]): string {
  return typeof value === 'string' ? value : value.join(', ')
}

/** Passes on what can be decoded, so that events of a stream do not wait for the next ones. */
const zlibOptions = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
const brotliOptions = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
}

const decompressors = new Map([
  ['gzip', () => createGunzip(zlibOptions)],
  ['x-gzip', () => createGunzip(zlibOptions)],
  ['deflate', () => createInflate(zlibOptions)],
  ['br', () => createBrotliDecompress(brotliOptions)],
])

const maxCodings = 5

/** A body with an unknown coding stays as it is: the client does not ask for it. */
function decompressed(body: Readable, codings: string | null): Readable {
  if (codings === null) return body
  // The list is in the order in which the codings were applied (RFC 9110, 8.4).
  const creators = codings
    .split(',', maxCodings + 1)
    .map((coding) => decompressors.get(coding.trim().toLowerCase()))
    .reverse()
  if (creators.length > maxCodings || !creators.every((create) => create !== undefined)) return body
  // The reader gets the errors of all streams.
  return creators.reduce((stream, create) => pipeline(stream, create(), () => undefined), body)
}

/**
 * The codings that the client asks for. `deflate` is not among them: some servers send it without its header. As with
 * `fetch`, Brotli is for https only: some proxies break it otherwise.
 */
export function acceptEncoding(url: string): string {
  return url.startsWith('https:') ? 'br, gzip' : 'gzip'
}

/** Reads a stream of Node with one promise for all bytes that are there. Web streams cost twice the CPU time. */
class StreamReader implements ByteReader {
  readonly #stream: Readable
  #isOver = false
  #failure: { readonly error: Error } | undefined
  #wake = () => undefined as unknown

  constructor(stream: Readable) {
    this.#stream = stream
    stream.on('readable', () => this.#wake())
    stream.on('end', () => this.#end())
    stream.on('error', (error) => this.#end(error))
    stream.on('close', () => this.#end(new Error('The connection was closed')))
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const bytes = this.#stream.read() as Buffer | null // the stream has no encoding
      if (bytes) return bytes
      if (this.#failure) throw this.#failure.error
      if (this.#isOver) return undefined
      await new Promise<unknown>((resolve) => {
        this.#wake = () => resolve(undefined)
      })
    }
  }

  async cancel(): Promise<void> {
    this.#stream.destroy()
  }

  #end(error?: Error): void {
    if (!this.#isOver) {
      this.#isOver = true
      if (error) this.#failure = { error }
    }
    this.#wake()
  }
}
