/** Routes requests to agents. There are few routes: fixed paths and the mounts. */
import type { Admit } from '../auth/admit.js'
import { isRefused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import { type CallObserver, refusedCall } from '../transports/call-record.js'
import type { Answer, AnswerExchange, Exchange } from '../transports/exchange.js'
import type { AgentEndpoint } from './agent-endpoint.js'
import type { StripBase } from './base-path.js'
import { jwksPath } from './card-forms.js'
import { createHealth } from './health.js'
import { type HostCheck, hostFault } from './hosts.js'
import { admitted, refusalOf } from './refusal.js'
import type { AnswerRoute } from './routes.js'

export interface RouterDeps {
  /** Agents by the path they are mounted at; the root is the empty path. */
  readonly endpoints: ReadonlyMap<string, AgentEndpoint>
  readonly stripBase: StripBase
  /** Answers requests outside of the base path. */
  readonly outsideBase: AnswerExchange
  /** Refuses a request by its host. Absent: every host is accepted. */
  readonly refuseHost?: ((exchange: Exchange) => Answer | undefined) | undefined
  /** Answers requests to paths without an agent. */
  readonly notFound: AnswerExchange
  readonly isReady: () => Promise<boolean>
  /** Answers requests for the public keys. Absent without signing. */
  readonly jwks?: AnswerExchange
  /** Tried before the agents. */
  readonly routes: AnswerRoute | undefined
}

export function createRouter(deps: RouterDeps): AnswerExchange {
  const { stripBase, outsideBase, endpoints, notFound, isReady, jwks, routes, refuseHost } = deps
  const health = createHealth(isReady)
  const root = endpoints.get('')
  // Longer paths first, so that a mount below another one wins.
  const mounts = [...endpoints].filter(([path]) => path !== '').sort(([a], [b]) => b.length - a.length)
  const toAgents = (exchange: Exchange, path: string): Answer | Promise<Answer> => {
    for (const [mount, endpoint] of mounts) {
      if (path.startsWith(mount) && (path.length === mount.length || path[mount.length] === '/'))
        return endpoint(exchange, withOneSlash(path.slice(mount.length)))
    }
    return root ? root(exchange, withOneSlash(path)) : notFound(exchange)
  }
  return (exchange) => {
    const path = stripBase(exchange.path)
    if (path === undefined) return outsideBase(exchange)
    const known = health(exchange.method, path)
    if (known) return known
    const refusal = refuseHost?.(exchange)
    if (refusal) return refusal
    if (jwks && path === jwksPath) return jwks(exchange)
    const answered = routes?.(exchange, path)
    return answered ? answered.then((answer) => answer ?? toAgents(exchange, path)) : toAgents(exchange, path)
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
export function createNotFound(admit: Admit | undefined, observe: CallObserver | undefined): AnswerExchange {
  return async (exchange) => {
    const admission = await admitted(admit, exchange)
    const refusal = isRefused(admission)
      ? admission
      : { caller: admission, refused: new A2AError('METHOD_NOT_FOUND', 'No agent is mounted here') }
    refusedCall(observe, { caller: refusal.caller, address: exchange.connection?.address }, refusal.refused)
    return refusalOf(refusal)
  }
}
