/**
 * The server's side of a dialect, the wire format of one protocol version: method names, routes, JSON shapes, errors,
 * card. Pure data and pure functions. An operation that a dialect lacks is absent from its tables; the server then
 * answers "method not found".
 *
 * A dialect has a form for each binding. Forms may share their codecs (v1.0 has the same JSON everywhere) or not (v0.3
 * differs between JSON-RPC and protobuf). All other code uses a dialect through this contract only.
 */
import type { AgentCard, Binding, CardSigningForm } from '../model/agent-card.js'
import type { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import { isObject } from '../model/is-object.js'
import type { Operation } from '../model/operations.js'
import type { CallTraits, RequestOf, ResultOf, StreamItem } from '../model/service.js'
import type { Task } from '../model/task.js'

/** The names of the dialects that come with the package. */
export const dialectNames = ['v1', 'v0.3', 'v0.1', 'v0.1-go', 'task-rest', 'invoke', 'chat-rpc'] as const
/** The name of a dialect: one of `dialectNames`, or that of a dialect of your own. */
export type DialectName = (typeof dialectNames)[number] | (string & Record<never, never>)

/** Versions before 1.0. Their clients rarely state a version, and often a wrong one. */
export const earlyVersions: readonly string[] = ['0.1', '0.2', '0.3']

/** Facts that the server's and the client's side of a dialect share. */
export interface DialectFacts {
  readonly name: DialectName
  /** Protocol versions as `Major.Minor` that callers name for this dialect, its own first. Empty: it is recognised by its paths. */
  readonly versions: readonly string[]
  /** Other versions that clients of this dialect are known to state. */
  readonly acceptedVersions?: readonly string[]
  /** Callers name the version in `A2A-Version`, and clients send the first one. Default: calls without a version are understood. */
  readonly requiresVersion?: boolean
  /** The header that names extensions, in requests and responses. */
  readonly extensionsHeader: string
  /** The version of this dialect's cards, and of its interfaces in other cards. Absent: no card names this dialect. */
  readonly cardVersion?: string
  /** Cards list the interfaces of this dialect. Default: its clients read one address only. */
  readonly isListed?: boolean
  /** Requests can name a tenant. */
  readonly hasTenants?: boolean
}

/** The dialect that a user names by its name or by a version: `v1`, `1.0`, `0.2`. */
export function dialectNamed<D extends DialectFacts>(given: string, dialects: Iterable<D>): D | undefined {
  const known = [...dialects]
  const version = given.replace(/^v(?=\d)/, '')
  return known.find(({ name }) => name === given) ?? known.find(({ versions }) => versions.includes(version))
}

const isNamed = (value: unknown) => isObject(value) && !isMap(value)
const isMap = (value: unknown) => value instanceof Map

/** Forms, their members, the check of the member's type, and the name of that type. */
const clientMembers = [
  ['jsonrpc', 'methods', isNamed, 'an object'],
  ['jsonrpc', 'operations', isNamed, 'an object'],
  ['rest', 'operations', isNamed, 'an object'],
  ['grpc', 'rpcs', isNamed, 'an object'],
  ['grpc', 'operations', isNamed, 'an object'],
] as const
const serverMembers = [
  ...clientMembers.filter(([, member]) => member === 'operations'),
  ['jsonrpc', 'methods', isMap, 'a Map'],
  ['rest', 'routes', Array.isArray, 'a list'],
  ['grpc', 'rpcs', isMap, 'a Map'],
] as const

/** Throws a `TypeError` that names the member unless a dialect of the user has the members that every call needs. */
export function assertDialect(dialect: unknown, side: 'server' | 'client'): void {
  if (!isObject(dialect) || typeof dialect.name !== 'string' || dialect.name === '')
    throw new TypeError('A dialect must be an object with a `name`: write `dialects: [myDialect]`')
  const { name, versions, defaultPath } = dialect
  if (!Array.isArray(versions) || versions.some((each) => typeof each !== 'string'))
    throw new TypeError(`Invalid dialect ${name}: \`versions\` must be a list of strings, such as ['7.0']`)
  if (defaultPath !== undefined && typeof defaultPath !== 'string')
    throw new TypeError(`Invalid dialect ${name}: \`defaultPath\` must be a string, such as '/legacy'`)
  for (const [form, member, isRight, wanted] of side === 'server' ? serverMembers : clientMembers) {
    const members = dialect[form]
    if (members !== undefined && !(isObject(members) && isRight(members[member])))
      throw new TypeError(`Invalid dialect ${name}: \`${form}.${member}\` must be ${wanted}`)
  }
}

/** Throws a `TypeError` if two different dialects have one name. */
export function assertDistinctNames(dialects: readonly DialectFacts[]): void {
  const byName = new Map<string, DialectFacts>()
  for (const dialect of dialects) {
    const { name } = dialect
    if ((byName.get(name) ?? dialect) !== dialect)
      throw new TypeError(`Two dialects are called ${name}: give one of them another name`)
    byName.set(name, dialect)
  }
}

const formBindings = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' } as const satisfies Record<string, Binding>

/** The bindings of a dialect's forms, in the order in which it states them: the first one is its default. */
export function bindingsOf(
  forms: { readonly [form in keyof typeof formBindings]?: object | undefined },
): readonly Binding[] {
  return (Object.keys(forms) as (keyof typeof formBindings)[]).flatMap((form) =>
    forms[form] && form in formBindings ? [formBindings[form]] : [],
  )
}

/** Facts about a call for the codecs. Codecs are deterministic: the same facts give the same result. */
export interface CallFacts {
  /** Generates ids, for dialects whose messages have none. */
  newId(): string
  /** Returns a request header or gRPC metadata, such as `user-agent` or `accept`. */
  header(name: string): string | null
}

/** One operation in one form of a dialect, with the types of its request and its result. */
export interface OperationCodec<Request = unknown, Result = unknown> {
  /** Decodes the request, or throws `INVALID_PARAMS` with the paths of the faults. */
  decode(params: unknown, facts: CallFacts): Request
  /** Traits of this request, such as a task id that the client chose. */
  traits?(params: unknown): CallTraits
  /** The operation to run instead, if one method has two meanings: setting an empty config is a deletion. */
  instead?(params: unknown): Operation | undefined
  /** Query parameters that are flags, under every accepted name. */
  readonly booleanParameters?: readonly string[]
  /** Encodes the result as JSON text. `params` are the request's, before decoding. May throw an `A2AError`. */
  encode(result: Result, params: unknown, facts?: CallFacts): string
}

/** The codecs of a form. Operations that are absent are not supported. */
export type OperationCodecs = { readonly [O in Operation]?: OperationCodec<RequestOf<O>, ResultOf<O>> }

/** The call that a stream answers. */
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
  /** Whether the frame is sent without the envelope of the binding. */
  readonly isBare?: boolean
}

