/** The whole examination, from the way to the agent to its streams; each step only where the one before allows it. */
import { canParseUrl } from '../../model/can-parse-url.js'
import { validateCard } from '../../server/index.js'
import { examinePush, examineSecurity } from './abilities.js'
import { type FoundCard, findCard } from './find-card.js'
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
  for (const { fault, advice } of refusedByAdk(found))
    means.report({ check: 'Google ADK', verdict: 'note', what: `refuses this card: ${fault}`, advice })
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
    if (response.status === 401) {
      report({ check: 'older cards', verdict: 'note', what: `${place} asks for credentials` })
      return
    }
    const { version } = response.ok ? validateCard(await response.json()) : { version: 'unknown' }
    if (version === 'unknown') report(noOldCard)
    else report({ check: 'older cards', verdict: 'ok', what: `a ${version} card at ${place}` })
  } catch {
    report(noOldCard)
  }
}

/** Google ADK's client checks every interface of a card, also those that it does not use. */
function refusedByAdk({ card, url }: FoundCard): readonly { readonly fault: string; readonly advice: string }[] {
  const { origin } = new URL(url)
  const addresses = card.supportedInterfaces.map((each) => each.url)
  const bare = addresses.find((address) => !/^https?:\/\//i.test(address) && !address.startsWith('/'))
  const foreign = addresses.find((address) => /^https?:\/\//i.test(address) && originOf(address) !== origin)
  return [
    ...(bare === undefined
      ? []
      : [
          {
            fault: `the interface ${bare} is no URL`,
            advice: 'for ADK clients serve without gRPC: --no-grpc, grpc: false',
          },
        ]),
    ...(foreign === undefined
      ? []
      : [
          {
            fault: `the interface ${foreign} has another origin than the card, ${origin}`,
            advice: 'use the address on the card, or set --public-url (publicUrl) to the address clients use',
          },
        ]),
  ]
}

function originOf(address: string): string | undefined {
  return canParseUrl(address) ? new URL(address).origin : undefined
}
