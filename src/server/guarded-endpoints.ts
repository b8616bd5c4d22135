/** Checks the callers of endpoints, records their requests, and encodes errors in the format of the endpoint. */
import type { Admit } from '../auth/admit.js'
import { isRefused, type Refused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import type { Log } from '../model/log.js'
import type { Operation } from '../model/operations.js'
import type { JsonValue } from '../model/part.js'
import { type AgentService, type CallContext, type Caller, nativeDialect } from '../model/service.js'
import { readTraceContext, type TraceContext } from '../model/trace-context.js'
import { TransportError } from '../model/transport-error.js'
import { type CallObserver, type CallStart, CallTracker, refusedCall } from '../transports/call-record.js'
import type { Exchange, HttpAnswer } from '../transports/exchange.js'
import { assertJson, BodyInterrupted, parseJson, type RequestLimits } from '../transports/read-json.js'
import { type Heartbeats, SseFeed, sseHeaders } from '../transports/sse.js'
import { assertTenant, type BindingHandler } from '../transports/transport.js'
import type { Endpoint, EventStream, Visit, VisitedAgent } from './endpoints.js'
import { fromResponse } from './fetch.js'
import type { OriginCheck } from './hosts.js'
import type { ProtectedResource } from './protected-resource.js'
import { admitted, refusalHeaders, refusalOf } from './refusal.js'

/** An endpoint that `routes` has created; records name its path. */
export interface RouteEndpoint extends Endpoint {
  readonly route?: string
}

type CallableHandler = Pick<BindingHandler, 'service' | 'hasTenant' | 'observe' | 'newestDialect' | 'newId'>

interface EndpointsDeps {
  readonly endpoints: readonly RouteEndpoint[]
  readonly agents: readonly (Omit<VisitedAgent, 'service'> & { readonly handler: CallableHandler })[]
  readonly limits: RequestLimits
  readonly heartbeats: Heartbeats
  readonly observe: CallObserver | undefined
  readonly admit: Admit | undefined
  readonly isFromHere: OriginCheck
  readonly resources: ReadonlyMap<string, Pick<ProtectedResource, 'addTo'>>
  readonly log: Log
}

/** An endpoint does not handle a request. */
export interface Unhandled {
  /** The caller, whom the agents do not authenticate again. Undefined on public endpoints. */
  readonly caller: Caller | undefined
}

/** One path of an endpoint, with the checks of its callers. */
export interface GuardedEndpoint {
  readonly path: string
  readonly isPublic: boolean
  /** `path` is the path of the request below the base path. */
  answer(exchange: Exchange, path: string): Promise<HttpAnswer | Unhandled>
  /** Records and encodes a refusal. */
  refuse(exchange: Exchange, refusal: Refused): HttpAnswer
}

/** Throws `TypeError` unless these are endpoints with different paths. */
export function assertEndpoints(endpoints: readonly RouteEndpoint[]): void {
  for (const endpoint of endpoints) assertEndpoint(endpoint)
  const paths = endpoints.flatMap((endpoint) => endpoint.paths)
  const twice = paths.find((path, place) => paths.indexOf(path) !== place)
  if (twice !== undefined)
    throw new TypeError(`Two endpoints or routes have the path ${twice}: give one of them another path`)
}

/** Returns all paths of the endpoints, longer ones first, so that a path below another one wins. */
export function createEndpoints(deps: EndpointsDeps): readonly GuardedEndpoint[] {
  const guarded = deps.endpoints.flatMap((endpoint) => endpoint.paths.map((path) => guard(endpoint, path, deps)))
  return guarded.sort((a, b) => b.path.length - a.path.length)
}

/** Calls `close` of all endpoints. One that does not end in time does not keep the server from closing. */
export async function closeEndpoints(
  endpoints: readonly Endpoint[],
  { deadlineMs, log }: { readonly deadlineMs: number; readonly log: Log },
): Promise<void> {
  const closing = endpoints.map(async (endpoint) => {
    try {
      await endpoint.close?.()
    } catch (error) {
      log({ level: 'error', message: `The endpoint ${endpoint.name} could not be closed`, error })
    }
  })
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, deadlineMs)
  })
  await Promise.race([Promise.all(closing), late])
  clearTimeout(timer)
}

