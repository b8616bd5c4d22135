/** Everything one agent answers below its mount: cards, the doors of its dialects, tenants. */
import type { Admit } from '../auth/admit.js'
import type { Connection } from '../auth/scheme.js'
import type { Dialect } from '../dialects/dialect.js'
import { type Admission, isRefused, type Refused } from '../model/admission.js'
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

export interface EndpointParts {
  /** As v1.0 has it. */
  readonly card: AgentCard
  /** Where the agent is, without a final slash. */
  readonly url: string
  readonly offered: OfferedDialects
  /** What every door of this agent shares; each puts its own dialects in. */
  readonly endpoint: BindingHandler
  readonly cards: CurrentCards
  readonly startedMs: number
  /** Who a request is from. Absent: everybody is `anonymous`. */
  readonly admit: Admit | undefined
  /** Those that exist, whoever may use them. */
  readonly tenants: ReadonlySet<string>
  readonly isFromHere: OriginCheck
  /** Cards are for callers that `admit` lets in, too. */
  readonly protectsCard: boolean
}

/** Answers a request by its path below the mount, which begins with a slash or is empty. */
export type AgentEndpoint = (request: Request, path: string, connection?: Connection) => Promise<Response>

/** What is known of a call before its caller is. */
type From = Omit<IncomingCall, 'caller' | 'body'>

interface Visit {
  readonly request: Request
  readonly path: string
  readonly door: Door
  readonly from: From
}

export function createAgentEndpoint(parts: EndpointParts): AgentEndpoint {
  const { card, url, offered, endpoint, cards, startedMs, admit, tenants, isFromHere, protectsCard } = parts
  const showFrontPage = async () => frontPage(card, url)
  const doors = createDoors(endpoint)
  const findCard = createCardServer(cards, {
    startedMs,
    isProtected: protectsCard,
    vary: protectsCard ? endpoint.vary : parameterHeaders.version,
    refuse: (request, error) => doors(request, '/.well-known/').refuse(error),
  })
  // Longer paths first: a pin below another one is its own.
  const byLength = [...offered.pinned].sort(([a], [b]) => b.length - a.length)
  const pinned = byLength.map(([path, dialect]) => ({
    path,
    doors: createDoors({ ...endpoint, dialects: [dialect] }, { isPinned: true }),
  }))

  const refuse = async ({ request, door, from }: Visit, { refused, challenge, caller }: Refused): Promise<Response> => {
    endpoint.onError(refused)
    // Whoever is nobody cannot have its calls appear in somebody's trace.
    const trace = caller && readTraceContext((name) => request.headers.get(name))
    refusedCall(endpoint.observe, { ...from, caller, binding: door.binding, trace }, refused)
    const response = await door.refuse(refused)
    if (challenge !== undefined) response.headers.set('www-authenticate', challenge)
    return response
  }
  const enter = (visit: Visit, admission: Admission): Promise<Response> => {
    const { request, path, door, from } = visit
    if (isRefused(admission)) return refuse(visit, admission)
    const isHidden = from.tenant !== undefined && !endpoint.hasTenant(from.tenant, admission)
    // A tenant that is not this caller's does not exist: its name is a path that leads nowhere.
    if (isHidden) return findDoor(request, path, pinned, doors).answer({ caller: admission, address: from.address })
    return door.answer({ ...from, caller: admission })
  }

  return (request, path, connection) => {
    const answerCard = findCard(request, path)
    if (answerCard && !protectsCard) return answerCard()
    const { tenant, rest } = placeOf(path, tenants)
    const found = findDoor(request, rest, pinned, doors)
    const isVisited = found.isBlind && cards.first.unversioned && isVisit(request, rest)
    const answer = answerCard ?? (isVisited ? showFrontPage : undefined)
    const door = answer ? { ...found, answer } : found
    const address = connection?.address
    const from: From = tenant === undefined ? { address } : { address, tenant }
    const visit: Visit = { request, path, door, from }
    if (!isFromHere(request)) {
      return refuse(visit, { refused: new A2AError('PERMISSION_DENIED', 'This origin may not call this agent') })
    }
    const fail = (caught: unknown) => refuse(visit, { refused: A2AError.from(caught) })
    try {
      const admission = admit ? admit({ ...connection, headers: request.headers, url: request.url }) : anonymous
      if (!(admission instanceof Promise)) return enter(visit, admission)
      return admission.then((settled) => enter(visit, settled)).catch(fail)
    } catch (caught) {
      return fail(caught)
    }
  }
}

