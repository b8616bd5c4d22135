/**
 * Cards of 0.2 and older need not say their version, and most methods of theirs have the same names. Those for
 * webhooks have not: asking both ways for one that does not exist tells, and changes nothing.
 */
import { randomUUID } from 'node:crypto'
import type { AgentCard, AgentInterface } from '../../client/index.js'
import { clientDialects } from '../../dialects/index.js'
import { type Means, tryCall } from './patient.js'

/** The interface as it turned out to be. */
export async function settleVersion(card: AgentCard, entry: AgentInterface, means: Means): Promise<AgentInterface> {
  if (!(await isForeign(card, entry, means))) return entry
  const alternative = alternativeTo(entry.protocolVersion)
  if (alternative === undefined) return entry
  const newer: AgentInterface = { ...entry, protocolVersion: alternative }
  if (await isForeign(card, newer, means)) return entry
  means.report({
    check: 'version',
    verdict: 'warning',
    what: `the card does not say its version, and looks like ${entry.protocolVersion}: methods of ${alternative} are understood, those of ${entry.protocolVersion} are not`,
    advice: 'put protocolVersion into the card, so that clients need not guess',
  })
  return newer
}

/** The oldest version of the dialect that an agent with such a card may speak instead. */
function alternativeTo(version: string): string | undefined {
  const [name] = clientDialects.find(({ cardVersion }) => cardVersion === version)?.card?.alternatives ?? []
  return clientDialects.find((each) => each.name === name)?.versions.at(-1)
}

async function isForeign(card: AgentCard, entry: AgentInterface, means: Means): Promise<boolean> {
  const { outcome } = await tryCall(means, { card, entry, identity: means.identity }, (agent, signal) =>
    agent.getTaskPushNotificationConfig({ taskId: randomUUID(), id: randomUUID() }, { signal }),
  )
  return 'refusal' in outcome && outcome.refusal === 'METHOD_NOT_FOUND'
}
