/** Routes requests to agents. There are few routes: fixed paths and the mounts. */
import type { Admit } from '../auth/admit.js'
import { isRefused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import type { Caller } from '../model/service.js'
import { type CallObserver, refusedCall } from '../transports/call-record.js'
import type { AnswerExchange, Exchange, HttpAnswer } from '../transports/exchange.js'
import type { AgentEndpoint } from './agent-endpoint.js'
import type { StripBase } from './base-path.js'
import { jwksPath } from './card-forms.js'
import type { AddCors } from './cors.js'
import { createHealth } from './health.js'
import { type HostCheck, hostFault } from './hosts.js'
import { admitted, refusalOf } from './refusal.js'
import type { GuardedRoute } from './routes.js'

export interface RouterDeps {
  /** Agents by the path they are mounted at; the root is the empty path. */
  readonly endpoints: ReadonlyMap<string, AgentEndpoint>
  readonly stripBase: StripBase
  /** Answers requests outside of the base path. */
  readonly outsideBase: AnswerExchange
  /** Refuses a request by its host. Absent: every host is accepted. */
  readonly refuseHost?: ((exchange: Exchange) => HttpAnswer | undefined) | undefined
  /** Answers requests to paths without an agent. `caller` is known if a route has authenticated it. */
  readonly notFound: (exchange: Exchange, caller?: Caller) => Promise<HttpAnswer>
  readonly isReady: () => Promise<boolean>
  /** Answers requests for the public keys. Absent without signing. */
  readonly jwks?: AnswerExchange
  /** Tried before the agents, in this order. */
  readonly routes: readonly GuardedRoute[]
  readonly addCors: AddCors
}

export function createRouter(deps: RouterDeps): AnswerExchange {
  const { stripBase, outsideBase, endpoints, notFound, isReady, jwks, routes, refuseHost, addCors } = deps
  const health = createHealth(isReady)
  const root = endpoints.get('')
  // Longer paths first, so that a mount below another one wins.
  const mounts = [...endpoints].filter(([path]) => path !== '').sort(([a], [b]) => b.length - a.length)
  const toAgents: AgentEndpoint = (exchange, path, caller) => {
    for (const [mount, endpoint] of mounts) {
      if (path.startsWith(mount) && (path.length === mount.length || path[mount.length] === '/'))
        return endpoint(exchange, withOneSlash(path.slice(mount.length)), caller)
    }
    return root ? root(exchange, withOneSlash(path), caller) : notFound(exchange, caller)
  }
  /** Answers the server's own paths and refuses hosts. Returns undefined for requests to routes and agents. */
  const answerOwn = (exchange: Exchange, path: string): HttpAnswer | Promise<HttpAnswer> | undefined =>
    health(exchange.method, path) ?? refuseHost?.(exchange) ?? (path === jwksPath ? jwks?.(exchange) : undefined)
  const toRoute = ({ isPublic, answer }: GuardedRoute): AgentEndpoint => {
    const next = isPublic ? addCors(toAgents) : toAgents
    const endpoint: AgentEndpoint = (exchange, path) =>
      answerOwn(exchange, path) ??
      answer(exchange).then((result) => ('status' in result ? result : next(exchange, path, result.caller)))
    // Public routes decide themselves which pages may call them, so preflights reach them too.
    return isPublic ? endpoint : addCors(endpoint)
  }
  const byRoute = routes.map((route) => ({ path: route.path, endpoint: toRoute(route) }))
  const outside = addCors(outsideBase)
  const others = addCors((exchange, path) => answerOwn(exchange, path) ?? toAgents(exchange, path))
  return (exchange) => {
    const path = stripBase(exchange.path)
    if (path === undefined) return outside(exchange, exchange.path)
    const route = byRoute.find((each) => path === each.path || (each.path !== '/' && path.startsWith(`${each.path}/`)))
    return (route?.endpoint ?? others)(exchange, path)
  }
}

/** Callers append `/tasks/send` to addresses that end with a slash, so slashes before the path count as one. */
function withOneSlash(path: string): string {
  return path.startsWith('//') ? path.replace(/^\/+/, '/') : path
}

export function createHostRefusal(isOwnHost: HostCheck, observe: CallObserver | undefined): RouterDeps['refuseHost'] {
  return (exchange) => {
    const fault = hostFault(exchange, isOwnHost)
    if (fault === undefined) return undefined
    const refused = new A2AError('PERMISSION_DENIED', fault)
    refusedCall(observe, { address: exchange.connection?.address }, refused)
    return refusalOf({ refused })
  }
}

/** Answers paths outside of `basePath`. They do not belong to this server, so credentials are not checked. */
export function createOutsideBaseRefusal(observe: CallObserver | undefined): AnswerExchange {
  return ({ connection }) => {
    const refused = new A2AError('METHOD_NOT_FOUND', 'Path not found: it is outside of `basePath`')
    refusedCall(observe, { address: connection?.address }, refused)
    return refusalOf({ refused })
  }
}

/** Callers without credentials do not learn that the path does not exist. */
export function createNotFound(admit: Admit | undefined, observe: CallObserver | undefined): RouterDeps['notFound'] {
  return async (exchange, caller) => {
    const admission = caller ?? (await admitted(admit, exchange))
    const refusal = isRefused(admission)
      ? admission
      : { caller: admission, refused: new A2AError('METHOD_NOT_FOUND', 'No agent is mounted here') }
    refusedCall(observe, { caller: refusal.caller, address: exchange.connection?.address }, refusal.refused)
    return refusalOf(refusal)
  }
}
