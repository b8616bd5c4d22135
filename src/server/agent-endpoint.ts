/** Answers the requests below the path of one agent: its cards, its bindings and dialects, its tenants. */
import type { Admit } from '../auth/admit.js'
import type { Dialect } from '../dialects/dialect.js'
import { type AuthResult, isRefused, type Refused } from '../model/admission.js'
import type { AgentCard, Binding } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import { anonymous, type Caller } from '../model/service.js'
import { readTraceContext } from '../model/trace-context.js'
import { refusedCall } from '../transports/call-record.js'
import { type Exchange, type HttpAnswer, jsonHeaders, withHeaders } from '../transports/exchange.js'
import { createJsonRpcServer, type JsonRpcServer, maxPeekBytes } from '../transports/jsonrpc/server.js'
import { assertJson, parseJson } from '../transports/read-json.js'
import { createRestServer, type RestTarget } from '../transports/rest/server.js'
import { type BindingHandler, type IncomingCall, parameterHeaders } from '../transports/transport.js'
import type { OriginCheck } from './hosts.js'
import type { OfferedDialects } from './offered-dialects.js'
import { ExchangeCredentials } from './refusal.js'
import { type CurrentCards, createCardServer } from './well-known.js'

interface EndpointDeps {
  /** The card in its v1.0 form. */
  readonly card: AgentCard
  /** The agent's address, without a trailing slash. */
  readonly url: string
  readonly offered: OfferedDialects
  /** Shared by all bindings of this agent; each binding sets its own dialects. */
  readonly handler: BindingHandler
  readonly cards: CurrentCards
  readonly startedMs: number
  /** Authenticates a request. Absent: every caller is `anonymous`. */
  readonly admit: Admit | undefined
  /** All tenants, whether or not the caller may use them. */
  readonly tenants: ReadonlySet<string>
  readonly isFromHere: OriginCheck
  /** Whether cards require authentication too. */
  readonly protectsCard: boolean
}

/**
 * Answers a request by its path below the mount, which begins with a slash or is empty. A `caller` that a route has
 * authenticated is neither authenticated nor counted again.
 */
export type AgentEndpoint = (exchange: Exchange, path: string, caller?: Caller) => HttpAnswer | Promise<HttpAnswer>

/** A call whose caller is not authenticated yet. */
interface PendingCall {
  readonly exchange: Exchange
  readonly path: string
  readonly target: CallTarget
  readonly tenant: string | undefined
}

