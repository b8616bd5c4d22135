/** The card: where it is, how long it took, whether it keeps the rules, and what its headers tell. */
import { type AgentCard, type AgentClient, type Choice, connect, type WireEntry } from '../../client/index.js'
import { validateCard } from '../../server/index.js'
import type { Finding } from './finding.js'
import { type Means, type Outcome, outcomeOf } from './patient.js'

export interface FoundCard {
  readonly card: AgentCard
  readonly choice: Choice
  readonly url: string
  /** Cards of 0.2 and older need not say it. */
  readonly isVersionSaid: boolean
}

export interface CardSearch {
  readonly found?: FoundCard
  /** The first address that was asked: where the agent should be. */
  readonly asked?: string
  /** Whether anybody answered, whatever it was. */
  readonly isAnswered: boolean
  readonly findings: readonly Finding[]
}

const tolerableSkewMs = 30_000
/** Single faults are listed up to this number. */
const mostFaults = 5

/** Nothing is reported here: the way to the agent comes first in a report, and it is known only afterwards. */
export async function findCard(ref: string, means: Means): Promise<CardSearch> {
  const wire: WireEntry[] = []
  const outcome = await read(ref, means, wire)
  const asked = wire[0]?.what.replace(/^GET /, '')
  const answers = wire.filter(({ direction, status }) => direction === 'response' && typeof status === 'number')
  const common = { isAnswered: answers.length > 0, ...(asked !== undefined && { asked }) }
  const answer = answers.findLast(({ status }) => status === 200)
  const isJson = answer !== undefined && typeof rawOf(answer) === 'object'
  const source = answer?.what.replace(/^GET /, '') ?? ''
  const isProtected = answers.some(({ status }) => status === 401 || status === 403)
  const place: Finding[] = isJson
    ? [
        placeOf(answer, source),
        ...(isProtected ? [protectedCard] : []),
        ...rulesOf(rawOf(answer)),
        ...headersOf(answer),
      ]
    : []
  if ('value' in outcome)
    return {
      ...common,
      found: { ...outcome.value, url: source || ref, isVersionSaid: saysVersion(answer && rawOf(answer)) },
      findings: [...place, signatureOf(outcome.value)],
    }
  if (asked === undefined && 'failure' in outcome && outcome.failure === 'unreachable')
    return { ...common, findings: [notFound(outcome.message)] }
  return { ...common, findings: [...place, unusable(outcome)] }
}

const protectedCard: Finding = {
  check: 'card',
  verdict: 'note',
  what: 'it is protected: clients that send no credentials with the request for the card do not find the agent',
}

interface Readable {
  readonly card: AgentCard
  readonly choice: Choice
  readonly signature: AgentClient['signature']
}

async function read(
  ref: string,
  { options, identity, timeoutMs }: Means,
  wire: WireEntry[],
): Promise<Outcome<Readable>> {
  const signal = AbortSignal.timeout(timeoutMs)
  return await outcomeOf(signal, timeoutMs, async () => {
    const agent = await connect(ref, {
      ...options,
      ...identity,
      // The search has no signal of its own, and a server may go quiet anywhere.
      fetch: (input, init) =>
        fetch(input, { ...init, signal: AbortSignal.any([signal, ...(init?.signal ? [init.signal] : [])]) }),
      onWarning: () => undefined,
      onWire(entry) {
        options.onWire?.(entry)
        wire.push(entry)
      },
    })
    const { card, choice, signature } = agent
    await agent.close()
    return { card, choice, signature }
  })
}

function rawOf({ body }: WireEntry): unknown {
  try {
    return JSON.parse(String(body)) as unknown
  } catch {
    return undefined
  }
}

function saysVersion(raw: unknown): boolean {
  return typeof raw !== 'object' || raw === null || 'protocolVersion' in raw || 'supportedInterfaces' in raw
}

function placeOf({ ms }: WireEntry, source: string): Finding {
  const isOld = /\/agent\.json$/.test(source)
  return {
    check: 'card',
    verdict: 'ok',
    what: `found at ${source}${ms === undefined ? '' : ` (${ms} ms)`}${isOld ? ', where versions up to 0.2 have it' : ''}`,
  }
}

function rulesOf(raw: unknown): Finding[] {
  const { version, problems, isValid } = validateCard(raw)
  const faults = problems.slice(0, mostFaults).map(
    ({ severity, path, message, requirement }): Finding => ({
      check: 'card rules',
      verdict: severity === 'error' ? 'problem' : 'warning',
      what: `${path || 'the card'} ${message} (${requirement})`,
    }),
  )
  const more = problems.length - faults.length
  if (more > 0)
    faults.push({
      check: 'card rules',
      verdict: problems.slice(mostFaults).some(({ severity }) => severity === 'error') ? 'problem' : 'warning',
      what: `${more} more`,
      advice: '`dragoman card validate` lists them all',
    })
  if (!isValid || faults.length > 0) return faults
  return [{ check: 'card rules', verdict: 'ok', what: `a ${version} card that keeps the rules` }]
}

function headersOf({ headers = {}, ms = 0 }: WireEntry): Finding[] {
  const { 'content-type': type = 'no type', 'access-control-allow-origin': origin, date } = headers
  const findings: Finding[] = []
  if (!/\bjson\b/i.test(type))
    findings.push({
      check: 'card type',
      verdict: 'warning',
      what: `the card is sent as ${type}`,
      advice: 'send it as application/json',
    })
  findings.push(
    origin === undefined
      ? { check: 'web pages', verdict: 'note', what: 'of other origins cannot read the card: it has no CORS headers' }
      : { check: 'web pages', verdict: 'ok', what: `of ${origin === '*' ? 'any origin' : origin} may read the card` },
  )
  const skewMs = Date.now() - ms / 2 - Date.parse(date ?? '')
  if (Number.isNaN(skewMs)) return findings
  const isSkewed = Math.abs(skewMs) > tolerableSkewMs
  findings.push({
    check: 'clock',
    verdict: isSkewed ? 'warning' : 'ok',
    what: isSkewed
      ? `its clock is ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'behind' : 'ahead of'} this one: tokens and signatures are judged by it`
      : 'its clock agrees with this one',
    ...(isSkewed && { advice: 'set the clocks by a time server' }),
  })
  return findings
}

function signatureOf({ signature }: Readable): Finding {
  const check = 'signature'
  const { state, keyId = '', reason = '', warning } = signature
  if (state === 'absent') return { check, verdict: 'note', what: 'the card is not signed, which is allowed' }
  if (state === 'valid')
    return { check, verdict: warning === undefined ? 'ok' : 'warning', what: warning ?? `good, by the key ${keyId}` }
  if (state === 'invalid')
    return { check, verdict: 'problem', what: reason, advice: 'sign the card again whenever it changes' }
  return { check, verdict: 'warning', what: `cannot be checked: ${reason}`, advice: 'publish the key beside the card' }
}

/** No address came of the word, so nobody could be asked. */
function notFound(what: string): Finding {
  const advice = 'check the spelling, or name a registry that knows it with --registry'
  return { check: 'name', verdict: 'problem', what, advice }
}

function unusable(outcome: Exclude<Outcome<Readable>, { value: unknown }>): Finding {
  const isAuth =
    'refusal' in outcome && (outcome.refusal === 'UNAUTHENTICATED' || outcome.refusal === 'PERMISSION_DENIED')
  return {
    check: 'card',
    verdict: 'problem',
    what: outcome.message,
    advice: isAuth
      ? 'give credentials with --header or `dragoman auth login`; cards are usually open to all'
      : 'without a usable card nobody finds the agent: see that the address is right and the card is there',
  }
}
