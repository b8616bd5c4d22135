// Who belongs to the demonstration, and where each of them usually is.
import { echoAgent } from 'dragoman/testing'
import { agents } from '../agents/index.js'
import * as document from '../workflows/document.js'

/** @import { Placed } from '../agents/index.js' */

const { default: documentWorkflow, ...documentPlace } = document

/** Who asks others comes behind them: they are started in this order and closed in the opposite one.
 * @type {readonly Placed[]}
 */
export const members = [
  { agent: echoAgent, port: 8009 },
  ...agents.filter(({ agent }) => agent.card.name !== 'ChatAgent'),
  { agent: documentWorkflow, ...documentPlace },
  ...agents.filter(({ agent }) => agent.card.name === 'ChatAgent'),
]

export const registryPort = 8020

/** Whose port carries the console. */
export const consoleAt = documentWorkflow.card.name