export function createAgentEndpoint(deps: EndpointDeps): AgentEndpoint {
  const { card, url, offered, handler, cards, startedMs, admit, tenants, isFromHere, protectsCard } = deps
  const page = frontPage(card, url)
  const findTarget = createFindTarget(handler)
  const cardServer = createCardServer(cards, {
    startedMs,
    isProtected: protectsCard,
    vary: protectsCard ? handler.vary : parameterHeaders.version,
    refuse: (exchange, error) => findTarget(exchange.method, '/.well-known/').refuse(exchange, error),
  })
  // Longer paths first, so that a pinned path below another one wins.
  const byLength = [...offered.pinned].sort(([a], [b]) => b.length - a.length)
  const pinned = byLength.map(([path, dialect]) => ({
    path,
    find: createFindTarget({ ...handler, dialects: [dialect] }, { isPinned: true }),
  }))
  /** A path pinned to a dialect wins over recognition by content. */
  const targetOf: FindTarget = (method, path) => {
    for (const each of pinned) {
      if (path === each.path || path.startsWith(`${each.path}/`)) return each.find(method, path.slice(each.path.length))
    }
    return findTarget(method, path)
  }
  // Only observers need the address.
  const addressOf = ({ connection }: Exchange) => connection?.address
  const incomingOf = (exchange: Exchange, caller: Caller, tenant?: string): IncomingCall => {
    const address = handler.observe && addressOf(exchange)
    return tenant === undefined ? { caller, address } : { caller, address, tenant }
  }

  const refuse = async ({ exchange, target, tenant }: PendingCall, refusal: Refused): Promise<HttpAnswer> => {
    const { refused, challenge, caller } = refusal
    handler.onError(refused)
    if (handler.observe) {
      // Ignore trace headers from unauthenticated callers.
      const trace = caller && readTraceContext(exchange.headers)
      const start = { address: addressOf(exchange), tenant, caller, binding: target.binding, trace }
      refusedCall(handler.observe, start, refused)
    }
    const answer = await target.refuse(exchange, refused)
    return challenge === undefined ? answer : withHeaders(answer, { 'www-authenticate': challenge })
  }
  const enter = (pending: PendingCall, admission: AuthResult): HttpAnswer | Promise<HttpAnswer> => {
    const { exchange, path, target, tenant } = pending
    if (isRefused(admission)) return refuse(pending, admission)
    // For callers that may not use a tenant, its name is a path that does not exist.
    if (tenant !== undefined && !handler.hasTenant(tenant, admission))
      return targetOf(exchange.method, path).answer(exchange, incomingOf(exchange, admission))
    return target.answer(exchange, incomingOf(exchange, admission, tenant))
  }
  const authenticate = (pending: PendingCall, verify: Admit): HttpAnswer | Promise<HttpAnswer> => {
    const fail = (caught: unknown) => refuse(pending, { refused: A2AError.from(caught) })
    try {
      const admission = verify(new ExchangeCredentials(pending.exchange))
      if (!(admission instanceof Promise)) return enter(pending, admission)
      return admission.then((settled) => enter(pending, settled)).catch(fail)
    } catch (caught) {
      return fail(caught)
    }
  }

  return (exchange, path, caller) => {
    const { method } = exchange
    const isCard = cardServer.has(method, path)
    if (isCard && !protectsCard) return cardServer.answer(exchange, path)
    const { tenant, rest } = tenants.size > 0 ? placeOf(path, tenants) : { rest: path }
    let target = targetOf(method, rest)
    if (isCard) target = { ...target, answer: () => cardServer.answer(exchange, path) }
    else if (target.isNotFound && cards.first.unversioned && isVisit(exchange, rest))
      target = { ...target, answer: () => page }
    const pending: PendingCall = { exchange, path, target, tenant }
    if (!isFromHere(exchange)) return refuse(pending, { refused: foreignOrigin() })
    return admit && !caller ? authenticate(pending, admit) : enter(pending, caller ?? anonymous)
  }
}

function foreignOrigin(): A2AError {
  return new A2AError('PERMISSION_DENIED', 'This origin may not call this agent')
}

/** A tenant prefix exists only where one is configured. */
function placeOf(path: string, tenants: ReadonlySet<string>): { readonly tenant?: string; readonly rest: string } {
  const [, first = '', behind = ''] = /^\/([^/]+)(\/.*)?$/.exec(path) ?? []
  const tenant = decodeOr(first)
  return tenants.has(tenant) ? { tenant, rest: behind } : { rest: path }
}

