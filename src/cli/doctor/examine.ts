/** The whole examination, from the way to the agent to its streams; each step only where the one before allows it. */
import { validateCard } from '../../server/index.js'
import { examinePush, examineSecurity } from './abilities.js'
import { findCard } from './find-card.js'
import type { Diagnosis, Finding, Health } from './finding.js'
import { examineInterfaces } from './interfaces.js'
import type { Means } from './patient.js'
import { examineWay } from './reach.js'
import { examineSending, examineSubscription } from './streams.js'

export interface Examination {
  readonly ref: string
  /** What to send; absent: nothing is sent. */
  readonly text?: string
}

export async function examine({ ref, text }: Examination, given: Means): Promise<Diagnosis> {
  const findings: Finding[] = []
  const means: Means = {
    ...given,
    report(finding) {
      findings.push(finding)
      given.report(finding)
    },
  }
  const isAnswered = await examineAll(ref, text, means)
  const health: Health = !isAnswered
    ? 'unreachable'
    : findings.some(({ verdict }) => verdict === 'problem')
      ? 'problems'
      : 'healthy'
  return { health, findings }
}

/** Whether anybody answered. */
async function examineAll(ref: string, text: string | undefined, means: Means): Promise<boolean> {
  const { found, asked, isAnswered, findings } = await findCard(ref, means)
  if (asked !== undefined && !(await examineWay(new URL(asked), means))) return false
  for (const finding of findings) means.report(finding)
  if (!found) return isAnswered
  await examineOldCard(found.url, means)
  const [first] = await examineInterfaces(found, means)
  if (!first) return isAnswered
  const { card } = found
  const { entry, means: known } = first
  if (!(await examineSecurity(card, entry, known))) return isAnswered
  await examinePush(card, entry, known)
  await examineSubscription(card, entry, known)
  if (text === undefined)
    means.report({
      check: 'sending',
      verdict: 'skipped',
      what: 'nothing was sent, so answers and streams were not looked at',
      advice: '--send sends a message',
    })
  else await examineSending(card, entry, known, text)
  return isAnswered
}

const noOldCard: Finding = {
  check: 'older cards',
  verdict: 'note',
  what: 'there is none, so clients of 0.2 and older do not find the agent',
}

/** Clients of 0.2 and older look for their card elsewhere. */
async function examineOldCard(url: string, { timeoutMs, report }: Means): Promise<void> {
  if (!url.endsWith('/agent-card.json')) return
  const place = url.replace(/agent-card\.json$/, 'agent.json')
  try {
    const response = await fetch(place, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    const { version } = response.ok ? validateCard(await response.json()) : { version: 'unknown' }
    if (version === 'unknown') report(noOldCard)
    else report({ check: 'older cards', verdict: 'ok', what: `a ${version} card at ${place}` })
  } catch {
    report(noOldCard)
  }
}
