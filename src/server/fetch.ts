/** Exchanges on `Request` and `Response`, for hosts such as Deno, Bun, Next.js and Hono, and for endpoints. */
import type { Connection } from '../model/connection.js'
import type { AnswerExchange, Exchange, HttpAnswer } from '../transports/exchange.js'
import { bodyFailure, readBefore, readBody, tooLarge } from '../transports/read-json.js'
import { highWaterMark, SseFeed, type SseSink } from '../transports/sse.js'
import type { HeaderReader } from '../transports/transport.js'

/** The second argument with which Deno and Bun call a `fetch` function: facts of the request, or the server. */
type HostInfo = { readonly remoteAddr: object } | { requestIP(request: Request): { readonly address: string } | null }

/** Answers a `Request`, also if a host calls it with an argument of its own. */
export type HostedFetch = (request: Request, connection?: Connection | HostInfo) => Promise<Response>

/** Answers a `Request`. */
export interface Fetch {
  (request: Request, connection?: Connection): Promise<Response>
  /**
   * Does the same without `Request` and `Response`, for the Node adapter. A member of the function, so that a function
   * that replaces or wraps `fetch` of a handler is called.
   */
  readonly answer?: AnswerExchange
}

/** A request of a host with `Request` and `Response`. */
export class FetchExchange implements Exchange {
  readonly authority: string
  readonly path: string
  readonly query: string
  readonly connection: Connection | undefined
  readonly #request: Request
  #gone: AbortController | undefined
  #isAnswered = false

  constructor(request: Request, connection?: Connection) {
    this.#request = request
    this.connection = connection
    const [address = ''] = request.url.split('#', 1)
    const host = address.indexOf('://') + 3
    const mark = address.indexOf('?', host)
    const end = mark < 0 ? address.length : mark
    const slash = address.indexOf('/', host)
    const start = slash < 0 || slash > end ? end : slash
    this.authority = address.slice(host, start)
    this.path = address.slice(start, end) || '/'
    this.query = address.slice(end + 1)
  }

  get method(): string {
    return this.#request.method
  }

  get url(): string {
    return this.#request.url
  }

  get headers(): HeaderReader {
    return this.#request.headers
  }

  get signal(): AbortSignal {
    if (this.#gone) return this.#gone.signal
    this.#gone = new AbortController()
    const { signal } = this.#request
    const onGone = () => this.#end(true)
    if (signal.aborted) onGone()
    else signal.addEventListener('abort', onGone, { once: true })
    return this.#gone.signal
  }

  /** Some hosts abort the signal of a request after its response too, and others cancel the response only. */
  #end(isGone: boolean): void {
    if (isGone && !this.#isAnswered) this.#gone?.abort()
    this.#isAnswered = true
  }

  respond(answer: HttpAnswer): Response {
    const { body } = answer
    const end = (isGone: boolean) => this.#end(isGone)
    if (body instanceof ReadableStream) return toResponse(this.#gone ? { ...answer, body: watched(body, end) } : answer)
    if (body instanceof SseFeed) return toResponse(answer, end)
    end(false)
    return toResponse(answer)
  }

  readBody(maxBytes: number): Promise<Uint8Array> {
    return readBody(this.#request, maxBytes)
  }

  toRequest(maxBytes: number): Request {
    const request = this.#request
    const { url, method, headers, signal } = request
    if (!canHaveBody(method)) return request
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    const read = async (): Promise<Uint8Array | undefined> => {
      // Locked at the first read only: a body that is not read here can be read elsewhere.
      if (!reader && request.bodyUsed) throw readBefore()
      reader ??= request.body?.getReader()
      return (await reader?.read())?.value
    }
    const body = limitedBody(read, () => reader?.cancel().catch(() => undefined), { headers, maxBytes })
    return new Request(url, requestInit({ method, headers, signal, body }))
  }
}

/** `Request` has no body for these methods. */
export function canHaveBody(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'TRACE'
}

/** Streams as bodies need `duplex`, which the types lack. */
export function requestInit(init: RequestInit): RequestInit {
  return Object.assign(init, { duplex: 'half' })
}

interface BodyLimit {
  readonly headers: HeaderReader
  readonly maxBytes: number
}

/** A body that fails in the same cases as `readBody`. `read` returns undefined at the end of the body. */
export function limitedBody(
  read: () => Promise<Uint8Array | undefined>,
  cancel: () => void,
  { headers, maxBytes }: BodyLimit,
): ReadableStream<Uint8Array> {
  const isTooLong = Number(headers.get('content-length')) > maxBytes
  let length = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (isTooLong) throw tooLarge(maxBytes)
        const value = await read().catch((cause: unknown) => Promise.reject(bodyFailure(cause)))
        length += value?.byteLength ?? 0
        if (length > maxBytes) {
          cancel()
          throw tooLarge(maxBytes)
        }
        if (value) controller.enqueue(value)
        else controller.close()
      },
      cancel,
    },
    { highWaterMark: 0 },
  )
}

