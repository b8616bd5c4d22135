/** The tools of a set of agents: one for each skill with a schema, or one for the agent, and two about tasks. */
import type { Tool } from '@modelcontextprotocol/server'
import type { AgentCard, AgentSkill } from '../../model/agent-card.js'
import type { Struct } from '../../model/part.js'
import type { AgentService } from '../../model/service.js'
import { inputSchemaOf } from '../../model/skill-schemas.js'
import { agentDescription, toolName } from '../agent-tools.js'

/** An agent that tools call. */
export interface ToolAgent {
  /** Names the agent in task ids and request states. Unique in its set. */
  readonly key: string
  readonly card: AgentCard
  readonly service: AgentService
}

/** A tool, and the agent and skill that it calls. */
export interface AgentTool {
  readonly definition: Tool
  readonly agent: ToolAgent
  /** The skill whose schema the arguments fit; undefined if the argument is a message. */
  readonly skillId?: string
}

export const replyTool = 'a2a_reply'
export const taskTool = 'a2a_task'

/** Cards come from peers, and models read the whole list. */
const maxSkills = 100
const maxDescription = 4000

/** Creates the tools of the agents. A name that is taken gets a number. */
export function toolsOf(agents: Iterable<ToolAgent>): ReadonlyMap<string, AgentTool> {
  const tools = new Map<string, AgentTool>()
  const names = new Set([replyTool, taskTool])
  const add = (wanted: string, tool: Omit<AgentTool, 'definition'>, definition: Omit<Tool, 'name'>) => {
    const name = toolName(wanted, names)
    tools.set(name, { ...tool, definition: { name, ...definition } })
  }
  for (const agent of agents) {
    const { card, key } = agent
    const skills = card.skills.slice(0, maxSkills)
    const withSchema = skills.flatMap((skill) => {
      const inputSchema = argumentsSchema(inputSchemaOf(card, skill.id))
      return inputSchema ? [{ skill, inputSchema }] : []
    })
    if (withSchema.length === 0 || withSchema.length < skills.length) add(key, { agent }, messageTool(card))
    for (const { skill, inputSchema } of withSchema)
      add(`${key}_${skill.id}`, { agent, skillId: skill.id }, skillTool(card, skill, inputSchema))
  }
  return tools
}

/** The definitions of the tools about tasks. */
export const taskTools: readonly Tool[] = [
  {
    name: replyTool,
    title: 'Answer an agent',
    description:
      'Answers the question of an agent. Use it when a tool answered with a question and a task_id. Ask the user if you do not know the answer.',
    inputSchema: {
      type: 'object',
      properties: {
        task_id: { type: 'string', description: 'The task_id that came with the question' },
        answer: { description: 'The answer: text, or an object that fits the JSON Schema of the question' },
      },
      required: ['task_id', 'answer'],
    },
    annotations: { openWorldHint: true },
  },
  {
    name: taskTool,
    title: 'Wait for an agent',
    description:
      'Waits for the result of a task that was still running, and returns it. Call it again if the task is not finished.',
    inputSchema: {
      type: 'object',
      properties: { task_id: { type: 'string', description: 'The task_id of the running task' } },
      required: ['task_id'],
    },
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
]

function messageTool(card: AgentCard): Omit<Tool, 'name'> {
  return {
    title: card.name,
    description: agentDescription(card),
    inputSchema: {
      type: 'object',
      properties: {
        message: { type: 'string', description: `The message for the agent ${card.name}, in natural language` },
        context_id: {
          type: 'string',
          description: 'Continues an earlier conversation with this agent: the context_id of its last answer',
        },
      },
      required: ['message'],
    },
    annotations: { openWorldHint: true },
  }
}

function skillTool(card: AgentCard, { name, description }: AgentSkill, inputSchema: Tool['inputSchema']) {
  return {
    title: `${card.name}: ${name}`,
    description: description.slice(0, maxDescription),
    inputSchema,
    annotations: { openWorldHint: true },
  }
}

/** Arguments of tools are objects. A skill that takes other data is called with a message. */
function argumentsSchema(schema: Struct | undefined): Tool['inputSchema'] | undefined {
  return schema?.type === 'object' ? (schema as Tool['inputSchema']) : undefined // `type` was checked
}

/** Gives each agent a key. Equal agents in the same order get equal keys. */
export function keyedAgents(agents: Iterable<Omit<ToolAgent, 'key'>>): ReadonlyMap<string, ToolAgent> {
  const taken = new Set<string>()
  return new Map(
    [...agents].map(({ card, service }) => {
      const key = toolName(card.name, taken)
      return [key, { key, card, service }]
    }),
  )
}
