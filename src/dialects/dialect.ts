/**
 * How one version of the protocol spells the model: method names, routes, shapes, errors, card.
 * Pure data and pure functions; what a version lacks is absent from its tables, and "method not
 * found" follows from that.
 */
import type { AgentCard } from '../model/agent-card.js'
import type { A2AError, ErrorCode } from '../model/errors.js'
import type { Operation } from '../model/operations.js'
import type { StreamItem } from '../model/service.js'

/** One operation in one dialect. */
export interface OperationCodec {
  /** Reads the request, or throws `INVALID_PARAMS` with the paths of what is wrong. */
  decode(params: unknown): unknown
  /** Query parameters that are flags, in every accepted spelling. */
  readonly booleanParameters?: readonly string[]
  /** The result as JSON text. */
  encode(result: unknown): string
}

/** An HTTP+JSON route. Segments in braces are parameters: `/tasks/{id}:cancel`. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly operation: Operation
}

/** How an error is spelled on each binding. */
export interface ErrorSpelling {
  readonly jsonrpc: number
  readonly http: number
  readonly grpc: string
}

export interface Dialect {
  /** `Major.Minor`, such as `1.0`. */
  readonly version: string
  /** JSON-RPC methods. */
  readonly methods: ReadonlyMap<string, Operation>
  /** HTTP+JSON routes. */
  readonly routes: readonly Route[]
  readonly operations: { readonly [O in Operation]?: OperationCodec }
  /** For each stream: turns events into JSON text, in order. */
  createStreamEncoder(): (item: StreamItem) => string
  readonly errors: Readonly<Record<ErrorCode, ErrorSpelling>>
  /** The details of an error, as JSON-RPC `data` and the REST body carry them. */
  errorDetails(error: A2AError): readonly object[]
  /** The card this dialect's clients read. */
  encodeCard(card: AgentCard): object
}