/** Makes a function from `Request` to `Response` of a function that answers exchanges. */
export function toFetch(answer: AnswerExchange): Fetch & HostedFetch {
  const fetch: HostedFetch = async (request, given) => {
    const exchange = new FetchExchange(request, given && connectionOf(request, given))
    const answered = await answer(exchange)
    return exchange.respond(request.method === 'HEAD' ? withoutBody(answered) : answered)
  }
  return Object.assign(fetch, { answer })
}

function connectionOf(request: Request, given: Connection | HostInfo): Connection {
  if ('requestIP' in given) return { address: () => given.requestIP(request)?.address }
  // Absent for connections that have no network address, such as Unix sockets.
  if ('remoteAddr' in given) return { address: () => (given.remoteAddr as { readonly hostname?: string }).hostname }
  return given
}

/** Node.js omits the body of an answer to HEAD itself; other hosts may not. */
function withoutBody({ body, ...answer }: HttpAnswer): HttpAnswer {
  if (body instanceof SseFeed) body.cancel()
  return answer
}

/** Receives the end of a body: whether its reader left before. */
type OnEnd = (isGone: boolean) => void

export function toResponse({ status, headers, cookies, body }: HttpAnswer, onEnd?: OnEnd): Response {
  const response = new Response(responseBody(body, onEnd), { status, headers })
  for (const cookie of cookies ?? []) response.headers.append('set-cookie', cookie)
  return response
}

function responseBody(body: HttpAnswer['body'], onEnd?: OnEnd): ConstructorParameters<typeof Response>[0] {
  if (body === undefined || typeof body === 'string') return body ?? null
  if (body instanceof Uint8Array) return new Uint8Array(body)
  return body instanceof ReadableStream ? body : streamOf(body, onEnd)
}

function watched(body: ReadableStream<Uint8Array>, onEnd: OnEnd): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (!done) {
          controller.enqueue(value)
          return
        }
        onEnd(false)
        controller.close()
      },
      cancel(reason) {
        onEnd(true)
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

export function fromResponse({ status, headers, body }: Response): HttpAnswer {
  const cookies = headers.getSetCookie()
  const fields = Object.fromEntries(headers)
  delete fields['set-cookie']
  return { status, headers: fields, ...(cookies.length > 0 && { cookies }), ...(body && { body }) }
}

function streamOf(
  feed: Pick<SseFeed, 'start' | 'resume' | 'cancel'>,
  onEnd: OnEnd = () => undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => feed.start(sinkOf(controller, onEnd)),
      pull: () => feed.resume(),
      cancel() {
        onEnd(true)
        feed.cancel()
      },
    },
    { highWaterMark, size: (chunk) => chunk.byteLength },
  )
}

const encoder = new TextEncoder()

function sinkOf(controller: ReadableStreamDefaultController<Uint8Array>, onEnd: OnEnd): SseSink {
  return {
    open: () => undefined,
    write(text) {
      controller.enqueue(encoder.encode(text))
      return (controller.desiredSize ?? 0) > 0
    },
    end(text) {
      onEnd(false)
      if (text !== '') controller.enqueue(encoder.encode(text))
      controller.close()
    },
  }
}