function decodeOr(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** The binding and the dialects that a request addresses, found before its caller is authenticated. */
interface CallTarget {
  /** No binding serves the path. */
  readonly isNotFound?: true
  /** Absent if the body decides it, or if no binding serves the path. */
  readonly binding?: Binding
  answer(exchange: Exchange, call: IncomingCall): HttpAnswer | Promise<HttpAnswer>
  /** Encodes the error in the caller's dialect. */
  refuse(exchange: Exchange, error: A2AError): HttpAnswer | Promise<HttpAnswer>
}

/** Finds the target by method and path; for unknown paths one that answers "not found". */
type FindTarget = (method: string, path: string) => CallTarget

/** A pinned dialect has its JSON-RPC endpoint at the root of its pinned path. */
interface TargetOptions {
  readonly isPinned?: boolean
}

function createFindTarget(handler: BindingHandler, { isPinned = false }: TargetOptions = {}): FindTarget {
  const rpcByPath = createRpcServers(handler, isPinned)
  const restDialects = handler.dialects.filter(({ rest }) => rest)
  const rest = restDialects.length > 0 ? createRestServer({ ...handler, dialects: restDialects }) : undefined
  // The paths of JSON-RPC are fixed, so their routes of HTTP+JSON are found once.
  const posts = new Map<string, CallTarget>()
  for (const [path, rpc] of rpcByPath) {
    const route = rest?.find('POST', path)
    posts.set(path, route ? mixedTarget(handler, rpc, route) : rpc)
  }
  const [anyRpc] = rpcByPath.values()
  const notFound = (method: string, path: string): CallTarget =>
    notFoundTarget(handler, `${method} ${path.slice(0, 200) || '/'}`, (exchange, error) =>
      rest ? rest.refuse(exchange, path, error) : refuseWithout(anyRpc, exchange, error),
    )
  return (method, path) =>
    (method === 'POST' ? posts.get(path) : undefined) ?? rest?.find(method, path) ?? notFound(method, path)
}

/** One server for each set of dialects that share a path. */
function createRpcServers(handler: BindingHandler, isPinned: boolean): ReadonlyMap<string, JsonRpcServer> {
  const dialectsByPath = new Map<string, Dialect[]>()
  for (const dialect of handler.dialects) {
    if (!dialect.jsonrpc) continue
    const paths = isPinned ? [''] : (dialect.jsonrpc.paths ?? [''])
    for (const path of paths) dialectsByPath.set(path, [...(dialectsByPath.get(path) ?? []), dialect])
  }
  const servers = new Map<string, JsonRpcServer>()
  for (const [path, dialects] of dialectsByPath) {
    const server = createJsonRpcServer({ ...handler, dialects })
    servers.set(path, server)
    servers.set(`${path}/`, server)
  }
  return servers
}

/** A path that JSON-RPC and HTTP+JSON share: the body decides between them. */
function mixedTarget({ limits, observe, onError }: BindingHandler, rpc: JsonRpcServer, route: RestTarget): CallTarget {
  return {
    async answer(exchange, call) {
      let body: unknown
      try {
        assertJson(exchange.headers)
        body = parseJson(await exchange.readBody(limits.bodyBytes), limits)
      } catch (caught) {
        const error = A2AError.from(caught)
        onError(error)
        refusedCall(observe, call, error)
        return route.refuse(exchange, error)
      }
      const parsed = { ...call, body }
      return await (isRpc(body) ? rpc.answer(exchange, parsed) : route.answer(exchange, parsed))
    },
    async refuse(exchange, error) {
      const body = await exchange
        .readBody(maxPeekBytes)
        .then((bytes) => parseJson(bytes, limits))
        .catch(() => undefined)
      return isRpc(body) ? await rpc.refuse(exchange, error, body) : route.refuse(exchange, error)
    },
  }
}

function isRpc(body: unknown): boolean {
  return isObject(body) && 'jsonrpc' in body
}

function notFoundTarget({ observe }: BindingHandler, place: string, refuse: CallTarget['refuse']): CallTarget {
  return {
    isNotFound: true,
    answer(exchange, call) {
      const error = new A2AError('METHOD_NOT_FOUND', `Not found: ${place}`)
      refusedCall(observe, call, error)
      return refuse(exchange, error)
    },
    refuse,
  }
}

/** JSON-RPC sends errors with status 200; on a path without a binding the status must be 404. */
async function refuseWithout(rpc: JsonRpcServer | undefined, exchange: Exchange, error: A2AError): Promise<HttpAnswer> {
  const answer = await rpc?.refuse(exchange, error)
  if (!answer) return { status: 404, headers: jsonHeaders }
  return answer.status === 200 ? { ...answer, status: 404 } : answer
}

/** Whether a browser asks for the front page. */
function isVisit({ method, headers }: Exchange, path: string): boolean {
  const isRoot = path === '' || path === '/'
  return isRoot && (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.get('accept') ?? '')
}

function frontPage({ name, description, supportedInterfaces }: AgentCard, url: string): HttpAnswer {
  const [title, words, card] = [name, description, `${url}/.well-known/agent-card.json`].map(escaped)
  const interfaces = supportedInterfaces.map(
    ({ protocolBinding, protocolVersion, url: at }) =>
      `<li>${escaped(protocolBinding)} ${escaped(protocolVersion)}: <code>${escaped(at)}</code></li>`,
  )
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
<p>${words}</p>
<p>This is an agent that implements the Agent2Agent protocol. Programs read <a href="${card}">its card</a> and call it at:</p>
<ul>
${interfaces.join('\n')}
</ul>
</html>
`
  return {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      // The page loads nothing, runs nothing and cannot be framed.
      'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    },
    body: page,
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
