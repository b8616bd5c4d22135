/**
 * Routes requests to agents. Written by hand, because every call passes it and there are few routes: fixed paths and the
 * mounts. CORS, if configured, is handled by hono.
 */
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import type { Admit } from '../auth/admit.js'
import type { Connection } from '../auth/scheme.js'
import { isRefused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import { type CallObserver, refusedCall } from '../transports/call-record.js'
import { parameterHeaders } from '../transports/transport.js'
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
  /** Origins that browsers may call from. */
  readonly origins: readonly string[]
  /** Headers that carry credentials. */
  readonly credentialHeaders: readonly string[]
  readonly stripBase: StripBase
  /** Answers requests outside of the base path. */
  readonly outsideBase: Fetch
  /** Refuses a request by its host. Absent: every host is accepted. */
  readonly refuseHost?: ((request: Request, connection?: Connection) => Response | undefined) | undefined
  /** Answers requests to paths without an agent. */
  readonly notFound: Fetch
  readonly isReady: () => Promise<boolean>
  /** Answers requests for the public keys. Absent without signing. */
  readonly jwks?: Fetch
  /** Tried before the agents. */
  readonly routes: AnswerRoute | undefined
}

export type Fetch = (request: Request, connection?: Connection) => Promise<Response>

export function createRouter(deps: RouterDeps): Fetch {
  const route = createPaths(deps)
  if (deps.origins.length === 0) return route
  const headers = Object.values(parameterHeaders)
  const app = new Hono<{ Bindings: Connection }>()
  app.use(
    cors({
      origin: [...deps.origins],
      allowHeaders: ['content-type', ...deps.credentialHeaders, ...headers],
      exposeHeaders: [...headers, 'etag', 'retry-after', 'www-authenticate'],
    }),
  )
  app.all('*', (context) => route(context.req.raw, context.env))
  return async (request, connection) => await app.fetch(request, connection)
}

function createPaths(deps: RouterDeps): Fetch {
  const { stripBase, outsideBase, endpoints, notFound, isReady, jwks, routes, refuseHost } = deps
  const health = createHealth(isReady)
  const root = endpoints.get('')
  // Longer paths first, so that a mount below another one wins.
  const mounts = [...endpoints].filter(([path]) => path !== '').sort(([a], [b]) => b.length - a.length)
  const toAgents = (request: Request, path: string, connection?: Connection): Promise<Response> => {
    for (const [mount, endpoint] of mounts) {
      if (path === mount || path.startsWith(`${mount}/`))
        return endpoint(request, withOneSlash(path.slice(mount.length)), connection)
    }
    return root ? root(request, withOneSlash(path), connection) : notFound(request, connection)
  }
  return (request, connection) => {
    const path = stripBase(pathOf(request.url))
    if (path === undefined) return outsideBase(request, connection)
    const known = health(request, path)
    if (known) return known
    const refusal = refuseHost?.(request, connection)
    if (refusal) return Promise.resolve(refusal)
    if (jwks && path === jwksPath) return jwks(request)
    const answered = routes?.(request, path, connection)
    return answered
      ? answered.then((response) => response ?? toAgents(request, path, connection))
      : toAgents(request, path, connection)
  }
}

/** Callers append `/tasks/send` to addresses that end with a slash, so slashes before the path count as one. */
function withOneSlash(path: string): string {
  return path.startsWith('//') ? path.replace(/^\/+/, '/') : path
}

/** The path as it was sent; routes decode it. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start < 0) return '/'
  const query = url.indexOf('?', start)
  const path = query < 0 ? url.slice(start) : url.slice(start, query)
  const fragment = path.indexOf('#')
  return fragment < 0 ? path : path.slice(0, fragment)
}

export function createHostRefusal(isOwnHost: HostCheck, observe: CallObserver | undefined): RouterDeps['refuseHost'] {
  return (request, connection) => {
    const fault = hostFault(request, isOwnHost)
    if (fault === undefined) return undefined
    const refused = new A2AError('PERMISSION_DENIED', fault)
    refusedCall(observe, { address: connection?.address }, refused)
    return refusalOf({ refused })
  }
}

/** Answers paths outside of `basePath`. They do not belong to this server, so credentials are not checked. */
export function createOutsideBaseRefusal(observe: CallObserver | undefined): Fetch {
  return async (_request, connection) => {
    const refused = new A2AError('METHOD_NOT_FOUND', 'Path not found: it is outside of `basePath`')
    refusedCall(observe, { address: connection?.address }, refused)
    return refusalOf({ refused })
  }
}

/** Callers without credentials do not learn that the path does not exist. */
export function createNotFound(admit: Admit | undefined, observe: CallObserver | undefined): Fetch {
  return async (request, connection) => {
    const admission = await admitted(admit, request, connection)
    const refusal = isRefused(admission)
      ? admission
      : { caller: admission, refused: new A2AError('METHOD_NOT_FOUND', 'No agent is mounted here') }
    refusedCall(observe, { caller: refusal.caller, address: connection?.address }, refusal.refused)
    return refusalOf(refusal)
  }
}