/** Encodes the events of one stream as frames, in order. It may keep state: there is one encoder per stream. */
export interface StreamEncoder {
  /** Text is one frame in the envelope of the binding. An empty list sends nothing for this event. */
  encode(item: StreamItem): string | readonly Frame[]
  /** Frames after the last event of a stream that ended normally. */
  end?(): readonly Frame[]
  /** Frames at the end of a failed stream. Default: the error in the form of the binding. */
  encodeError?(error: A2AError): readonly Frame[]
}

interface Form {
  readonly operations: OperationCodecs
  createStreamEncoder(call: StreamCall): StreamEncoder
}

/** The server's form of a dialect over JSON-RPC. */
export interface JsonRpcForm extends Form {
  readonly methods: ReadonlyMap<string, Operation>
  /** Paths below the agent's address. Default: the agent's address itself. */
  readonly paths?: readonly string[]
  /** Accepted values of `jsonrpc`. Default: `2.0` only. */
  readonly envelopeVersions?: readonly unknown[]
  /**
   * Whether successful calls without an `id` are answered with 204 and no body. Default: they get a response like all
   * others.
   */
  readonly hasNotifications?: boolean
  /** Whether an error before the first event is sent as one server-sent event. Default: never. */
  sendsErrorAsEvent?(operation: Operation | undefined, facts: CallFacts): boolean
  /** The members of JSON-RPC's `error`. */
  encodeError(error: A2AError): { readonly code: number; readonly message: string; readonly data?: unknown }
  /** The HTTP status of an error that is not sent with 200 (R-ERR-12). */
  httpStatus(error: A2AError): number
}

