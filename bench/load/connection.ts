/**
 * One connection that carries one call at a time. It uses `dispatch` of undici instead of `node:http`, because the
 * generator must cost clearly less than the fastest server that it measures.
 */
import { Client } from 'undici'
import type { HttpRequest, RpcAnswer } from './dialects.ts'

export interface ConnectionOptions {
  /** Maximum time without data before a call fails; 0 for no limit. Default 60,000. */
  readonly silenceMs?: number | undefined
  /** Whether all calls share the connection. Default true. */
  readonly isKeptAlive?: boolean | undefined
  /** Headers of every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface Connection {
  /** Returns the parsed answer of a call that is not a stream. The caller checks the members that it reads. */
  call<Answer = RpcAnswer>(request: HttpRequest): Promise<Answer>
  /** Passes each piece of the body to `onChunk`; resolves when the server ends the stream. */
  stream(request: HttpRequest, onChunk: (chunk: Buffer) => void): Promise<void>
  close(): Promise<void>
}

export function openConnection(origin: string, options: ConnectionOptions = {}): Connection {
  const { silenceMs = 60_000, isKeptAlive = true, headers } = options
  const complete = (request: HttpRequest) =>
    headers ? { ...request, headers: { ...request.headers, ...headers } } : request
  const client = new Client(origin, {
    bodyTimeout: silenceMs,
    headersTimeout: silenceMs,
    pipelining: isKeptAlive ? 1 : 0,
  })
  return {
    async call<Answer>(request: HttpRequest) {
      const chunks: Buffer[] = []
      await exchange(client, complete(request), (chunk) => chunks.push(chunk))
      const [first] = chunks
      const body = first && chunks.length === 1 ? first : Buffer.concat(chunks)
      return JSON.parse(body.toString()) as Answer // see the doc comment of `call`
    },
    stream(request, onChunk) {
      return exchange(client, complete(request), onChunk)
    },
    close() {
      return client.destroy()
    },
  }
}

/** Resolves at the end of the answer. */
function exchange(
  client: Client,
  { method = 'POST', path, headers = {}, body }: HttpRequest,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let status: number | undefined
    client.dispatch(
      { path, method, headers, body: body ?? null },
      {
        onRequestStart() {},
        onResponseStart(_controller, statusCode) {
          status = statusCode
        },
        onResponseData(_controller, chunk) {
          onChunk(chunk)
        },
        onResponseEnd() {
          if (status === 200) resolve()
          else reject(new Error(`The server answered with status ${status}`))
        },
        onResponseError(_controller, error) {
          reject(error)
        },
      },
    )
  })
}
