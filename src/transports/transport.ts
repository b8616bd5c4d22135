/**
 * What a server-side transport is given. A transport moves bytes: it knows the `Dialect` contract and
 * never names a version; it calls a service and never knows what is behind it.
 */
import type { Dialect } from '../dialects/dialect.js'
import { negotiate } from '../dialects/negotiate.js'
import { A2AError, clip } from '../model/errors.js'
import type { AgentService, CallContext, Caller } from '../model/service.js'
import type { Heartbeats } from './sse.js'

export interface Endpoint {
  readonly service: AgentService
  /** Offered here, in order of preference. */
  readonly dialects: readonly Dialect[]
  /** Serve calls without a version in the dialect that alone has their method (RM-DET-1). */
  readonly assumeV1: boolean
  /** Extensions the card declares. */
  readonly extensions: readonly { readonly uri: string; readonly isRequired: boolean }[]
  /** Tenants that exist here; with none, a request that names one is refused. */
  readonly tenants: ReadonlySet<string>
  readonly maxBodyBytes: number
  readonly heartbeats: Heartbeats
  /** Told of errors whose cause no caller may see. */
  readonly onError: (error: A2AError) => void
}

/** What is settled before a transport is asked: who calls, and which tenant the path names. */
export interface Arrival {
  readonly caller: Caller
  readonly tenant?: string
}

export type ServerTransport = (request: Request, arrival: Arrival) => Promise<Response>

/** Headers that carry service parameters in and out; CORS exposes the same list. */
export const parameterHeaders = {
  version: 'A2A-Version',
  extensions: 'A2A-Extensions',
  idempotencyKey: 'Idempotency-Key',
  lastEventId: 'Last-Event-ID',
  traceparent: 'traceparent',
} as const

/** The service parameters of one request (R-SVC). */
export interface Parameters {
  readonly version: string | undefined
  readonly extensions: readonly string[]
}

export function readParameters(request: Request): Parameters {
  const { headers, url } = request
  // The header wins over the query parameter (R-VER-2).
  const version = headers.get(parameterHeaders.version) ?? queryVersion(url)
  const listed = headers.get(parameterHeaders.extensions)
  const extensions = listed ? listed.split(',').map((uri) => uri.trim()) : []
  return { version: version ?? undefined, extensions: extensions.filter((uri) => uri !== '') }
}

function queryVersion(url: string): string | null {
  // Most requests have no query; parsing one costs more than looking for it.
  return url.includes('?') ? new URL(url).searchParams.get(parameterHeaders.version) : null
}

/** The dialect of a call, once its required extensions are there too (R-ERR-10). */
export function chooseDialect(
  endpoint: Endpoint,
  parameters: Parameters,
  isSpokenIn: (dialect: Dialect) => boolean,
): Dialect {
  const dialect = negotiate(endpoint.dialects, { version: parameters.version, isSpokenIn, assumeV1: endpoint.assumeV1 })
  for (const { uri, isRequired } of endpoint.extensions) {
    if (!isRequired || parameters.extensions.includes(uri)) continue
    throw new A2AError('EXTENSION_SUPPORT_REQUIRED', `This agent needs the extension ${uri}`, {
      metadata: { extension: uri },
    })
  }
  return dialect
}

/** Extensions that are in effect: asked for and declared. Unknown ones are ignored (R-EXT-2). */
export function activatedExtensions(endpoint: Endpoint, parameters: Parameters): string | undefined {
  if (parameters.extensions.length === 0) return undefined
  const active = endpoint.extensions.filter(({ uri }) => parameters.extensions.includes(uri))
  return active.length > 0 ? active.map(({ uri }) => uri).join(', ') : undefined
}

/** Everything a service has to know of the call beside its request. */
export function contextOf(
  request: Request,
  arrival: Arrival,
  call: {
    readonly dialect: Dialect
    readonly parameters: Parameters
    readonly tenant: string | undefined
    readonly signal?: AbortSignal
  },
): CallContext {
  const { headers } = request
  const idempotencyKey = headers.get(parameterHeaders.idempotencyKey)
  const lastEventId = headers.get(parameterHeaders.lastEventId)
  const traceparent = headers.get(parameterHeaders.traceparent)
  return {
    caller: arrival.caller,
    dialect: call.dialect.version,
    ...(call.signal && { signal: call.signal }),
    ...(call.tenant && { tenant: call.tenant }),
    ...(call.parameters.extensions.length > 0 && { extensions: call.parameters.extensions }),
    ...(idempotencyKey && { idempotencyKey }),
    ...(lastEventId && { resumeAfter: readEventId(lastEventId) }),
    ...(traceparent && { traceparent }),
  }
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
export function tenantOf(endpoint: Endpoint, arrival: Arrival, decoded: unknown): string | undefined {
  const named = (decoded as { readonly tenant?: string }).tenant
  if (arrival.tenant !== undefined && named !== undefined && named !== arrival.tenant) {
    const description = 'names another tenant than the path'
    throw new A2AError('INVALID_PARAMS', `tenant: ${description}`, { violations: [{ field: 'tenant', description }] })
  }
  const tenant = arrival.tenant ?? named
  if (tenant === undefined || endpoint.tenants.has(tenant)) return tenant
  throw new A2AError('TASK_NOT_FOUND', `No tenant ${clip(tenant)}`, { metadata: { tenant: clip(tenant) } })
}
