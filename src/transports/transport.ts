/**
 * The inputs of server-side transports, and the reading of headers that all bindings share. A transport knows the
 * `Dialect` contract, names no version, and calls an `AgentService`.
 */
import type { CallFacts, Dialect } from '../dialects/dialect.js'
import type { Binding } from '../model/agent-card.js'
import { A2AError, clip } from '../model/errors.js'
import type { Operation } from '../model/operations.js'
import type { AgentService, CallContext, Caller, CallTraits } from '../model/service.js'
import { readTraceContext } from '../model/trace-context.js'
import type { CallObserver, CallStart, CallTracker } from './call-record.js'
import type { RequestLimits } from './read-json.js'
import type { Heartbeats } from './sse.js'

/** The inputs of a server-side transport: one agent, as it is served over one binding. */
export interface BindingHandler {
  readonly service: AgentService
  /** Dialects that are served, in order of preference. */
  readonly dialects: readonly Dialect[]
  /** Encodes the error of a call whose own dialect fails to. */
  readonly newestDialect: Dialect
  /** Accept calls without a version if only one dialect has their method (RM-DET-1). */
  readonly assumeV1: boolean
  /** Extensions the card declares. */
  readonly extensions: readonly { readonly uri: string; readonly isRequired: boolean }[]
  /** Whether the tenant exists and the caller may use it. */
  readonly hasTenant: (tenant: string, caller: Caller) => boolean
  readonly limits: RequestLimits
  /** The header `Vary` of answers: headers with the caller's credentials and version. */
  readonly vary: string
  readonly heartbeats: Heartbeats
  readonly newId: () => string
  /** The dialect that created a task; absent if the caller has no such task. */
  readonly createdIn: (taskId: string, incoming: IncomingCall) => Promise<string | undefined>
  /** Signs an encoded card. Absent if there is no signing key. */
  readonly signCard?: (encoded: string, dialect: Dialect) => Promise<string>
  /** Absent if neither log, metrics, traces nor audit need calls. */
  readonly observe?: CallObserver
  /** Receives errors whose cause is for the log only. */
  readonly onError: (error: A2AError) => void
}

/** Facts about a call that the server knows before the transport reads it. */
export interface IncomingCall {
  readonly caller: Caller
  /** The tenant in the path. */
  readonly tenant?: string
  /** The client's address, if it is known. */
  readonly address?: CallStart['address']
  /** The parsed body, if the router had to read it. */
  readonly body?: unknown
}

/** HTTP headers or gRPC metadata. Names may have any case; lower case is fastest. */
export interface HeaderReader {
  get(name: string): string | null
}

/** Headers that carry service parameters. CORS allows and exposes the same list. */
export const parameterHeaders = {
  version: 'A2A-Version',
  extensions: 'A2A-Extensions',
  oldExtensions: 'X-A2A-Extensions',
  idempotencyKey: 'Idempotency-Key',
  lastEventId: 'Last-Event-ID',
  traceparent: 'traceparent',
  tracestate: 'tracestate',
} as const

/** Names of headers that every call reads. Readers find names in lower case without a copy. */
const names = {
  version: 'a2a-version',
  extensions: 'a2a-extensions',
  idempotencyKey: 'idempotency-key',
  lastEventId: 'last-event-id',
} as const

/**
 * The URI of an extension: each event of a stream has its sequence number under this key in the metadata of its task,
 * status update or artifact update. A client that sends it back in `last-event-id` resumes after that event, as with
 * `id:` of server-sent events.
 */
export const positionExtension = 'urn:dragoman:stream-position:v1'

/** The version that a call names. The header wins over the query parameter (R-VER-2). */
export function readVersion(headers: HeaderReader, query = ''): string | undefined {
  const named = headers.get(names.version)
  if (named !== null) return named
  return query === '' ? undefined : (new URLSearchParams(query).get(parameterHeaders.version) ?? undefined)
}

/** Extensions that the caller names. Older dialects accept `X-A2A-Extensions` and the new header (RM-DET-6). */
function readExtensions(headers: HeaderReader, { extensionsHeader }: Dialect): readonly string[] {
  const isNewest = extensionsHeader === parameterHeaders.extensions
  const listed = (isNewest ? null : headers.get(extensionsHeader)) ?? headers.get(names.extensions)
  if (!listed) return noExtensions
  return listed
    .split(',')
    .map((uri) => uri.trim())
    .filter((uri) => uri !== '')
}

const noExtensions: readonly string[] = []

