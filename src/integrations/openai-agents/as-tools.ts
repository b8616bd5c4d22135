import type { FunctionTool } from '@openai/agents-core'
import { isStruct } from '../../model/json-schema.js'
import { callTool, toolsOf } from '../agent-tools.js'
import { parseJson } from '../json.js'
import { type ClientOrAddress, lazyClient } from '../lazy-client.js'

/**
 * Returns the tools of an agent for the OpenAI Agents SDK: one for each skill that publishes a schema, and one that takes a
 * message. A question of the agent is the result `{ state, question, taskId }`, as JSON; the model answers it with the
 * message tool. If a task fails, the result is the reason.
 *
 * ```ts
 * new Agent({ name: 'Front desk', tools: await asTools('localhost:8001') })
 * ```
 */
export async function asTools(client: ClientOrAddress): Promise<FunctionTool[]> {
  return toolsOf(await lazyClient(client)()).map((tool) => ({
    type: 'function',
    name: tool.name,
    description: tool.description,
    parameters: tool.schema as unknown as FunctionTool['parameters'], // its type cannot express schemas of peers
    strict: false,
    needsApproval: () => Promise.resolve(false),
    isEnabled: () => Promise.resolve(true),
    async invoke(_context, json, details) {
      const input = parseJson(json, undefined)
      if (!isStruct(input)) return 'Invalid arguments: they must be a JSON object'
      try {
        return await callTool(tool, input, details?.signal)
      } catch (error) {
        if (details?.signal?.aborted) throw error
        // The model can react to a failed tool; a thrown error would end the run.
        return `The call failed: ${error instanceof Error ? error.message : String(error)}`
      }
    },
  }))
}
