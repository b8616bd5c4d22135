/** MCP over HTTP in front of the agents of a port: each agent is a tool. */
import type { AuthInfo, McpHttpHandler, ServerContext } from '@modelcontextprotocol/server'
import { A2AError, type ErrorCode } from '../../model/errors.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import type { Endpoint, Visit } from '../../server/endpoints.js'
import { type Exchange, type HttpAnswer, jsonHeaders } from '../../transports/exchange.js'
import { httpStatuses } from '../http-statuses.js'
import { type AgentServerDeps, createAgentServer } from './agent-server.js'
import { loadServerSdk, type ServerSdk } from './load-server.js'
import { type SessionLimits, Sessions, type SessionTransport } from './sessions.js'
import type { ToolAccess } from './tool-calls.js'
import { keyedAgents, toolsOf } from './tools.js'

/** Options of `mcpEndpoint`. */
export interface McpEndpointOptions extends Partial<SessionLimits> {
  /** The path of the endpoint. Default `/mcp`. */
  readonly path?: string
  /**
   * The time that a tool waits for its agent, in milliseconds. Afterwards it answers with the id of the task, which goes on.
   * Default 50,000: many clients stop waiting after a minute.
   */
  readonly waitMs?: number
}

const optionNames = {
  path: 'string',
  waitMs: 'limit',
  maxSessions: 'limit',
  sessionIdleMs: 'limit',
} satisfies NamesOf<McpEndpointOptions>

export const defaultWaitMs = 50_000

/**
 * Serves MCP beside A2A, for clients of all revisions. Each agent is a tool, or each of its skills that has a schema.
 * Needs the package `@modelcontextprotocol/server`, which is loaded with the first request.
 *
 * ```ts
 * await serve([tailor, chef], { endpoints: [mcpEndpoint({ path: '/mcp' })] })
 * ```
 */
export function mcpEndpoint(options: McpEndpointOptions = {}): Endpoint {
  assertOptions('mcpEndpoint', options, optionNames)
  const { path = '/mcp', waitMs = defaultWaitMs, maxSessions = 1000, sessionIdleMs = 3_600_000 } = options
  let isClosing = false
  let loading: Promise<McpService> | undefined
  const load = () => {
    loading ??= createService().catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
  const createService = async () =>
    new McpService(await loadServerSdk(), { maxSessions, sessionIdleMs }, { waitMs, isClosing: () => isClosing })
  return {
    name: 'mcp',
    paths: [path],
    isOAuthResource: true,
    async answer(exchange, visit) {
      if (visit.path !== path) return undefined
      return await (await load()).answer(exchange, visit)
    },
    refuse: refusalOf,
    async close() {
      isClosing = true
      await (await loading)?.close()
    },
  }
}

/** The endpoint with the package loaded. */
class McpService {
  readonly #sdk: ServerSdk
  readonly #modern: McpHttpHandler
  readonly #sessions: Sessions

  constructor(sdk: ServerSdk, limits: SessionLimits, settings: Pick<AgentServerDeps, 'waitMs' | 'isClosing'>) {
    const deps = { sdk, access: accessOf, ...settings }
    this.#sdk = sdk
    this.#modern = sdk.createMcpHandler(() => createAgentServer(deps), { legacy: 'reject' })
    this.#sessions = new Sessions(sdk, limits, (onCall) => createAgentServer({ ...deps, onCall }))
  }

  async answer(exchange: Exchange, visit: Visit): Promise<Response> {
    const { method, url, headers } = visit.toRequest()
    const body = method === 'POST' ? await visit.readJson() : undefined
    // A batch would count as one call for the rate of the port. Revision 2025-03-26 alone has batches.
    if (Array.isArray(body)) throw new A2AError('INVALID_REQUEST', 'Batches are not supported')
    // The body was read within the limits of the port, so the package gets it parsed.
    const request = new Request(url, { method, headers, signal: visit.signal })
    const given = { authInfo: authInfoOf(visit), ...(body !== undefined && { parsedBody: body }) }
    if (!(await this.#sdk.isLegacyRequest(request, body))) return await this.#modern.fetch(request, given)
    const answer = (transport: SessionTransport) => transport.handleRequest(request, given)
    const id = exchange.headers.get('mcp-session-id')
    if (id !== null) return await this.#sessions.use(id, visit.caller, answer, visit.signal)
    if (this.#sdk.isInitializeRequest(body)) return await this.#sessions.open(visit.caller, answer)
    throw new A2AError('INVALID_REQUEST', 'The header Mcp-Session-Id is missing; send `initialize` first')
  }

  async close(): Promise<void> {
    this.#sessions.closeAll()
    await this.#modern.close()
  }
}

/** The package hands this to the handlers of the request. */
function authInfoOf(visit: Visit): AuthInfo {
  return { token: '', clientId: visit.caller.id, scopes: [...(visit.caller.scopes ?? [])], extra: { visit } }
}

function accessOf(ctx: ServerContext): ToolAccess {
  const visit = ctx.http?.authInfo?.extra?.visit as Visit // set by `authInfoOf`
  const agents = keyedAgents(visit.agents.values())
  const onError = (error: unknown) => visit.log({ level: 'error', message: 'A tool of the endpoint mcp failed', error })
  return { caller: visit.caller, agents, tools: toolsOf(agents.values()), onError }
}

/** The codes of JSON-RPC; other errors are errors of the server. */
const rpcCodes: { readonly [code in ErrorCode]?: number } = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  INVALID_PARAMS: -32602,
  METHOD_NOT_FOUND: -32001, // the session
  INTERNAL_ERROR: -32603,
}

function refusalOf({ code, message }: A2AError): HttpAnswer {
  const error = { code: rpcCodes[code] ?? -32000, message }
  return {
    // As the package answers for other media types.
    status: code === 'CONTENT_TYPE_NOT_SUPPORTED' ? 415 : httpStatuses[code],
    headers: jsonHeaders,
    body: JSON.stringify({ jsonrpc: '2.0', error, id: null }),
  }
}
