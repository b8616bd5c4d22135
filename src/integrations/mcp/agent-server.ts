/** An MCP server whose tools are agents. */
import type {
  JsonSchemaType,
  JsonSchemaValidator,
  jsonSchemaValidator,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server'
import { version } from '../../model/user-agent.js'
import { type ToolAccess, ToolCall, type ToolCallDeps } from './tool-calls.js'
import { taskTools } from './tools.js'

export interface AgentServerDeps extends Omit<ToolCallDeps, 'clientCapabilities'> {
  /** The agents that the sender of a request may call. */
  readonly access: (ctx: ServerContext) => ToolAccess | Promise<ToolAccess>
  /** Called when a tool is called. Returns a function that is called at its end. */
  readonly onCall?: () => () => void
}

const instructions =
  'Each tool sends a message to an agent. An agent may ask a question, or take longer than a call: the result then has a task_id for a2a_reply or a2a_task.'

/** The agents check the answers to their questions. Compiling schemas of agents here would cost time and memory. */
const noValidation: jsonSchemaValidator = {
  getValidator<T>(_schema: JsonSchemaType): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined }) // not checked on purpose
  },
}

/** Creates a server for one connection, or for one request of revision 2026-07-28. */
export function createAgentServer(deps: AgentServerDeps): Server {
  const server = new deps.sdk.Server(
    { name: 'dragoman', version },
    { capabilities: { tools: {} }, instructions, jsonSchemaValidator: noValidation },
  )
  const callDeps: ToolCallDeps = { ...deps, clientCapabilities: () => server.getClientCapabilities() }
  server.setRequestHandler('tools/list', async (_request, ctx) => {
    const { tools } = await deps.access(ctx)
    return { tools: [...[...tools.values()].map(({ definition }) => definition), ...taskTools] }
  })
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const onEnd = deps.onCall?.()
    try {
      return await new ToolCall(callDeps, await deps.access(ctx), ctx).answer(params)
    } finally {
      onEnd?.()
    }
  })
  return server
}
