import { type AgentInit, initOf } from '../engine/agent.js'
import { approvals } from '../model/approvals.js'
import { ValueKind } from '../model/option-names.js'
import { steps } from '../model/steps.js'
import { usage } from '../model/usage.js'

/** The kind of the option `maxEarlierTasks`: `turn.earlier` returns at most 100 tasks. */
export const earlierTasks = new ValueKind(
  'an integer from 0 to 100',
  (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 100,
  (value) => (typeof value === 'number' ? String(value) : undefined),
)

/** The card of an agent that the function `from` makes, with the extensions for tool calls, usage and approvals. */
export function agentInit(card: string | AgentInit, from: string): AgentInit {
  const init = initOf(card, `\`${from}\` needs a name for the agent: ${from}(…, 'Payer')`)
  const declared = init.extensions ?? []
  const added = [steps, usage, approvals].filter(({ uri }) => !declared.some((each) => each.uri === uri))
  return { ...init, extensions: [...declared, ...added] }
}