function assertEndpoint(endpoint: RouteEndpoint): void {
  const { name, paths, answer, refuse, route }: Partial<RouteEndpoint> = endpoint ?? {}
  const isEndpoint =
    typeof name === 'string' && Array.isArray(paths) && typeof answer === 'function' && typeof refuse === 'function'
  if (!isEndpoint)
    throw new TypeError('Not an endpoint: it needs `name`, `paths`, `answer` and `refuse`. Write `[myEndpoint()]`')
  if (paths.length === 0) throw new TypeError(`The endpoint ${name} has no paths: write \`paths: ['/${name}']\``)
  const wrong = paths.find((path) => typeof path !== 'string' || !/^\/(?:$|[^/].*[^/]$|[^/]$)/.test(path))
  if (wrong === undefined) return
  const owner = route === undefined ? `the endpoint ${name}` : 'a route'
  throw new TypeError(`Invalid path of ${owner}: ${JSON.stringify(wrong)}; write a path such as /api`)
}

function guard(endpoint: RouteEndpoint, place: string, deps: EndpointsDeps): GuardedEndpoint {
  const { observe, admit, isFromHere, log } = deps
  const resource = deps.resources.get(place)
  const { name, route, isPublic = false } = endpoint
  const label = route === undefined ? `endpoint ${name}` : `route ${route}`
  const startOf = ({ connection }: Exchange, caller?: Caller): CallStart => ({
    address: connection?.address,
    ...(route === undefined ? { endpoint: name } : { route }),
    ...(caller && { caller }),
  })
  const report = (error: A2AError, caught: unknown = error) => {
    if (error.code === 'INTERNAL_ERROR') log({ level: 'error', message: `The ${label} failed`, error: caught })
    else if (error instanceof BodyInterrupted)
      log({ level: 'debug', message: `${error.message} (${label})`, error: error.cause })
  }
  const encode = (exchange: Exchange, refusal: Pick<Refused, 'refused' | 'challenge'>): HttpAnswer => {
    try {
      const answer = endpoint.refuse(refusal.refused, exchange)
      return { ...answer, headers: { ...refusalHeaders(refusal), ...answer.headers } }
    } catch (error) {
      log({ level: 'error', message: `\`refuse\` of the ${label} failed`, error })
      return refusalOf(refusal)
    }
  }
  const refuse = (exchange: Exchange, refusal: Refused): HttpAnswer => {
    refusedCall(observe, startOf(exchange, refusal.caller), refusal.refused)
    const { challenge } = refusal
    const named = resource && challenge !== undefined ? { challenge: resource.addTo(challenge) } : undefined
    return encode(exchange, { ...refusal, ...named })
  }
  const answer = async (exchange: Exchange, path: string): Promise<HttpAnswer | Unhandled> => {
    if (!isPublic && !isFromHere(exchange))
      return refuse(exchange, { refused: new A2AError('PERMISSION_DENIED', 'This origin may not call here') })
    const caller = await admitted(isPublic ? undefined : admit, exchange)
    if (isRefused(caller)) return refuse(exchange, caller)
    const start = startOf(exchange, caller)
    const watch = observe && new CallTracker(observe, start)
    let feed: Pick<SseFeed, 'cancel'> | undefined
    const stream: Visit['stream'] = async (events) => {
      const body = await openFeed(events, { heartbeats: deps.heartbeats, watch, report })
      feed?.cancel()
      feed = body
      return { status: 200, headers: { ...sseHeaders, ...events.headers }, body }
    }
    const keepOnly = (body: HttpAnswer['body']): boolean => {
      if (feed === undefined || feed === body) return feed !== undefined
      feed.cancel()
      return false
    }
    try {
      const answered = await endpoint.answer(exchange, createVisit(deps, { exchange, caller, path, start, stream }))
      if (answered === undefined) {
        keepOnly(undefined)
        // The agent records the call; a record of the endpoint would count it twice.
        return { caller: isPublic ? undefined : caller }
      }
      const settled = answered instanceof Response ? fromResponse(answered) : assertAnswer(answered)
      // A stream is recorded at its end.
      if (!keepOnly(settled.body)) watch?.ended()
      return settled
    } catch (caught) {
      const refused = failureOf(A2AError.from(caught))
      report(refused, caught)
      watch?.ended(refused)
      keepOnly(undefined)
      return encode(exchange, { refused })
    }
  }
  return { path: place, isPublic, answer, refuse }
}

/** Endpoints of users may be written in JavaScript. */
function assertAnswer(answered: HttpAnswer): HttpAnswer {
  if (typeof answered?.status === 'number' && typeof answered.headers === 'object') return answered
  throw new TypeError('`answer` of an endpoint must return { status, headers, body }, a Response, or undefined')
}

interface FeedDeps {
  readonly heartbeats: Heartbeats
  readonly watch: CallTracker | undefined
  readonly report: (error: A2AError, caught?: unknown) => void
}