/** An HTTP+JSON route. Segments in braces are parameters: `/tasks/{id}:cancel`. */
export interface RestRoute {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly operation: Operation
  /** A codec for this route alone. */
  readonly codec?: OperationCodec
  /** The status of an error, if this route has its own. */
  readonly httpStatus?: (error: A2AError) => number | undefined
}

/** The server's form of a dialect over HTTP+JSON. */
export interface RestForm extends Form {
  readonly routes: readonly RestRoute[]
  /** The media type for callers that accept it explicitly; all others get `application/json`. */
  readonly mediaType?: string
  /** Whether a known path refuses other methods with 405 and `Allow`. Default: 404, as for an unknown path. */
  readonly refusesOtherMethods?: boolean
  encodeError(error: A2AError): { readonly status: number; readonly body: unknown }
}

/**
 * The server's form of a dialect over gRPC. Codecs use plain objects in ProtoJSON's shape; the transport converts them
 * to bytes.
 */
export interface GrpcForm {
  /** Full name: `lf.a2a.v1.A2AService`. */
  readonly service: string
  readonly rpcs: ReadonlyMap<string, Operation>
  readonly operations: GrpcCodecs
  /** Creates the encoder of one stream: each event becomes a message. */
  createStreamEncoder(call: StreamCall): (item: StreamItem) => object
  /** The name of a gRPC status: `NOT_FOUND`. */
  status(error: A2AError): string
  /** The text of a gRPC status. Default: the error's message. */
  statusMessage?(error: A2AError): string
  /** Details for `google.rpc.Status`, each with its `@type` (R-ERR-6). */
  errorDetails(error: A2AError): readonly object[]
}

/** One rpc: like `OperationCodec`, but `encode` returns objects. */
export interface GrpcCodec<Request = unknown, Result = unknown> {
  decode(params: unknown, facts: CallFacts): Request
  encode(result: Result, params: unknown, facts?: CallFacts): object
}

/** The codecs of a gRPC form. */
export type GrpcCodecs = { readonly [O in Operation]?: GrpcCodec<RequestOf<O>, ResultOf<O>> }

/** The payload of webhooks in a dialect: each event (RM-PUSH-1), or each status with the whole task (RM-PUSH-2). */
export type PushForm = { readonly contentType: string } & (
  | { encodeEvent(event: StreamResponse): string }
  | { encodeTask(task: Task): string }
)

/** A value that is lost when a dialect encodes or decodes it, for the documentation. */
export interface Limitation {
  readonly direction: 'in' | 'out'
  readonly what: string
  /** The compensation; absent if there is none. */
  readonly remedy?: string
}

/** The card that readers of a dialect expect. */
export interface ServerCardForm {
  /** Encodes the card; undefined if it lists no interface that this dialect can use. */
  encode(card: AgentCard): object | undefined
  /** Form of the card's signatures. Absent: cards of this dialect have no signatures. */
  readonly signing?: CardSigningForm
  /** Merges a card of this dialect into the newest dialect's card, so that readers of both understand it. */
  merge?(newest: AgentCard, own: object): object
}

/** A request that a newcomer can send with `curl`. */
export interface ExampleRequest {
  /** Below the agent's address. */
  readonly path: string
  readonly body: object
}

/** The body of an example request in JSON-RPC. */
export function exampleCall(method: string, params: object): object {
  return { jsonrpc: '2.0', id: 1, method, params }
}

/** The wire format of one protocol version, as the server uses it. */
export interface Dialect extends DialectFacts {
  /** Whether servers offer it by default. */
  readonly isDefault?: boolean
  /** Default path below the agent's, for dialects whose requests cannot be distinguished from another dialect's. */
  readonly defaultPath?: string
  readonly jsonrpc?: JsonRpcForm
  readonly rest?: RestForm
  readonly grpc?: GrpcForm
  /** Traits of every call in this dialect. */
  readonly traits?: CallTraits
  readonly push?: PushForm
  readonly card?: ServerCardForm
  readonly example: ExampleRequest
  readonly limitations: readonly Limitation[]
}
