// The agents of the demonstration and their default ports.
import { echoAgent } from 'dragoman/testing'
import { type AgentEntry, agents } from '../agents/index.ts'
import * as document from '../workflows/document.ts'

const { default: documentWorkflow, ...documentPlace } = document

/** In order of start; closed in reverse order. Agents that call other agents follow them. */
export const members: readonly AgentEntry[] = [
  { agent: echoAgent, port: 8009 },
  ...agents.filter(({ agent }) => agent.card.name !== 'ChatAgent'),
  { agent: documentWorkflow, ...documentPlace },
  ...agents.filter(({ agent }) => agent.card.name === 'ChatAgent'),
]

export const registryPort = 8020

/** Name of the agent whose port serves the console. */
export const consoleAgent = documentWorkflow.card.name
