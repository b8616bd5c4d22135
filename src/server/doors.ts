/**
 * The HTTP ways into one agent: which paths below its mount are JSON-RPC, which are routes, and what to
 * answer where both are possible. Who may come in is decided elsewhere.
 */
import type { Dialect } from '../dialects/dialect.js'
import type { Binding } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import { refusedCall } from '../transports/call-record.js'
import { createJsonRpcServer, type JsonRpcServer, maxPeekBytes } from '../transports/jsonrpc/server.js'
import { assertJson, parseJson, readBody } from '../transports/read-json.js'
import { createRestServer, type RestCall, type RestServer } from '../transports/rest/server.js'
import type { BindingHandler, IncomingCall } from '../transports/transport.js'

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
