/** Everything one agent answers below its mount: card, JSON-RPC, HTTP+JSON, tenants. */
import { type AuthScheme, authenticate } from '../auth/scheme.js'
import type { Dialect } from '../dialects/dialect.js'
import type { Agent } from '../engine/agent.js'
import type { Log } from '../engine/internals.js'
import type { AgentCard } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import { type AgentService, anonymous, type Caller } from '../model/service.js'
import { createJsonRpcServer, jsonRpcError } from '../transports/jsonrpc/server.js'
import { createRestServer, restError } from '../transports/rest/server.js'
import type { Heartbeats } from '../transports/sse.js'
import type { Arrival, Endpoint } from '../transports/transport.js'
import { createCardServer } from './well-known.js'

export interface EndpointParts {
  readonly agent: Agent
  readonly service: AgentService
  readonly card: AgentCard
  readonly dialects: readonly Dialect[]
  readonly auth: readonly AuthScheme[]
  readonly tenants: ReadonlySet<string>
  /** Origins that browsers may call from, beside this server's own. */
  readonly origins: ReadonlySet<string>
  readonly assumeV1: boolean
  readonly maxBodyBytes: number
  readonly heartbeats: Heartbeats
  readonly log: Log
  readonly startedMs: number
}

/** Answers a request by its path below the mount, which begins with a slash or is empty. */
export type AgentEndpoint = (request: Request, path: string) => Promise<Response>

export function createAgentEndpoint(parts: EndpointParts): AgentEndpoint {
  const { agent, card, dialects, auth, tenants } = parts
  const endpoint: Endpoint = {
    service: parts.service,
    dialects,
    assumeV1: parts.assumeV1,
    tenants,
    maxBodyBytes: parts.maxBodyBytes,
    heartbeats: parts.heartbeats,
    extensions: (card.capabilities.extensions ?? []).flatMap(({ uri, required }) =>
      uri ? [{ uri, isRequired: required === true }] : [],
    ),
    onError: (error) => {
      if (error.code !== 'INTERNAL_ERROR') return
      parts.log({ level: 'error', message: 'A call failed', agent: agent.card.name, error: error.cause ?? error })
    },
  }
  const newest = dialects[0] as Dialect // a server offers at least one
  const answerCard = createCardServer(card, dialects, parts.startedMs)
  const answerRpc = createJsonRpcServer(endpoint)
  const answerRest = createRestServer(endpoint)

  const answer = (request: Request, place: Place, caller: Caller): Promise<Response> => {
    const arrival: Arrival = place.tenant === undefined ? { caller } : { caller, tenant: place.tenant }
    if (place.isRpc) return answerRpc(request, arrival)
    return answerRest(request, place.rest, arrival) ?? Promise.resolve(refuse(notFound(request, place.rest), place))
  }
  const refuse = (error: A2AError, { isRpc }: Place) => (isRpc ? jsonRpcError(error, newest) : restError(error, newest))
  const answerKnown = async (request: Request, place: Place): Promise<Response> => {
    try {
      const caller = await identify(auth, request)
      return caller ? await answer(request, place, caller) : challenge(refuse(unauthenticated(), place), auth)
    } catch (caught) {
      const error = A2AError.from(caught)
      endpoint.onError(error)
      return refuse(error, place)
    }
  }

  return (request, path) => {
    const { method } = request
    if (path === '/.well-known/agent-card.json' && (method === 'GET' || method === 'HEAD')) return answerCard(request)
    const place = placeOf(path, method, tenants)
    if (!isFromHere(request, parts.origins)) {
      return Promise.resolve(refuse(new A2AError('PERMISSION_DENIED', 'This origin may not call this agent'), place))
    }
    return auth.length === 0 ? answer(request, place, anonymous) : answerKnown(request, place)
  }
}

/** What a path below the mount means. */
interface Place {
  readonly tenant: string | undefined
  readonly rest: string
  readonly isRpc: boolean
}

/** A tenant prefix exists only where one is configured. */
function placeOf(path: string, method: string, tenants: ReadonlySet<string>): Place {
  const [, first = '', behind = ''] = tenants.size > 0 ? (/^\/([^/]+)(\/.*)?$/.exec(path) ?? []) : []
  const tenant = tenants.has(decodeOr(first)) ? decodeOr(first) : undefined
  const rest = tenant === undefined ? path : behind
  return { tenant, rest, isRpc: method === 'POST' && (rest === '' || rest === '/') }
}

/**
 * A web page may send simple requests to any address its reader can reach, loopback included. Browsers
 * say where they come from; other clients do not, and pass.
 */
function isFromHere(request: Request, origins: ReadonlySet<string>): boolean {
  const origin = request.headers.get('origin')
  if (origin === null || origins.has(origin)) return true
  return URL.canParse(origin) && new URL(origin).host === new URL(request.url).host
}

function identify(auth: readonly AuthScheme[], request: Request): Promise<Caller | undefined> {
  return authenticate(auth, { headers: request.headers, url: request.url })
}

function unauthenticated(): A2AError {
  return new A2AError('UNAUTHENTICATED', 'Missing or invalid credentials')
}

function notFound(request: Request, path: string): A2AError {
  return new A2AError('METHOD_NOT_FOUND', `Nothing answers ${request.method} ${path.slice(0, 200)}`)
}

function challenge(response: Response, auth: readonly AuthScheme[]): Response {
  response.headers.set('www-authenticate', auth.map((scheme) => scheme.challenge).join(', '))
  return response
}

function decodeOr(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
