// All agents with their default ports and options, for programs that serve several of them.
import type { Agent } from 'dragoman'
import * as chat from './chat.ts'
import * as doc from './doc.ts'
import * as image from './image.ts'
import * as order from './order.ts'
import * as outline from './outline.ts'
import type { ServeDefaults } from './serve-when-run.ts'
import * as summary from './summary.ts'
import * as travel from './travel.ts'

export type AgentEntry = ServeDefaults & { agent: Agent }

/** Agents that call other agents follow them. */
export const agents: readonly AgentEntry[] = [outline, doc, summary, order, travel, image, chat].map(
  ({ default: agent, ...defaults }) => ({
    agent,
    ...defaults,
  }),
)