/** A path pinned to a dialect wins over recognition. */
function findDoor(
  request: Request,
  path: string,
  pinned: readonly { readonly path: string; readonly doors: Doors }[],
  doors: Doors,
): Door {
  for (const each of pinned) {
    if (path === each.path || path.startsWith(`${each.path}/`)) return each.doors(request, path.slice(each.path.length))
  }
  return doors(request, path)
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

/** What a request is, before anybody knows who sent it. */
export interface Door {
  /** Nothing is behind it. */
  readonly isBlind?: true
  /** Absent where the body would tell, or nothing is behind the door. */
  readonly binding?: Binding
  answer(arrival: IncomingCall): Promise<Response>
  /** Says no in the words of the dialect that is spoken at this door. */
  refuse(error: A2AError): Promise<Response>
}

/** Finds the door by verb and path; there is always one, if only to say that nothing is behind it. */
export type Doors = (request: Request, path: string) => Door

/** A dialect that is pinned has all its paths where it is pinned to: its JSON-RPC is at the root there. */
export interface DoorOptions {
  readonly isPinned?: boolean
}

export function createDoors(endpoint: BindingHandler, { isPinned = false }: DoorOptions = {}): Doors {
  const rpcByPath = createRpcServers(endpoint, isPinned)
  const restDialects = endpoint.dialects.filter(({ rest }) => rest)
  const rest = restDialects.length > 0 ? createRestServer({ ...endpoint, dialects: restDialects }) : undefined
  return (request, path) => {
    const rpc = request.method === 'POST' ? rpcByPath.get(path) : undefined
    const route = rest?.find(request, path)
    if (rpc && route) return eitherDoor(endpoint, request, rpc, route)
    if (rpc) {
      return {
        binding: 'JSONRPC',
        answer: (arrival) => rpc.answer(request, arrival),
        refuse: (error) => rpc.refuse(request, error),
      }
    }
    if (route) return { binding: 'HTTP+JSON', answer: route.answer, refuse: async (error) => route.refuse(error) }
    return noDoor(endpoint, request, path, rest, rpcByPath)
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

/** A path that takes a bare body and a JSON-RPC one: the body tells which it is. */
function eitherDoor(endpoint: BindingHandler, request: Request, rpc: JsonRpcServer, route: RestCall): Door {
  return {
    async answer(arrival) {
      let body: unknown
      try {
        assertJson(request)
        body = parseJson(await readBody(request, endpoint.limits.bodyBytes), endpoint.limits)
      } catch (caught) {
        const error = A2AError.from(caught)
        endpoint.onError(error)
        refusedCall(endpoint.observe, arrival, error)
        return route.refuse(error)
      }
      return await (isRpc(body) ? rpc.answer(request, { ...arrival, body }) : route.answer({ ...arrival, body }))
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

function noDoor(
  { observe }: BindingHandler,
  request: Request,
  path: string,
  rest: RestServer | undefined,
  rpcByPath: ReadonlyMap<string, JsonRpcServer>,
): Door {
  const nothing = (arrival: IncomingCall): A2AError => {
    const error = new A2AError('METHOD_NOT_FOUND', `Nothing answers ${request.method} ${path.slice(0, 200) || '/'}`)
    refusedCall(observe, arrival, error)
    return error
  }
  const refuse = async (error: A2AError): Promise<Response> => {
    if (rest) return rest.refuse(request, path, error)
    // JSON-RPC's errors are successes to HTTP; here nobody speaks it, and there is nothing to succeed in.
    const [rpc] = rpcByPath.values()
    const said = await rpc?.refuse(request, error)
    if (said && said.status !== 200) return said
    return new Response((await said?.text()) ?? null, { status: 404, headers: { 'content-type': 'application/json' } })
  }
  return { isBlind: true, answer: (arrival) => refuse(nothing(arrival)), refuse }
}

/** Whether a person is looking, and not a program. */
export function isVisit({ method, headers }: Request, path: string): boolean {
  const isRoot = path === '' || path === '/'
  return isRoot && (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.get('accept') ?? '')
}

export function frontPage({ name, description, supportedInterfaces }: AgentCard, url: string): Response {
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
<p>This is an agent that speaks the Agent2Agent protocol. Programs read <a href="${card}">its card</a> and call it at:</p>
<ul>
${interfaces.join('\n')}
</ul>
</html>
`
  return new Response(page, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      // Nothing is loaded, nothing runs, nobody shows it as theirs.
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
