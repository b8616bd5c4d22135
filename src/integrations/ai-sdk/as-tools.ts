/** An A2A agent as tools of the AI SDK: `generateText({ model, tools: await asTools('localhost:8001'), prompt })`. */
import type { Tool } from 'ai'
import { fromJsonSchema } from '../../model/from-json-schema.js'
import type { Struct } from '../../model/part.js'
import { type AgentTool, type ToolResult, toolsOf } from '../agent-tools.js'
import { type ClientOrAddress, lazyClient } from '../lazy-client.js'

/** Tools by name, as `generateText`, `streamText` and `ToolLoopAgent` take them. */
export type AgentTools = Record<string, Tool<Struct, ToolResult>>

/**
 * Makes tools of an agent: one for each skill that publishes a schema, and one that takes a message. The text so far is a
 * preliminary result. A question of the agent is a result with a `taskId`, with which the model can answer. Aborting
 * cancels the task; a task that fails is a tool error.
 *
 * ```ts
 * const { text } = await generateText({ model, tools: await asTools('localhost:8001'), prompt: 'Dress me' })
 * ```
 */
export async function asTools(client: ClientOrAddress): Promise<AgentTools> {
  const agent = await lazyClient(client)()
  return Object.fromEntries(toolsOf(agent).map((tool) => [tool.name, toolOf(tool)]))
}

function toolOf({ description, schema, call }: AgentTool): Tool<Struct, ToolResult> {
  return {
    description,
    inputSchema: fromJsonSchema<Struct>(schema),
    execute: (input, { abortSignal }) => call(input, { signal: abortSignal }),
  }
}
