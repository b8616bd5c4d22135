/**
 * How one version of the protocol spells the model: method names, routes, shapes, errors, card.
 * Pure data and pure functions; what a version lacks is absent from its tables, and "method not
 * found" follows from that.
 *
 * A dialect has a form for each binding it is spoken over. Two forms may share their codecs (v1.0's
 * do: its JSON is the same everywhere) or not (0.3 spells JSON-RPC one way and its protobuf another).
 */
import type { AgentCard } from '../model/agent-card.js'
import type { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { Operation } from '../model/operations.js'
import type { CallTraits, StreamItem } from '../model/service.js'
import type { Task } from '../model/task.js'

export const dialectNames = ['v1', 'v0.3', 'v0.1', 'v0.1-go', 'task-rest', 'invoke', 'chat-rpc'] as const
export type DialectName = (typeof dialectNames)[number]

/** Facts about the call that codecs may use. The same facts give the same result. Transports make them in one place. */
export interface CallFacts {
  /** For dialects whose messages need no id. */
  newId(): string
  /** A request header, or gRPC metadata: `user-agent`, `accept`. */
  header(name: string): string | null
}

/** One operation in one form of a dialect. */
export interface OperationCodec {
  /** Reads the request, or throws `INVALID_PARAMS` with the paths of what is wrong. */
  decode(params: unknown, facts: CallFacts): unknown
  /** What this request asks for beside its content: a task id of its own, for one. */
  traits?(params: unknown): CallTraits
  /** The operation that is really meant, where one name stands for two: an empty config is a deletion. */
  instead?(params: unknown): Operation | undefined
  /** Query parameters that are flags, in every accepted spelling. */
  readonly booleanParameters?: readonly string[]
  /** The result as JSON text. `params` is what the request was decoded from. May throw an `A2AError`. */
  encode(result: unknown, params: unknown, facts?: CallFacts): string
}

/** What a stream is the answer to. */
export interface StreamCall {
  readonly operation: Operation
  readonly params: unknown
  newId(): string
  readonly facts?: CallFacts
}

/** One server-sent event. */
export interface Frame {
  readonly data: string
  /** The `event:` line. */
  readonly event?: string
  /** Not to be put into the envelope of the binding. */
  readonly isBare?: boolean
}

/** Turns the events of one stream into its frames, in order. It may keep state: a stream is read once. */
export interface StreamEncoder {
  /** One text: one frame in the envelope of the binding. None: nothing to say about this event. */
  encode(item: StreamItem): string | readonly Frame[]
  /** What stands after the last event of a stream that ended well. */
  end?(): readonly Frame[]
  /** What a broken stream says last. Default: the error, as the binding spells it. */
  encodeError?(error: A2AError): readonly Frame[]
}

interface Form {
  readonly operations: { readonly [O in Operation]?: OperationCodec }
  createStreamEncoder(call: StreamCall): StreamEncoder
}

export interface JsonRpcForm extends Form {
  readonly methods: ReadonlyMap<string, Operation>
  /** Paths of its own below the agent's. Default: the agent's address. */
  readonly paths?: readonly string[]
  /** What `jsonrpc` may be. Default: `2.0` only. */
  readonly envelopeVersions?: readonly unknown[]
  /** Calls without an `id` that succeed are answered with 204 and no body. Default: they are answered like all others. */
  readonly hasNotifications?: boolean
  /** Whether an error before the first event is sent as one server-sent event. Default: never. */
  sendsErrorAsEvent?(operation: Operation | undefined, facts: CallFacts): boolean
  /** The members of JSON-RPC's `error`. */
  encodeError(error: A2AError): { readonly code: number; readonly message: string; readonly data?: unknown }
  /** The HTTP status of an error that keeps one (R-ERR-12). */
  httpStatus(error: A2AError): number
}

/** An HTTP+JSON route. Segments in braces are parameters: `/tasks/{id}:cancel`. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly operation: Operation
  /** A codec for this route alone. */
  readonly codec?: OperationCodec
  /** The status of an error, where this route has its own. */
  readonly httpStatus?: (error: A2AError) => number | undefined
}

export interface RestForm extends Form {
  readonly routes: readonly Route[]
  /** The media type for callers that name it; all others get `application/json`. */
  readonly mediaType?: string
  /** Paths refuse methods that they do not have with 405 and `Allow`. Default: 404, as for an unknown path. */
  readonly refusesOtherMethods?: boolean
  encodeError(error: A2AError): { readonly status: number; readonly body: unknown }
}

/** Codecs here take and give plain objects in ProtoJSON's shape; bytes are the transport's business. */
export interface GrpcForm {
  /** Full name: `lf.a2a.v1.A2AService`. */
  readonly service: string
  readonly rpcs: ReadonlyMap<string, Operation>
  readonly operations: { readonly [O in Operation]?: GrpcCodec }
  /** For each stream: events into messages. */
  createStreamEncoder(call: StreamCall): (item: StreamItem) => object
  /** The name of a gRPC status: `NOT_FOUND`. */
  status(error: A2AError): string
  /** The text of a gRPC status. Default: the error's message. */
  statusMessage?(error: A2AError): string
  /** What goes into `google.rpc.Status`, each with its `@type` (R-ERR-6). */
  errorDetails(error: A2AError): readonly object[]
}

/** One rpc: like `OperationCodec`, but objects go out rather than text. */
export interface GrpcCodec {
  decode(params: unknown, facts: CallFacts): unknown
  encode(result: unknown, params: unknown, facts?: CallFacts): object
}

/**
 * How a webhook that was registered in this dialect is told (RM-PUSH-1): of every event, or of every status with
 * the whole task as it stood then (RM-PUSH-2).
 */
export type PushForm = { readonly contentType: string } & (
  | { encodeEvent(event: StreamResponse): string }
  | { encodeTask(task: Task): string }
)

/** Something that does not survive the way into or out of a dialect, for the documentation. */
export interface Loss {
  readonly direction: 'in' | 'out'
  readonly what: string
  /** What is done about it; absent: nothing can be. */
  readonly remedy?: string
}

export interface Dialect {
  readonly name: DialectName
  /** The versions its callers may name, as `Major.Minor`; the first one is its own. None: it is known by its paths. */
  readonly versions: readonly string[]
  readonly jsonrpc?: JsonRpcForm
  readonly rest?: RestForm
  readonly grpc?: GrpcForm
  /** What holds for every call in this dialect. */
  readonly traits?: CallTraits
  /** The header that names extensions, in and out. */
  readonly extensionsHeader: string
  readonly push?: PushForm
  /** The card its readers expect; absent when nothing in the card can be reached in this dialect. */
  encodeCard?(card: AgentCard): object | undefined
  readonly losses: readonly Loss[]
}
