/**
 * HTTP requests and responses as transports and endpoints see them. There is one adapter for each kind of HTTP server:
 * `src/server/node-exchange.ts` for `node:http`, `src/server/http2-exchange.ts` for HTTP/2 streams, `src/server/fetch.ts` for servers
 * with `Request` and `Response`.
 */
import type { Connection } from '../model/connection.js'
import type { SseFeed } from './sse.js'
import type { HeaderReader } from './transport.js'

/** One HTTP request. */
export interface Exchange {
  readonly method: string
  /** Host and port that the request is addressed to. */
  readonly authority: string
  /** The path as it was sent, without the query. Dot segments are resolved. */
  readonly path: string
  /** The query without `?`; empty if there is none. */
  readonly query: string
  /** The absolute URL. Computed on use. */
  readonly url: string
  readonly headers: HeaderReader
  /** The connection, if it is known. Created on use. */
  readonly connection: Connection | undefined
  /** Aborts when the caller disconnects before the answer is complete. Created on use. */
  readonly signal: AbortSignal
  /**
   * Reads the body, once. Throws `PAYLOAD_TOO_LARGE` as soon as it exceeds `maxBytes`, `BodyInterrupted` if it ends early,
   * and `TypeError` if the application has read it already.
   */
  readBody(maxBytes: number): Promise<Uint8Array>
  /**
   * The request for handlers with `Request` and `Response`. Reading its body fails in the same cases as `readBody`; a
   * body that is not read there can be read here.
   */
  toRequest(maxBytes: number): Request
}

/** The response to an exchange. */
export interface HttpAnswer {
  readonly status: number
  /** Names are in lower case. Adapters add `content-length`. */
  readonly headers: AnswerHeaders
  /** Values of `set-cookie`, the only header whose values cannot be joined. */
  readonly cookies?: readonly string[]
  /** A feed is written event by event. Handlers with `Request` and `Response` answer with a stream. */
  readonly body?: string | Uint8Array | AnyFeed | ReadableStream<Uint8Array>
}

/** An `SseFeed` with any type of element. */
type AnyFeed = Pick<SseFeed, 'start' | 'resume' | 'cancel'>

export type AnswerHeaders = Readonly<Record<string, string>>

/** Answers a request. Returns no promise if the answer is there. */
export type AnswerExchange = (exchange: Exchange) => HttpAnswer | Promise<HttpAnswer>

export const jsonHeaders: AnswerHeaders = Object.freeze({ 'content-type': 'application/json' })

/** An answer with further headers. */
export function withHeaders(answer: HttpAnswer, headers: AnswerHeaders): HttpAnswer {
  return { ...answer, headers: { ...answer.headers, ...headers } }
}