/** A call whose dialect and operation are known. */
export interface Call {
  readonly binding: Binding
  readonly dialect: Dialect
  readonly operation: Operation
  readonly codec: {
    decode(params: unknown, facts: CallFacts): unknown
    traits?(params: unknown): CallTraits
  }
  /** Input of the codec. */
  readonly params: unknown
  readonly headers: HeaderReader
  /** Absent if calls are not observed. */
  readonly watch?: CallTracker | undefined
}

/** Inputs of codecs beside the request. */
export function factsOf({ newId }: BindingHandler, headers: HeaderReader): CallFacts {
  return { newId, header: (name) => headers.get(name) }
}

/** A decoded call. */
export interface PreparedCall {
  readonly facts: CallFacts
  readonly request: unknown
  readonly context: CallContext
  /** Active extensions, for the response headers; absent if there are none. */
  readonly activated: string | undefined
}

/** Decodes a request and its headers. Shared by all bindings. */
export function prepareCall(handler: BindingHandler, incoming: IncomingCall, call: Call): PreparedCall {
  const { dialect, headers, codec, params } = call
  const caused = readTraceContext(headers)
  call.watch?.understood(call, caused)
  const extensions = assertExtensions(handler, dialect, headers)
  const facts = factsOf(handler, headers)
  const request = codec.decode(params, facts)
  const context: { -readonly [K in keyof CallContext]: CallContext[K] } = {
    caller: incoming.caller,
    dialect: dialect.name,
  }
  if (dialect.traits) Object.assign(context, dialect.traits)
  const traits = codec.traits?.(params)
  if (traits) Object.assign(context, traits)
  const tenant = tenantOf(handler, incoming, request)
  if (tenant) context.tenant = tenant
  if (extensions.length > 0) context.extensions = extensions
  const idempotencyKey = headers.get(names.idempotencyKey)
  if (idempotencyKey) context.idempotencyKey = idempotencyKey
  const lastEventId = headers.get(names.lastEventId)
  if (lastEventId && !context.cannotResume) context.resumeAfter = readEventId(lastEventId)
  call.watch?.asked(request, tenant)
  const { traceparent, tracestate } = call.watch?.begun() ?? caused
  if (traceparent !== undefined) context.traceparent = traceparent
  if (tracestate !== undefined) context.tracestate = tracestate
  return { facts, request, context, activated: activatedExtensions(handler, extensions) }
}

/** The extensions that a caller names. Throws if a required one is missing; checked before the method (R-ERR-10). */
export function assertExtensions(handler: BindingHandler, dialect: Dialect, headers: HeaderReader): readonly string[] {
  const asked = readExtensions(headers, dialect)
  for (const { uri, isRequired } of handler.extensions) {
    if (!isRequired || asked.includes(uri)) continue
    throw new A2AError('EXTENSION_SUPPORT_REQUIRED', `This agent needs the extension ${uri}`, {
      metadata: { extension: uri },
    })
  }
  return asked
}

/** Active extensions: requested and declared. Unknown ones are ignored (R-EXT-2). */
function activatedExtensions(handler: BindingHandler, asked: readonly string[]): string | undefined {
  if (asked.length === 0) return undefined
  const active = handler.extensions.filter(({ uri }) => asked.includes(uri))
  return active.length > 0 ? active.map(({ uri }) => uri).join(', ') : undefined
}

function readEventId(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value)
  throw new A2AError(
    'INVALID_PARAMS',
    `Last-Event-ID: ${JSON.stringify(value.slice(0, 40))} is not an event of this server`,
    {
      violations: [{ field: 'Last-Event-ID', description: 'is not an event of this server' }],
    },
  )
}

/** The tenant of a call. The path wins, and the request must not name another (R-TEN-2). */
function tenantOf(handler: BindingHandler, incoming: IncomingCall, decoded: unknown): string | undefined {
  const named = (decoded as { readonly tenant?: string }).tenant
  if (incoming.tenant !== undefined && named !== undefined && named !== incoming.tenant) {
    const description = 'names another tenant than the path'
    throw new A2AError('INVALID_PARAMS', `tenant: ${description}`, { violations: [{ field: 'tenant', description }] })
  }
  const tenant = incoming.tenant ?? named
  assertTenant(handler, { tenant, caller: incoming.caller })
  return tenant
}

/** Throws unless the caller may use the tenant. */
export function assertTenant(
  { hasTenant }: Pick<BindingHandler, 'hasTenant'>,
  { tenant, caller }: { readonly tenant?: string | undefined; readonly caller: Caller },
): void {
  if (tenant === undefined || hasTenant(tenant, caller)) return
  throw new A2AError('TASK_NOT_FOUND', `Tenant not found: ${clip(tenant)}`, { metadata: { tenant: clip(tenant) } })
}
