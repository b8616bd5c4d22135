/**
 * The client's side of a dialect: requests out, answers in. The contract is apart from the server's
 * (`dialect.ts`) so that neither side carries the other's tables. Pure, like every dialect: what an answer
 * cannot tell (ids of messages that have none) is asked of `ClientFacts`.
 *
 * Decoders throw `A2AError` (`INVALID_PARAMS`, with the paths) for answers that are none; the transport
 * turns that into `INVALID_AGENT_RESPONSE`. They are lenient where peers are known to be sloppy.
 */
import type { AgentCard } from '../model/agent-card.js'
import type { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { Operation } from '../model/operations.js'
import type { DialectFacts } from './dialect.js'

/** Values that a client dialect needs to write requests. */
export interface ClientFacts {
  newId(): string
  /** Content of files, for dialects whose peers differ (R3-PB-12). Default: base64 text is written, and the peer's form is guessed. */
  readonly fileBytes?: 'raw' | 'base64' | undefined
}

/** One operation: the request as JSON-RPC's `params` or as a protobuf message, and its answer. */
export interface RequestCodec {
  encode(request: unknown, facts: ClientFacts): unknown
  /** `request` is what was asked, for answers that do not repeat it. */
  decode(answer: unknown, request: unknown, facts: ClientFacts): unknown
}

/** An HTTP request that a dialect wrote: method, path, query and body. */
export interface RestRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below the interface's address, with its parameters encoded. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Writes the HTTP requests of one operation. */
export interface RestRequestCodec {
  encode(request: unknown, facts: ClientFacts): RestRequest
  decode(answer: unknown, request: unknown, facts: ClientFacts): unknown
}

/** One server-sent event or stream message, out of the envelope of its binding. */
export interface IncomingFrame {
  /** The `event:` line, where there was one. */
  readonly event?: string
  /** Parsed JSON; text that is none (`[DONE]`) as it came. */
  readonly data: unknown
}

/** Reads one stream. It may keep state: the task that v0.1 never shows, the answer so far. */
export interface StreamDecoder {
  decode(frame: IncomingFrame): readonly StreamResponse[]
  /** The peer has said that nothing more comes (`final: true`, `[DONE]`); the connection may still be open. */
  readonly isOver: boolean
}

/** The request that a stream answers. */
export interface StreamRequest {
  readonly operation: Operation
  /** As the model has it. */
  readonly request: unknown
  /** What was sent for it: v0.1's task ids are made when a request is encoded. */
  readonly sent: unknown
  readonly facts: ClientFacts
}

interface ClientForm<Codec> {
  /** What is absent the peer cannot do: the call fails here, with `UNSUPPORTED_OPERATION`. */
  readonly operations: { readonly [O in Operation]?: Codec }
  createStreamDecoder(stream: StreamRequest): StreamDecoder
}

/** The client's form of a dialect over JSON-RPC. */
export interface JsonRpcClientForm extends ClientForm<RequestCodec> {
  readonly methods: { readonly [O in Operation]?: string }
  /** Paths below the interface's address, where a method has one of its own. */
  readonly paths?: { readonly [O in Operation]?: string }
  /** Where its endpoint is at an address that has no path: cards of agents that speak several dialects name such ones. */
  readonly usualPath?: string
  /** Reads JSON-RPC's `error`. `status` is that of HTTP; absent in the middle of a stream. */
  decodeError(
    error: { readonly code: number; readonly message: string; readonly data?: unknown },
    status?: number,
  ): A2AError
}

/** The client's form of a dialect over HTTP+JSON. */
export interface RestClientForm extends ClientForm<RestRequestCodec> {
  /** Reads the body of an answer that is no success. `body` is parsed JSON, or text. */
  decodeError(status: number, body: unknown): A2AError
}

/** The client's form of a dialect over gRPC. */
export interface GrpcClientForm extends ClientForm<RequestCodec> {
  readonly service: string
  readonly rpcs: { readonly [O in Operation]?: string }
  /** `details` are those of `google.rpc.Status`, each with its `@type`. */
  decodeError(status: string, message: string, details: readonly object[]): A2AError
}

type Json = Readonly<Record<string, unknown>>

/** The reader of a dialect's cards. */
export interface ClientCardForm {
  /**
   * Says whether a card is written in this dialect: `certain` if the card states a version or has members that no other
   * dialect has, `likely` and `possible` if it states none. The surest dialect reads the card; the first one of several.
   */
  recognise(card: Json): 'certain' | 'likely' | 'possible' | undefined
  /** Reads the card into the model. Throws `A2AError` with the paths of the faults. */
  decode(card: unknown): AgentCard
  /** Dialects to try too if the card states no version (RM-CARD-3). */
  readonly alternatives?: readonly string[]
}

/** A dialect as the client uses it: how requests are written and responses are read. */
export interface ClientDialect extends DialectFacts {
  readonly jsonrpc?: JsonRpcClientForm
  readonly rest?: RestClientForm
  readonly grpc?: GrpcClientForm
  /** Cards written in this dialect. Absent: if cards do not list the dialect either, users give the address of the agent. */
  readonly card?: ClientCardForm
  /** Streams of `subscribeToTask` do not begin with the task. */
  readonly omitsTaskOnSubscribe?: boolean
  /** The body of a webhook call as the data of a stream frame; nothing if the body is not in this dialect (RM-PUSH-3). */
  toPushFrame?(body: Json): unknown
}

/** Agents that speak this dialect have a card: one in this dialect, or one that lists it. */
export function hasCard({ card, isListed }: ClientDialect): boolean {
  return card !== undefined || isListed === true
}

/** Tasks can be read after the call that made them. */
export function hasTasks({ jsonrpc, rest, grpc }: ClientDialect): boolean {
  return [jsonrpc, rest, grpc].some((form) => form?.operations.getTask)
}

/** The value of `A2A-Version` that clients send; absent: the header is not sent. */
export function versionHeader({ requiresVersion, versions }: ClientDialect): string | undefined {
  return requiresVersion ? versions[0] : undefined
}
