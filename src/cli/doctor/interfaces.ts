/** Every interface that a card declares: is it there, does it know its errors and its versions? */

import { randomUUID } from 'node:crypto'
import type { AgentCard, AgentInterface } from '../../client/index.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { notFoundFaults } from './error-form.js'
import type { FoundCard } from './find-card.js'
import type { Finding } from './finding.js'
import { type Means, nobody, type Outcome, outcomeText, type Tried, tryCall } from './patient.js'
import { settleVersion } from './settle-version.js'

export interface Answering {
  readonly entry: AgentInterface
  readonly means: Means
}

/** Interfaces that answered, credentials wanted or not. */
export async function examineInterfaces(found: FoundCard, means: Means): Promise<Answering[]> {
  const answering: Answering[] = []
  for (const [place, declared] of found.card.supportedInterfaces.entries()) {
    const check = nameOf(declared)
    const passed = passedOver(found.choice.reasons[place], check)
    if (passed) {
      means.report(passed)
      continue
    }
    const named = absolute(declared, found.url)
    const known = knownAt(named, found, means)
    const entry = found.isVersionSaid ? named : await settleVersion(found.card, named, known)
    const tried = await askForNothing(known, found.card, entry)
    const finding = judge(tried, entry)
    means.report({ check: nameOf(entry), ...finding })
    if (!isThere(tried.outcome)) continue
    answering.push({ entry, means: known })
    if (entry.protocolVersion.startsWith('1.')) await examineVersion(known, found.card, entry)
  }
  return answering
}

/** The harmless call: a task that cannot exist. */
function askForNothing(means: Means, card: AgentCard, entry: AgentInterface): Promise<Tried<unknown>> {
  return tryCall(means, { card, entry, identity: means.identity }, (agent, signal) =>
    agent.getTask({ id: randomUUID() }, { signal }),
  )
}

export function nameOf({ protocolBinding, protocolVersion }: AgentInterface): string {
  return `${protocolBinding} ${protocolVersion}`
}

/** Cards may be relative to where they are; the client is given a card without a place. */
function absolute(entry: AgentInterface, cardUrl: string): AgentInterface {
  const isRelative = !canParseUrl(entry.url) && entry.url.startsWith('/') && canParseUrl(entry.url, cardUrl)
  return isRelative ? { ...entry, url: new URL(entry.url, cardUrl).href } : entry
}

/** Credentials are for the address that the user named; another port may be somebody else's. */
function knownAt({ url }: AgentInterface, found: FoundCard, means: Means): Means {
  const { allowedOrigins = [] } = means.options
  const trusted = [found.url, ...allowedOrigins].map(hostOf)
  return allowedOrigins.includes('*') || trusted.includes(hostOf(url)) ? means : { ...means, identity: nobody }
}

/** Addresses of gRPC have no scheme. */
function hostOf(address: string): string {
  const spelled = /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `grpc://${address}`
  return canParseUrl(spelled) ? new URL(spelled).host : ''
}

/** What clients will not speak to is not called here either: a card must not send its readers anywhere it likes. */
function passedOver(reason: string | undefined, check: string): Finding | undefined {
  const [head = '', ...pieces] = (reason ?? '').split(': ')
  // The name of the interface is the peer's text, and may hold a colon too.
  const place = pieces.findIndex((piece) => /^(?:it|its|only|gRPC|the card) /.test(piece))
  if (!head.startsWith('Passed over ') || place < 0) return undefined
  const fault = pieces.slice(place).join(': ')
  const isForeign = /not known here|not spoken here|was asked for|cannot be spoken here/.test(fault)
  return {
    check,
    verdict: isForeign ? 'skipped' : 'warning',
    what: isForeign ? `cannot be judged: ${fault}` : `clients pass it over, and it was not called: ${fault}`,
  }
}

function isThere(outcome: Outcome<unknown>): boolean {
  return 'value' in outcome || ('refusal' in outcome && outcome.refusal !== 'INVALID_AGENT_RESPONSE')
}

type Judgement = Omit<Finding, 'check'>

function judge({ outcome, wire, ms }: Tried<unknown>, { url, protocolVersion }: AgentInterface): Judgement {
  if ('value' in outcome)
    return { verdict: 'problem', what: `${url} found a task that cannot exist`, advice: 'answer TASK_NOT_FOUND' }
  if ('failure' in outcome || outcome.refusal === 'INVALID_AGENT_RESPONSE')
    return {
      verdict: 'problem',
      what: `declared at ${url}, but not there: ${outcome.message}`,
      advice: 'serve it, or take it out of the card',
    }
  const { refusal } = outcome
  if (refusal === 'UNAUTHENTICATED' || refusal === 'PERMISSION_DENIED')
    return { verdict: 'ok', what: `answers at ${url} (${ms} ms) and wants credentials` }
  if (refusal === 'METHOD_NOT_FOUND' || refusal === 'VERSION_NOT_SUPPORTED')
    return {
      verdict: 'problem',
      what: `${url} does not speak what the card says: ${outcomeText(outcome)}`,
      advice: 'serve this version there, or correct the card',
    }
  const [fault] = notFoundFaults(wire, protocolVersion)
  if (refusal === 'TASK_NOT_FOUND' && !fault)
    return { verdict: 'ok', what: `answers at ${url} (${ms} ms), and says properly that a task does not exist` }
  return {
    verdict: refusal === 'TASK_NOT_FOUND' && fault ? fault.verdict : 'problem',
    what: `${url}, asked for a task that does not exist: ${fault?.what ?? outcomeText(outcome)}`,
    advice: 'answer with TaskNotFoundError, as the protocol spells it',
  }
}

/** gRPC clients always name their own version, so it is not asked there. */
async function examineVersion(means: Means, card: AgentCard, entry: AgentInterface): Promise<void> {
  if (entry.protocolBinding.toUpperCase() === 'GRPC') return
  const identity = { ...means.identity, headers: { ...means.identity.headers, 'A2A-Version': '99.0' } }
  const { outcome } = await tryCall(means, { card, entry, identity }, (agent, signal) =>
    agent.getTask({ id: randomUUID() }, { signal }),
  )
  if ('refusal' in outcome && (outcome.refusal === 'UNAUTHENTICATED' || outcome.refusal === 'PERMISSION_DENIED')) return
  const isRight = 'refusal' in outcome && outcome.refusal === 'VERSION_NOT_SUPPORTED'
  const isIgnored = 'value' in outcome || ('refusal' in outcome && outcome.refusal === 'TASK_NOT_FOUND')
  means.report({
    check: nameOf(entry),
    verdict: isRight ? 'ok' : isIgnored ? 'problem' : 'warning',
    what: isRight
      ? 'refuses a version that does not exist'
      : isIgnored
        ? 'A2A-Version is ignored: 99.0 is answered as if it were spoken (R-VER-4)'
        : `A2A-Version 99.0 is answered with ${outcomeText(outcome)}`,
    ...(!isRight && { advice: 'answer VersionNotSupportedError to versions that are not offered' }),
  })
}
