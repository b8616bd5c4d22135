/**
 * What a server-side transport is given. A transport moves bytes: it knows the `Dialect` contract and
 * never names a version; it calls a service and never knows what is behind it.
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
  /** Offered here, in order of preference. */
  readonly dialects: readonly Dialect[]
  /** Serve calls without a version in the dialect that alone has their method (RM-DET-1). */
  readonly assumeV1: boolean
  /** Extensions the card declares. */
  readonly extensions: readonly { readonly uri: string; readonly isRequired: boolean }[]
  /** Whether there is such a tenant, as far as this caller may know. */
  readonly hasTenant: (tenant: string, caller: Caller) => boolean
  readonly limits: RequestLimits
  /** The header `Vary` of answers: headers with the caller's credentials and version. */
  readonly vary: string
  readonly heartbeats: Heartbeats
  readonly newId: () => string
  /** The dialect a task was created in; absent when it is not there, or not the caller's. */
  readonly createdIn: (taskId: string, arrival: IncomingCall) => Promise<string | undefined>
  /** Signs a card that a dialect has spelled, as JSON; absent where there is nothing to sign with. */
  readonly signCard?: (spelled: string, dialect: Dialect) => Promise<string>
  /** Absent when nobody wants to know of calls. */
  readonly observe?: CallObserver
  /** Told of errors whose cause no caller may see. */
  readonly onError: (error: A2AError) => void
}

/** What is settled before a transport is asked: who calls, and which tenant the path names. */
export interface IncomingCall {
  readonly caller: Caller
  readonly tenant?: string
  /** Where the call comes from, as far as that is known. */
  readonly address?: CallStart['address']
  /** The parsed body, when somebody had to look at it already. */
  readonly body?: unknown
}

/** HTTP headers or gRPC metadata. */
export interface HeaderReader {
  get(name: string): string | null
}

export type ServerTransport = (request: Request, arrival: IncomingCall) => Promise<Response>

/** Headers that carry service parameters in and out; CORS exposes the same list. */
export const parameterHeaders = {
  version: 'A2A-Version',
  extensions: 'A2A-Extensions',
  oldExtensions: 'X-A2A-Extensions',
  idempotencyKey: 'Idempotency-Key',
  lastEventId: 'Last-Event-ID',
  traceparent: 'traceparent',
  tracestate: 'tracestate',
} as const

/**
 * An extension: every event of a stream says its place in the task's log, a number, under this key in
 * the metadata of the task, status update or artifact update. Sent back as the metadata entry
 * `last-event-id`, it resumes the stream behind that event, as `id:` does on server-sent events.
 */
export const positionExtension = 'urn:dragoman:stream-position:v1'

/** The version a call names: the header wins over the query parameter (R-VER-2). */
export function readVersion(headers: HeaderReader, url = ''): string | undefined {
  const named = headers.get(parameterHeaders.version)
  if (named !== null) return named
  // Most requests have no query; parsing one costs more than looking for it.
  return url.includes('?') ? (new URL(url).searchParams.get(parameterHeaders.version) ?? undefined) : undefined
}

/** Extensions the caller names. `X-A2A-Extensions` means something to 0.x only, which take both (RM-DET-6). */
function readExtensions(headers: HeaderReader, { extensionsHeader }: Dialect): readonly string[] {
  const listed =
    headers.get(extensionsHeader) ??
    (extensionsHeader === parameterHeaders.extensions ? null : headers.get(parameterHeaders.extensions))
  if (!listed) return noExtensions
  return listed
    .split(',')
    .map((uri) => uri.trim())
    .filter((uri) => uri !== '')
}

const noExtensions: readonly string[] = []

/** A call as far as its transport understands it. */
export interface Call {
  readonly binding: Binding
  readonly dialect: Dialect
  readonly operation: Operation
  readonly codec: {
    decode(params: unknown, facts: CallFacts): unknown
    traits?(params: unknown): CallTraits
  }
  /** What the dialect decodes. */
  readonly params: unknown
  readonly headers: HeaderReader
  /** Absent when nobody wants to know. */
  readonly watch?: CallTracker | undefined
}

/** The facts that codecs may use, from the headers or the metadata of the call. */
export function factsOf({ newId }: BindingHandler, headers: HeaderReader): CallFacts {
  return { newId, header: (name) => headers.get(name) }
}

/** A call ready to be made. */
export interface PreparedCall {
  readonly facts: CallFacts
  readonly request: unknown
  readonly context: CallContext
  /** Extensions in effect, for the answer's headers; absent when there are none. */
  readonly activated: string | undefined
}

/** Reads a request and everything that came beside it: the part that is the same on every binding. */
export function prepareCall(endpoint: BindingHandler, arrival: IncomingCall, call: Call): PreparedCall {
  const { dialect, headers, codec, params } = call
  const caused = readTraceContext((name) => headers.get(name))
  call.watch?.understood(call, caused)
  const extensions = assertExtensions(endpoint, dialect, headers)
  const facts = factsOf(endpoint, headers)
  const request = codec.decode(params, facts)
  const context: { -readonly [K in keyof CallContext]: CallContext[K] } = {
    caller: arrival.caller,
    dialect: dialect.name,
    ...dialect.traits,
    ...codec.traits?.(params),
  }
  const tenant = tenantOf(endpoint, arrival, request)
  if (tenant) context.tenant = tenant
  if (extensions.length > 0) context.extensions = extensions
  const idempotencyKey = headers.get(parameterHeaders.idempotencyKey)
  if (idempotencyKey) context.idempotencyKey = idempotencyKey
  const lastEventId = headers.get(parameterHeaders.lastEventId)
  if (lastEventId && !context.cannotResume) context.resumeAfter = readEventId(lastEventId)
  call.watch?.asked(request, tenant)
  const { traceparent, tracestate } = call.watch?.begun() ?? caused
  if (traceparent !== undefined) context.traceparent = traceparent
  if (tracestate !== undefined) context.tracestate = tracestate
  return { facts, request, context, activated: activatedExtensions(endpoint, extensions) }
}

/** The extensions a caller names, once the required ones are among them: checked before the method (R-ERR-10). */
export function assertExtensions(endpoint: BindingHandler, dialect: Dialect, headers: HeaderReader): readonly string[] {
  const asked = readExtensions(headers, dialect)
  for (const { uri, isRequired } of endpoint.extensions) {
    if (!isRequired || asked.includes(uri)) continue
    throw new A2AError('EXTENSION_SUPPORT_REQUIRED', `This agent needs the extension ${uri}`, {
      metadata: { extension: uri },
    })
  }
  return asked
}

/** Extensions that are in effect: asked for and declared. Unknown ones are ignored (R-EXT-2). */
function activatedExtensions(endpoint: BindingHandler, asked: readonly string[]): string | undefined {
  if (asked.length === 0) return undefined
  const active = endpoint.extensions.filter(({ uri }) => asked.includes(uri))
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

/** The tenant of a call: the path decides, and the request must not say otherwise (R-TEN-2). */
function tenantOf(endpoint: BindingHandler, arrival: IncomingCall, decoded: unknown): string | undefined {
  const named = (decoded as { readonly tenant?: string }).tenant
  if (arrival.tenant !== undefined && named !== undefined && named !== arrival.tenant) {
    const description = 'names another tenant than the path'
    throw new A2AError('INVALID_PARAMS', `tenant: ${description}`, { violations: [{ field: 'tenant', description }] })
  }
  const tenant = arrival.tenant ?? named
  assertTenant(endpoint, { tenant, caller: arrival.caller })
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
