/** Headers of requests as Node.js supplies them, for HTTP/1.1 and HTTP/2. */
import type { HeaderReader } from './transport.js'

/**
 * Of these headers Node.js keeps the first value only. A proxy may have checked another one. Requests with two `Host` or
 * `Content-Length` do not arrive here.
 */
const singleHeaders: ReadonlySet<string> = new Set([
  'age',
  'authorization',
  'content-type',
  'etag',
  'expires',
  'from',
  'if-modified-since',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'retry-after',
  'server',
  'user-agent',
])

export interface ReceivedHeaders {
  readonly headers: NodeJS.ReadOnlyDict<string | string[]>
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[]
}

/** The headers of a request, as `Headers` joins them. */
export class NodeHeaders implements HeaderReader {
  readonly #incoming: ReceivedHeaders

  constructor(incoming: ReceivedHeaders) {
    this.#incoming = incoming
  }

  get(name: string): string | null {
    const lower = name.toLowerCase()
    const value = this.#incoming.headers[lower]
    if (typeof value !== 'string') return null
    return singleHeaders.has(lower) ? joined(this.#incoming.rawHeaders, lower) : value
  }
}

/** All values of a header, as `Headers` joins them. `headers` alternates names and values. */
function joined(headers: readonly string[], lower: string): string {
  let values: string | undefined
  for (let place = 0; place < headers.length; place += 2) {
    const name = headers[place]
    if (name?.length !== lower.length || (name !== lower && name.toLowerCase() !== lower)) continue
    values = values === undefined ? (headers[place + 1] ?? '') : `${values}, ${headers[place + 1]}`
  }
  return values ?? ''
}
