/** MCP clients of both majors, as far as `fromMcp` uses them. Neither package is loaded here. */
import { isStruct } from '../../model/json-schema.js'
import type { JsonValue, Struct } from '../../model/part.js'

/** A connected MCP client: `Client` of `@modelcontextprotocol/client` (2.x) or of `@modelcontextprotocol/sdk` (1.x). */
export interface McpClient {
  listTools(params?: {
    cursor?: string
  }): Promise<{ readonly tools: readonly object[]; readonly nextCursor?: string | undefined }>
  callTool(params: { name: string; arguments?: Record<string, unknown> }, ...options: never[]): Promise<object>
}

/** A tool of an MCP server. */
export interface McpTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema?: Struct
}

/** A call of a tool; the second call of one that asked has the answers. */
export interface McpCall {
  readonly name: string
  readonly arguments: Struct
  readonly requestState?: string
  readonly inputResponses?: Struct
}

/** A result of a tool, or the questions that it asks first. */
export type McpResult = Struct

interface CallOptions {
  readonly signal: AbortSignal
  readonly onprogress: (progress: {
    readonly message?: string
    readonly progress: number
    readonly total?: number
  }) => void
}

/** Servers decide how many pages there are. */
const maxPages = 64

/** All tools of the server, without those that share a name with an earlier one. */
export async function toolsOf(client: McpClient): Promise<ReadonlyMap<string, McpTool>> {
  const tools = new Map<string, McpTool>()
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const { tools: listed, nextCursor } = await client.listTools(cursor === undefined ? undefined : { cursor })
    for (const tool of listed as readonly McpTool[]) if (!tools.has(tool.name)) tools.set(tool.name, tool)
    if (nextCursor === undefined) break
    cursor = nextCursor
  }
  return tools
}

/** Clients give up after a minute by default; a task has no limit. */
const timeout = 2 ** 31 - 1

export async function callTool(
  client: McpClient,
  call: McpCall,
  tool: McpTool,
  options: CallOptions,
): Promise<McpResult> {
  const common = { timeout, resetTimeoutOnProgress: true, ...options }
  const run = client.callTool as (...args: readonly unknown[]) => Promise<McpResult> // declared differently in each major
  if (!isV2(client)) return await run.call(client, call, undefined, common)
  // Without an output schema, because a question has no structured content.
  const { outputSchema: _, ...toolDefinition } = tool as McpTool & { readonly outputSchema?: unknown }
  return await run.call(client, call, { ...common, allowInputRequired: true, toolDefinition })
}

interface ClientV2 extends McpClient {
  getProtocolEra(): string | undefined
  assertCanSetRequestHandler(method: string): void
  setRequestHandler(method: string, handler: () => Promise<JsonValue>): void
}

function isV2(client: McpClient): client is ClientV2 {
  return 'getProtocolEra' in client
}

/**
 * Declines the questions of servers of older revisions, which wait for the answer while the call is open. A task that waits
 * would have to keep the call open for days. Leaves a handler of the application alone.
 */
export function declineOpenQuestions(client: McpClient): void {
  if (!isV2(client)) return
  try {
    client.assertCanSetRequestHandler('elicitation/create')
    client.setRequestHandler('elicitation/create', async () => ({ action: 'decline' }))
  } catch {
    // The application handles questions, or has not declared that the client can be asked.
  }
}

/** The questions of a result; undefined if it is the last one. */
export function questionsIn(result: McpResult): ReadonlyMap<string, Struct> | undefined {
  if (result.resultType !== 'input_required') return undefined
  const requests = isStruct(result.inputRequests) ? result.inputRequests : {}
  return new Map(Object.entries(requests).map(([key, request]) => [key, isStruct(request) ? request : {}]))
}
