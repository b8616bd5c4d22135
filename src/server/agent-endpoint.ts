/** Answers the requests below the path of one agent: its cards, its bindings and dialects, its tenants. */
import type { Admit } from '../auth/admit.js'
import type { Connection } from '../auth/scheme.js'
import type { Dialect } from '../dialects/dialect.js'
import { type AuthResult, isRefused, type Refused } from '../model/admission.js'
import type { AgentCard, Binding } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import { anonymous } from '../model/service.js'
import { readTraceContext } from '../model/trace-context.js'
import { refusedCall } from '../transports/call-record.js'
import { createJsonRpcServer, type JsonRpcServer, maxPeekBytes } from '../transports/jsonrpc/server.js'
import { assertJson, parseJson, readBody } from '../transports/read-json.js'
import { createRestServer, type RestCall, type RestServer } from '../transports/rest/server.js'
import { type BindingHandler, type IncomingCall, parameterHeaders } from '../transports/transport.js'
import type { OriginCheck } from './hosts.js'
import type { OfferedDialects } from './offered-dialects.js'
import type { CurrentCards } from './well-known.js'
import { createCardServer } from './well-known.js'

interface EndpointDeps {
  /** The card in its v1.0 form. */
  readonly card: AgentCard
  /** The agent's address, without a trailing slash. */
  readonly url: string
  readonly offered: OfferedDialects
  /** Shared by all bindings of this agent; each binding sets its own dialects. */
  readonly endpoint: BindingHandler
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

/** Answers a request by its path below the mount, which begins with a slash or is empty. */
export type AgentEndpoint = (request: Request, path: string, connection?: Connection) => Promise<Response>

/** The properties of a call that are known before its caller is authenticated. */
type From = Omit<IncomingCall, 'caller' | 'body'>

interface PendingCall {
  readonly request: Request
  readonly path: string
  readonly target: CallTarget
  readonly from: From
}

export function createAgentEndpoint(deps: EndpointDeps): AgentEndpoint {
  const { card, url, offered, endpoint, cards, startedMs, admit, tenants, isFromHere, protectsCard } = deps
  const showFrontPage = async () => frontPage(card, url)
  const findTarget = createFindTarget(endpoint)
  const findCard = createCardServer(cards, {
    startedMs,
    isProtected: protectsCard,
    vary: protectsCard ? endpoint.vary : parameterHeaders.version,
    refuse: (request, error) => findTarget(request, '/.well-known/').refuse(error),
  })
  // Longer paths first, so that a pinned path below another one wins.
  const byLength = [...offered.pinned].sort(([a], [b]) => b.length - a.length)
  const pinned = byLength.map(([path, dialect]) => ({
    path,
    find: createFindTarget({ ...endpoint, dialects: [dialect] }, { isPinned: true }),
  }))

  const refuse = async (
    { request, target, from }: PendingCall,
    { refused, challenge, caller }: Refused,
  ): Promise<Response> => {
    endpoint.onError(refused)
    // Ignore trace headers from unauthenticated callers.
    const trace = caller && readTraceContext((name) => request.headers.get(name))
    refusedCall(endpoint.observe, { ...from, caller, binding: target.binding, trace }, refused)
    const response = await target.refuse(refused)
    if (challenge !== undefined) response.headers.set('www-authenticate', challenge)
    return response
  }
  const enter = (pending: PendingCall, admission: AuthResult): Promise<Response> => {
    const { request, path, target, from } = pending
    if (isRefused(admission)) return refuse(pending, admission)
    const isHidden = from.tenant !== undefined && !endpoint.hasTenant(from.tenant, admission)
    // For callers that may not use a tenant, its name is a path that does not exist.
    if (isHidden)
      return targetOf(request, path, pinned, findTarget).answer({ caller: admission, address: from.address })
    return target.answer({ ...from, caller: admission })
  }

  return (request, path, connection) => {
    const answerCard = findCard(request, path)
    if (answerCard && !protectsCard) return answerCard()
    const { tenant, rest } = placeOf(path, tenants)
    const found = targetOf(request, rest, pinned, findTarget)
    const isVisited = found.isNotFound && cards.first.unversioned && isVisit(request, rest)
    const answer = answerCard ?? (isVisited ? showFrontPage : undefined)
    const target = answer ? { ...found, answer } : found
    const address = connection?.address
    const from: From = tenant === undefined ? { address } : { address, tenant }
    const pending: PendingCall = { request, path, target, from }
    if (!isFromHere(request)) {
      return refuse(pending, { refused: new A2AError('PERMISSION_DENIED', 'This origin may not call this agent') })
    }
    const fail = (caught: unknown) => refuse(pending, { refused: A2AError.from(caught) })
    try {
      const admission = admit ? admit({ ...connection, headers: request.headers, url: request.url }) : anonymous
      if (!(admission instanceof Promise)) return enter(pending, admission)
      return admission.then((settled) => enter(pending, settled)).catch(fail)
    } catch (caught) {
      return fail(caught)
    }
  }
}

/** A path pinned to a dialect wins over recognition by content. */
function targetOf(
  request: Request,
  path: string,
  pinned: readonly { readonly path: string; readonly find: FindTarget }[],
  findTarget: FindTarget,
): CallTarget {
  for (const each of pinned) {
    if (path === each.path || path.startsWith(`${each.path}/`)) return each.find(request, path.slice(each.path.length))
  }
  return findTarget(request, path)
}

/** A tenant prefix exists only where one is configured. */
function placeOf(path: string, tenants: ReadonlySet<string>): { readonly tenant?: string; readonly rest: string } {
  if (tenants.size === 0) return { rest: path }
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
  answer(call: IncomingCall): Promise<Response>
  /** Encodes the error in the caller's dialect. */
  refuse(error: A2AError): Promise<Response>
}

/** Finds the target by method and path; for unknown paths one that answers "not found". */
type FindTarget = (request: Request, path: string) => CallTarget

/** A pinned dialect has its JSON-RPC endpoint at the root of its pinned path. */
interface TargetOptions {
  readonly isPinned?: boolean
}

function createFindTarget(endpoint: BindingHandler, { isPinned = false }: TargetOptions = {}): FindTarget {
  const rpcByPath = createRpcServers(endpoint, isPinned)
  const restDialects = endpoint.dialects.filter(({ rest }) => rest)
  const rest = restDialects.length > 0 ? createRestServer({ ...endpoint, dialects: restDialects }) : undefined
  return (request, path) => {
    const rpc = request.method === 'POST' ? rpcByPath.get(path) : undefined
    const route = rest?.find(request, path)
    if (rpc && route) return mixedTarget(endpoint, request, rpc, route)
    if (rpc) {
      return {
        binding: 'JSONRPC',
        answer: (call) => rpc.answer(request, call),
        refuse: (error) => rpc.refuse(request, error),
      }
    }
    if (route) return { binding: 'HTTP+JSON', answer: route.answer, refuse: async (error) => route.refuse(error) }
    return notFoundTarget(endpoint, request, path, rest, rpcByPath)
  }
}

/** One server for each set of dialects that share a path. */
function createRpcServers(endpoint: BindingHandler, isPinned: boolean): ReadonlyMap<string, JsonRpcServer> {
  const dialectsByPath = new Map<string, Dialect[]>()
  for (const dialect of endpoint.dialects) {
    if (!dialect.jsonrpc) continue
    const paths = isPinned ? [''] : (dialect.jsonrpc.paths ?? [''])
    for (const path of paths) dialectsByPath.set(path, [...(dialectsByPath.get(path) ?? []), dialect])
  }
  const servers = new Map<string, JsonRpcServer>()
  for (const [path, dialects] of dialectsByPath) {
    const server = createJsonRpcServer({ ...endpoint, dialects })
    servers.set(path, server)
    servers.set(`${path}/`, server)
  }
  return servers
}

/** A path that JSON-RPC and HTTP+JSON share: the body decides between them. */
function mixedTarget(endpoint: BindingHandler, request: Request, rpc: JsonRpcServer, route: RestCall): CallTarget {
  return {
    async answer(call) {
      let body: unknown
      try {
        assertJson(request)
        body = parseJson(await readBody(request, endpoint.limits.bodyBytes), endpoint.limits)
      } catch (caught) {
        const error = A2AError.from(caught)
        endpoint.onError(error)
        refusedCall(endpoint.observe, call, error)
        return route.refuse(error)
      }
      return await (isRpc(body) ? rpc.answer(request, { ...call, body }) : route.answer({ ...call, body }))
    },
    async refuse(error) {
      const peek = await readBody(request.clone(), maxPeekBytes)
        .then((bytes) => parseJson(bytes, endpoint.limits))
        .catch(() => undefined)
      return isRpc(peek) ? await rpc.refuse(request, error) : route.refuse(error)
    },
  }
}

function isRpc(body: unknown): boolean {
  return isObject(body) && 'jsonrpc' in body
}

function notFoundTarget(
  { observe }: BindingHandler,
  request: Request,
  path: string,
  rest: RestServer | undefined,
  rpcByPath: ReadonlyMap<string, JsonRpcServer>,
): CallTarget {
  const nothing = (call: IncomingCall): A2AError => {
    const error = new A2AError('METHOD_NOT_FOUND', `Not found: ${request.method} ${path.slice(0, 200) || '/'}`)
    refusedCall(observe, call, error)
    return error
  }
  const refuse = async (error: A2AError): Promise<Response> => {
    if (rest) return rest.refuse(request, path, error)
    // JSON-RPC sends errors with status 200; on a path without a binding the status must be 404.
    const [rpc] = rpcByPath.values()
    const rpcResponse = await rpc?.refuse(request, error)
    if (rpcResponse && rpcResponse.status !== 200) return rpcResponse
    return new Response((await rpcResponse?.text()) ?? null, {
      status: 404,
      headers: { 'content-type': 'application/json' },
    })
  }
  return { isNotFound: true, answer: (call) => refuse(nothing(call)), refuse }
}

/** Whether a browser asks for the front page. */
function isVisit({ method, headers }: Request, path: string): boolean {
  const isRoot = path === '' || path === '/'
  return isRoot && (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.get('accept') ?? '')
}

function frontPage({ name, description, supportedInterfaces }: AgentCard, url: string): Response {
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
  return new Response(page, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      // The page loads nothing, runs nothing and cannot be framed.
      'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    },
  })
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