async function openFeed<Item>(
  events: EventStream<Item>,
  { heartbeats, watch, report }: FeedDeps,
): Promise<SseFeed<Item>> {
  let isGone = false
  const rest = events.items[Symbol.asyncIterator]()
  const first = rest.next()
  await (events.opened ? Promise.race([first, events.opened]) : first)
  return new SseFeed<Item>({
    first,
    rest,
    encode: (item) => events.encode(item),
    encodeEnd: () => {
      const end = events.encodeEnd?.() ?? ''
      watch?.ended()
      return end
    },
    encodeError: (caught) => {
      // The stream of a reader that left ends early; that is no failure.
      if (isGone) return ''
      const error = failureOf(caught)
      report(error, error.cause ?? error)
      watch?.ended(error)
      try {
        return events.encodeError(error)
      } catch (caught) {
        report(A2AError.from(caught), caught)
        return '' // ends the stream: an open one would keep its reader waiting
      }
    },
    onGone: () => {
      isGone = true
      watch?.ended()
    },
    heartbeats,
  })
}

/** Streams of agents end early when the server closes. Their tasks go on, here after a restart or in another process. */
function failureOf(error: A2AError): A2AError {
  const { cause } = error
  if (!(cause instanceof TransportError)) return error
  return new A2AError('UNAVAILABLE', 'The stream has ended, but the task goes on: reconnect to follow it', { cause })
}

interface Arrived extends Pick<Visit, 'caller' | 'path' | 'stream'> {
  readonly exchange: Exchange
  readonly start: CallStart
}

function createVisit({ agents: all, limits, log }: EndpointsDeps, arrived: Arrived): Visit {
  const { exchange, caller, path, start, stream } = arrived
  const { connection } = exchange
  let agents: Visit['agents'] | undefined
  let services: Visit['services'] | undefined
  const visit: Visit = {
    caller,
    path,
    get agents() {
      agents ??= new Map(
        all.map(({ card, url, handler }) => [
          card.name,
          { card, url, service: visitedService(handler, exchange, start) },
        ]),
      )
      return agents
    },
    get services() {
      services ??= new Map([...visit.agents].map(([name, { service }]) => [name, service]))
      return services
    },
    ...(connection && { connection }),
    async readJson() {
      assertJson(exchange.headers)
      return parseJson(await exchange.readBody(limits.bodyBytes), limits) as JsonValue // it is parsed JSON
    },
    toRequest: () => exchange.toRequest(limits.bodyBytes),
    stream,
    log,
    get signal() {
      return exchange.signal
    },
  }
  return visit
}

/** The operations of an agent for one request. `start` describes the request, for the records of its calls. */
function visitedService(
  handler: CallableHandler,
  { headers }: Exchange,
  { route: _, ...start }: CallStart,
): AgentService {
  const { unary, streaming } = toGeneric(handler.service)
  let caused: TraceContext | undefined
  const begin = (operation: Operation, request: unknown, context: CallContext) => {
    const { tenant, caller, dialect = nativeDialect } = context
    const watch = handler.observe && new CallTracker(handler.observe, { ...start, tenant, caller })
    caused ??= readTraceContext(headers)
    const trace = context.traceparent === undefined ? caused : context
    watch?.understood({ operation, dialect: { name: dialect } }, trace)
    watch?.asked(request, tenant)
    return { watch, observed: { ...caused, ...context, ...watch?.begun() } }
  }
  /** Endpoints make requests of foreign bodies: they are checked like those of callers over A2A. */
  const check = (operation: Operation, request: unknown, context: CallContext): unknown => {
    assertTenant(handler, context)
    const codec = handler.newestDialect.jsonrpc?.operations[operation]
    return codec ? codec.decode(request, { newId: handler.newId, header: () => null }) : request
  }
  return fromGeneric({
    async unary(operation, request, context) {
      const { watch, observed } = begin(operation, request, context)
      try {
        const result = await unary(operation, check(operation, request, context), observed)
        watch?.answered(result)
        watch?.ended()
        return result
      } catch (caught) {
        watch?.ended(A2AError.from(caught))
        throw caught
      }
    },
    async *streaming(operation, request, context) {
      const { watch, observed } = begin(operation, request, context)
      try {
        for await (const item of streaming(operation, check(operation, request, context), observed)) {
          watch?.event(item)
          yield item
        }
      } catch (caught) {
        watch?.ended(A2AError.from(caught))
        throw caught
      } finally {
        watch?.ended()
      }
    },
  })
}
