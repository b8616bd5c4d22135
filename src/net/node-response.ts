/** Responses of undici's `request`: headers, and bodies that are decompressed and read as they arrive. */
import { pipeline, type Readable } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import type { ByteReader } from './read-at-most.js'

export interface NodeResponse {
  readonly status: number
  readonly headers: NodeHeaders
  readonly body: ByteReader
}

export function readResponse({ statusCode, headers: given, body }: Dispatcher.ResponseData): NodeResponse {
  const headers = new NodeHeaders(given)
  return { status: statusCode, headers, body: new StreamReader(decompressed(body, headers.get('content-encoding'))) }
}

type GivenHeaders = Dispatcher.ResponseData['headers']

class NodeHeaders {
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

/** Other codings, and lists of codings, stay as they are: the client does not ask for them. */
function decompressed(body: Readable, coding: string | null): Readable {
  const create = coding === null ? undefined : decompressors.get(coding.trim().toLowerCase())
  // The reader gets the errors of both streams.
  return create ? pipeline(body, create(), () => undefined) : body
}

/** The codings that `decompressed` reads. As with `fetch`, Brotli is for https only: some proxies break it otherwise. */
export function acceptEncoding(url: string): string {
  return url.startsWith('https:') ? 'br, gzip, deflate' : 'gzip, deflate'
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
