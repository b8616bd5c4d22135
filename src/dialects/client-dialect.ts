/**
 * The client's side of a dialect: it encodes requests and decodes responses. It is separate from the server's side
 * (`dialect.ts`), so that neither bundle contains the other's tables. It is pure: missing values, such as message ids,
 * come from `ClientFacts`.
 *
 * Decoders throw `A2AError` (`INVALID_PARAMS`, with the paths) for malformed responses; the transport turns that into
 * `INVALID_AGENT_RESPONSE`. They tolerate known deviations of peers.
 */
import type { AgentCard, Binding } from '../model/agent-card.js'
import type { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { Operation } from '../model/operations.js'
import type { RequestOf, ResultOf } from '../model/service.js'
import type { DialectFacts } from './dialect.js'

/** Values that a client dialect needs to write requests. */
export interface ClientFacts {
  newId(): string
  /**
   * Encoding of file content, for dialects whose peers differ (R3-PB-12). Default: base64 text is written, and the
   * peer's encoding is guessed.
   */
  readonly fileBytes?: 'raw' | 'base64' | undefined
}

/** One operation: encodes the request as JSON-RPC's `params` or as a protobuf message, and decodes the response. */
export interface RequestCodec<Request = unknown, Result = unknown> {
  encode(request: Request, facts: ClientFacts): unknown
  /** `request` is the original request, for responses that do not repeat its values. */
  decode(answer: unknown, request: Request, facts: ClientFacts): Result
}

/** The codecs of a form over JSON-RPC or gRPC. */
export type RequestCodecs = { readonly [O in Operation]?: RequestCodec<RequestOf<O>, ResultOf<O>> }

/** An HTTP request that a dialect wrote: method, path, query and body. */
export interface RestRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path below the interface's address, with encoded parameters. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Writes the HTTP requests of one operation. */
export interface RestRequestCodec<Request = unknown, Result = unknown> {
  encode(request: Request, facts: ClientFacts): RestRequest
  decode(answer: unknown, request: Request, facts: ClientFacts): Result
}

/** The codecs of a form over HTTP+JSON. */
export type RestRequestCodecs = { readonly [O in Operation]?: RestRequestCodec<RequestOf<O>, ResultOf<O>> }

/** One server-sent event or stream message, out of the envelope of its binding. */
export interface IncomingFrame {
  /** The `event:` line, if present. */
  readonly event?: string
  /** Parsed JSON; text that is not JSON (`[DONE]`) unchanged. */
  readonly data: unknown
}

/** Decodes one stream. It may keep state, such as the task that v0.1 never sends. */
export interface StreamDecoder {
  decode(frame: IncomingFrame): readonly StreamResponse[]
  /** Whether the peer has ended the stream (`final: true`, `[DONE]`); the connection may still be open. */
  readonly isOver: boolean
  /**
   * Whether a chunk of an artifact that differs from the last frame only in its text decodes to the same event with that
   * text, and changes nothing else in the decoder. The transport then copies the last event. Default false.
   */
  readonly canRepeatChunks?: boolean
}

/** The request that a stream answers. */
export interface StreamRequest {
  readonly operation: Operation
  /** The request in the model's form. */
  readonly request: unknown
  /** The request as sent: v0.1 task ids are generated when the request is encoded. */
  readonly sent: unknown
  readonly facts: ClientFacts
}

interface ClientForm<Codecs> {
  /** Operations that are absent fail with `UNSUPPORTED_OPERATION`, without a call to the peer. */
  readonly operations: Codecs
  createStreamDecoder(stream: StreamRequest): StreamDecoder
}

/** The client's form of a dialect over JSON-RPC. */
export interface JsonRpcClientForm extends ClientForm<RequestCodecs> {
  readonly methods: { readonly [O in Operation]?: string }
  /** Paths below the interface's address, for methods with a path of their own. */
  readonly paths?: { readonly [O in Operation]?: string }
  /**
   * Path of the endpoint if the interface's address has none. Cards of agents with several dialects list such
   * addresses.
   */
  readonly defaultPath?: string
  /** Decodes JSON-RPC's `error`. `status` is the HTTP status; absent inside a stream. */
  decodeError(
    error: { readonly code: number; readonly message: string; readonly data?: unknown },
    status?: number,
  ): A2AError
}

/** The client's form of a dialect over HTTP+JSON. */
export interface RestClientForm extends ClientForm<RestRequestCodecs> {
  /** Decodes the body of an error response. `body` is parsed JSON, or text. */
  decodeError(status: number, body: unknown): A2AError
}

/** The client's form of a dialect over gRPC. */
export interface GrpcClientForm extends ClientForm<RequestCodecs> {
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
   * dialect has, `likely` and `possible` if it states none. The dialect with the highest certainty reads the card;
   * among equals, the first.
   */
  recognise(card: Json): 'certain' | 'likely' | 'possible' | undefined
  /** Reads the card into the model. Throws `A2AError` with the paths of the faults. */
  decode(card: unknown): AgentCard
  /** Dialects to try too if the card states no version (RM-CARD-3). */
  readonly alternatives?: readonly string[]
}

/** The part of a client's dialect that chooses an interface. The codecs of older dialects are loaded after that. */
export interface DialectOutline extends DialectFacts {
  /** Bindings of its forms; the first one is its default. */
  readonly bindings: readonly Binding[]
  /** Paths that name the dialect if an address ends in one of them, for dialects without cards. */
  readonly paths?: readonly string[]
  readonly card?: Pick<ClientCardForm, 'recognise' | 'alternatives'>
  readonly omitsTaskOnSubscribe?: boolean
}

/** A dialect as the client uses it: how requests are written and responses are read. */
export interface ClientDialect extends DialectFacts {
  readonly jsonrpc?: JsonRpcClientForm
  readonly rest?: RestClientForm
  readonly grpc?: GrpcClientForm
  /**
   * Cards written in this dialect. If absent, and cards do not list the dialect either, users pass the address of the
   * agent.
   */
  readonly card?: ClientCardForm
  /** Whether streams of `subscribeToTask` do not begin with the task. */
  readonly omitsTaskOnSubscribe?: boolean
  /**
   * The body of a webhook call as the data of a stream frame; undefined if the body is not in this dialect (RM-PUSH-3).
   */
  toPushFrame?(body: Json): unknown
}

/** Whether agents with this dialect have a card: one in this dialect, or one that lists it. */
export function hasCard({ card, isListed }: DialectOutline): boolean {
  return card !== undefined || isListed === true
}

/** Whether tasks can be read after the call that created them. */
export function hasTasks({ jsonrpc, rest, grpc }: ClientDialect): boolean {
  return [jsonrpc, rest, grpc].some((form) => form?.operations.getTask)
}

/** The value of `A2A-Version` that clients send; absent: the header is not sent. */
export function versionHeader({ requiresVersion, versions }: ClientDialect): string | undefined {
  return requiresVersion ? versions[0] : undefined
}
