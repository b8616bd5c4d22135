// Who belongs to the demonstration, and where each of them usually is.
import { echoAgent } from 'dragoman/testing'
import { agents, type Placed } from '../agents/index.ts'
import * as document from '../workflows/document.ts'

const { default: documentWorkflow, ...documentPlace } = document

/** Who asks others comes behind them: they are started in this order and closed in the opposite one. */
export const members: readonly Placed[] = [
  { agent: echoAgent, port: 8009 },
  ...agents.filter(({ agent }) => agent.card.name !== 'ChatAgent'),
  { agent: documentWorkflow, ...documentPlace },
  ...agents.filter(({ agent }) => agent.card.name === 'ChatAgent'),
]

export const registryPort = 8020

/** Whose port carries the console. */
export const consoleAt = documentWorkflow.card.name
