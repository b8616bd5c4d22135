/** Further routes of a port beside its agents: the API of an application, a page. */
import type { Admit } from '../auth/admit.js'
import { isRefused, type Refused } from '../model/admission.js'
import type { Connection } from '../model/connection.js'
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import type { Log } from '../model/log.js'
import type { Operation } from '../model/operations.js'
import type { AgentService, Caller } from '../model/service.js'
import { type CallContext, nativeDialect } from '../model/service.js'
import { type CallObserver, type CallStart, CallTracker, refusedCall } from '../transports/call-record.js'
import type { Exchange, HttpAnswer } from '../transports/exchange.js'
import { BodyInterrupted } from '../transports/read-json.js'
import { assertTenant, type BindingHandler } from '../transports/transport.js'
import { fromResponse } from './fetch.js'
import type { OriginCheck } from './hosts.js'
import { admitted, refusalOf } from './refusal.js'

/** A path on the agents' address that the application serves itself. */
export interface Route {
  /** The path, such as `/api/documents`, with everything below it. `/` matches that one page only. */
  readonly path: string
  /**
   * Answers a request. Undefined: the route does not handle the request, and the agents are tried. Reading a body that is
   * larger than `limits.bodyBytes` fails with status 413.
   */
  readonly answer: (request: Request, visit: Visit) => Promise<Response> | undefined
  /**
   * Accepts every caller and every web page; the route checks access itself. Default false: the route has the `auth` and
   * `cors` of the agents on this port.
   */
  readonly isPublic?: boolean
}

/** The caller of a route, and the agents that the route may call. */
export interface Visit {
  /** The authenticated caller; `anonymous` without `auth` and on public routes. */
  readonly caller: Caller
  /**
   * The agents of this port, by name, with the checks that calls over A2A get: skills, tenants and the engine's limits.
   * Calls are made for a caller: `service.getTask({ id }, { caller })`.
   */
  readonly services: ReadonlyMap<string, AgentService>
  /** The connection, for routes that authenticate callers themselves; absent if unknown. */
  readonly connection?: Connection
}

interface RoutesDeps {
  readonly routes: readonly Route[]
  /** The agents of this port, by name. */
  readonly handlers: ReadonlyMap<string, CallableHandler>
  readonly maxBodyBytes: number
  readonly observe: CallObserver | undefined
  readonly admit: Admit | undefined
  readonly isFromHere: OriginCheck
  readonly log: Log
}

/** A route does not handle a request. */
export interface Unhandled {
  /** The caller, whom the agents do not authenticate again. Undefined on public routes. */
  readonly caller: Caller | undefined
}

/** A route of a port, with the checks of its callers. */
export interface GuardedRoute {
  readonly path: string
  readonly isPublic: boolean
  readonly answer: (exchange: Exchange) => Promise<HttpAnswer | Unhandled>
}

/** Returns the routes, longer paths first, so that a route below another one wins. */
export function createRoutes(deps: RoutesDeps): readonly GuardedRoute[] {
  const { routes, handlers, maxBodyBytes, observe, admit, isFromHere, log } = deps
  for (const { path } of routes)
    if (!/^\/(?:$|[^/].*[^/]$|[^/]$)/.test(path))
      throw new TypeError(`Invalid path of a route: ${JSON.stringify(path)}; write a path such as /api`)
  const answer = async (route: Route, exchange: Exchange): Promise<HttpAnswer | Unhandled> => {
    const isOpen = route.isPublic === true
    const { connection } = exchange
    const address = connection?.address
    const start = { address, route: route.path }
    const refuse = (refusal: Refused): HttpAnswer => {
      refusedCall(observe, { ...start, caller: refusal.caller }, refusal.refused)
      return refusalOf(refusal)
    }
    if (!isOpen && !isFromHere(exchange))
      return refuse({ refused: new A2AError('PERMISSION_DENIED', 'This origin may not call here') })
    const caller = await admitted(isOpen ? undefined : admit, exchange)
    if (isRefused(caller)) return refuse(caller)
    const watch = observe && new CallTracker(observe, { ...start, caller })
    let services: Visit['services'] | undefined
    try {
      const response = await route.answer(exchange.toRequest(maxBodyBytes), {
        caller,
        get services() {
          services ??= new Map([...handlers].map(([name, handler]) => [name, routeService(handler, address)]))
          return services
        },
        ...(connection && { connection }),
      })
      if (response !== undefined && !(response instanceof Response))
        throw new TypeError('`answer` of a route must return a Response, or undefined')
      // The agent records the call; a record of the route would count it twice.
      if (!response) return { caller: isOpen ? undefined : caller }
      watch?.ended()
      return fromResponse(response)
    } catch (caught) {
      const refused = A2AError.from(caught)
      if (refused.code === 'INTERNAL_ERROR')
        log({ level: 'error', message: `The route ${route.path} failed`, error: caught })
      else if (refused instanceof BodyInterrupted)
        log({ level: 'debug', message: `${refused.message} (route ${route.path})`, error: refused.cause })
      watch?.ended(refused)
      return refusalOf({ refused })
    }
  }
  const guarded = routes.map(
    (route): GuardedRoute => ({
      path: route.path,
      isPublic: route.isPublic === true,
      answer: (exchange) => answer(route, exchange),
    }),
  )
  return guarded.sort((a, b) => b.path.length - a.path.length)
}

type CallableHandler = Pick<BindingHandler, 'service' | 'hasTenant' | 'observe'>

/** The operations of an agent for a route. `address` is that of the route's caller, for the audit. */
function routeService(handler: CallableHandler, address: CallStart['address']): AgentService {
  const { unary, streaming } = toGeneric(handler.service)
  const begin = (operation: Operation, request: unknown, context: CallContext) => {
    const { tenant, caller, dialect = nativeDialect } = context
    const watch = handler.observe && new CallTracker(handler.observe, { tenant, caller, address })
    watch?.understood({ operation, dialect: { name: dialect } }, context)
    watch?.asked(request, tenant)
    return { watch, observed: { ...context, ...watch?.begun() } }
  }
  return fromGeneric({
    async unary(operation, request, context) {
      const { watch, observed } = begin(operation, request, context)
      try {
        assertTenant(handler, context)
        const result = await unary(operation, request, observed)
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
        assertTenant(handler, context)
        for await (const item of streaming(operation, request, observed)) {
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
