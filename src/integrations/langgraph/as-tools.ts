import type { StructuredToolInterface } from '@langchain/core/tools'
import { loadPackage } from '../../model/load-package.js'
import type { Struct } from '../../model/part.js'
import { callTool, toolsOf } from '../agent-tools.js'
import { type ClientOrAddress, lazyClient } from '../lazy-client.js'

/**
 * Returns the tools of an agent for LangChain models and `ToolNode`: one for each skill that publishes a schema, and one
 * that takes a message. A question of the agent is the result `{ state, question, taskId }`, as JSON; the model answers it
 * with the message tool.
 *
 * ```ts
 * const tools = await asTools('localhost:8001')
 * ```
 */
export async function asTools(client: ClientOrAddress): Promise<StructuredToolInterface[]> {
  const loading = import('@langchain/core/tools')
  const { tool } = await loadPackage('asTools of dragoman/langgraph', '@langchain/core', loading)
  const tools = toolsOf(await lazyClient(client)())
  return tools.map((each) => {
    const { name, description, schema } = each
    const run = (input: Struct, config?: { readonly signal?: AbortSignal }) => callTool(each, input, config?.signal)
    return tool(run, { name, description, schema })
  })
}
