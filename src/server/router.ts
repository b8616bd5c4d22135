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
import type { GuardedEndpoint } from './guarded-endpoints.js'
import { createHealth } from './health.js'
import { admitted, refusalOf } from './refusal.js'

export interface RouterDeps {
  /** Agents by the path they are mounted at; the root is the empty path. */
  readonly agents: ReadonlyMap<string, AgentEndpoint>
  readonly stripBase: StripBase
  /** Answers requests outside of the base path. */
  readonly outsideBase: AnswerExchange
  /** The reason to refuse a request by its host. Absent: every host is accepted. */
  readonly hostFault?: ((exchange: Exchange) => string | undefined) | undefined
  /** Refuses requests that no endpoint handles. */
  readonly refuse: RefuseExchange
  /** Answers requests to paths without an agent. `caller` is known if an endpoint has authenticated it. */
  readonly notFound: (exchange: Exchange, caller?: Caller) => Promise<HttpAnswer>
  readonly isReady: () => Promise<boolean>
  /** Answers requests for the public keys. Absent without signing. */
  readonly jwks?: AnswerExchange
  /** Tried before the agents, in this order. */
  readonly endpoints: readonly GuardedEndpoint[]
  readonly addCors: AddCors
}

type RefuseExchange = GuardedEndpoint['refuse']

export function createRouter(deps: RouterDeps): AnswerExchange {
  const { stripBase, outsideBase, agents, notFound, isReady, jwks, endpoints, hostFault, refuse, addCors } = deps
  const health = createHealth(isReady)
  const root = agents.get('')
  // Longer paths first, so that a mount below another one wins.
  const mounts = [...agents].filter(([path]) => path !== '').sort(([a], [b]) => b.length - a.length)
  const toAgents: AgentEndpoint = (exchange, path, caller) => {
    for (const [mount, endpoint] of mounts) {
      if (path.startsWith(mount) && (path.length === mount.length || path[mount.length] === '/'))
        return endpoint(exchange, withOneSlash(path.slice(mount.length)), caller)
    }
    return root ? root(exchange, withOneSlash(path), caller) : notFound(exchange, caller)
  }
  /** Answers the server's own paths and refuses hosts. Returns undefined for requests to endpoints and agents. */
  const answerOwn = (
    exchange: Exchange,
    path: string,
    refuseIn: RefuseExchange,
  ): HttpAnswer | Promise<HttpAnswer> | undefined => {
    const healthy = health(exchange.method, path)
    if (healthy) return healthy
    const fault = hostFault?.(exchange)
    if (fault !== undefined) return refuseIn(exchange, { refused: new A2AError('PERMISSION_DENIED', fault) })
    return path === jwksPath ? jwks?.(exchange) : undefined
  }
  const toEndpoint = (guarded: GuardedEndpoint): AgentEndpoint => {
    const { isPublic } = guarded
    const next = isPublic ? addCors(toAgents) : toAgents
    const endpoint: AgentEndpoint = (exchange, path) =>
      answerOwn(exchange, path, guarded.refuse) ??
      guarded
        .answer(exchange, path)
        .then((result) => ('status' in result ? result : next(exchange, path, result.caller)))
    // Public endpoints decide themselves which pages may call them, so preflights reach them too.
    return isPublic ? endpoint : addCors(endpoint, { hasOwnHeaders: true })
  }
  const byPath = endpoints.map((each) => ({ path: each.path, below: `${each.path}/`, endpoint: toEndpoint(each) }))
  const outside = addCors(outsideBase)
  const others = addCors((exchange, path) => answerOwn(exchange, path, refuse) ?? toAgents(exchange, path))
  return (exchange) => {
    const path = stripBase(exchange.path)
    if (path === undefined) return outside(exchange, exchange.path)
    // The path `/` matches one page only.
    const found = byPath.find((each) => path === each.path || (each.path !== '/' && path.startsWith(each.below)))
    return (found?.endpoint ?? others)(exchange, path)
  }
}

/** Callers append `/tasks/send` to addresses that end with a slash, so slashes before the path count as one. */
function withOneSlash(path: string): string {
  return path.startsWith('//') ? path.replace(/^\/+/, '/') : path
}

/** Records and encodes the refusals of requests that reach no agent. */
export function createRefusal(observe: CallObserver | undefined): RefuseExchange {
  return ({ connection }, refusal) => {
    refusedCall(observe, { caller: refusal.caller, address: connection?.address }, refusal.refused)
    return refusalOf(refusal)
  }
}

/** Answers paths outside of `basePath`. They do not belong to this server, so credentials are not checked. */
export function createOutsideBaseRefusal(refuse: RefuseExchange): AnswerExchange {
  const text = 'Path not found: it is outside of `basePath`'
  return (exchange) => refuse(exchange, { refused: new A2AError('METHOD_NOT_FOUND', text) })
}

/** Callers without credentials do not learn that the path does not exist. */
export function createNotFound(admit: Admit | undefined, refuse: RefuseExchange): RouterDeps['notFound'] {
  return async (exchange, caller) => {
    const admission = caller ?? (await admitted(admit, exchange))
    const unknown = () => new A2AError('METHOD_NOT_FOUND', 'No agent is mounted here')
    return refuse(exchange, isRefused(admission) ? admission : { caller: admission, refused: unknown() })
  }
}
