import { type AgentInit, initOf } from '../engine/agent.js'
import { approvals } from '../model/approvals.js'
import { steps } from '../model/steps.js'
import { usage } from '../model/usage.js'

/** The card of an agent that the function `from` makes, with the extensions for tool calls, usage and approvals. */
export function agentInit(card: string | AgentInit, from: string): AgentInit {
  const init = initOf(card, `\`${from}\` needs a name for the agent: ${from}(…, 'Payer')`)
  const declared = init.extensions ?? []
  const added = [steps, usage, approvals].filter(({ uri }) => !declared.some((each) => each.uri === uri))
  return { ...init, extensions: [...declared, ...added] }
}
