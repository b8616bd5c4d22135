/** Finds the card and checks its location, rules, headers and signature. */
import { type AgentCard, type AgentClient, type Choice, connect, type WireEntry } from '../../client/index.js'
import { validateCard } from '../../server/index.js'
import { type CallOutcome, type CheckContext, type Finding, outcomeOf } from './probe.js'

export interface FoundCard {
  readonly card: AgentCard
  readonly choice: Choice
  readonly url: string
  /** Cards of 0.2 and older need not declare their version. */
  readonly hasVersion: boolean
}

export interface CardSearch {
  readonly found?: FoundCard
  /** The first URL that was requested. */
  readonly firstUrl?: string
  /** Whether a server answered, with any status. */
  readonly isAnswered: boolean
  readonly findings: readonly Finding[]
}

const maxSkewMs = 30_000
/** Maximum number of faults that are listed one by one. */
const maxFaults = 5

/** Returns its findings instead of reporting them: the findings about the connection come first. */
export async function findCard(ref: string, context: CheckContext): Promise<CardSearch> {
  const wire: WireEntry[] = []
  const outcome = await read(ref, context, wire)
  const firstUrl = wire[0]?.what.replace(/^GET /, '')
  const answers = wire.filter(({ direction, status }) => direction === 'response' && typeof status === 'number')
  const common = { isAnswered: answers.length > 0, ...(firstUrl !== undefined && { firstUrl }) }
  const answer = answers.findLast(({ status }) => status === 200)
  const isJson = answer !== undefined && typeof rawOf(answer) === 'object'
  const source = answer?.what.replace(/^GET /, '') ?? ''
  const isProtected = answers.some(({ status }) => status === 401 || status === 403)
  const cardFindings: Finding[] = isJson
    ? [
        locationFinding(answer, source),
        ...(isProtected ? [protectedCard] : []),
        ...rulesOf(rawOf(answer)),
        ...headersOf(answer),
      ]
    : []
  if ('value' in outcome)
    return {
      ...common,
      found: { ...outcome.value, url: source || ref, hasVersion: declaresVersion(answer && rawOf(answer)) },
      findings: [...cardFindings, signatureOf(outcome.value)],
    }
  if (firstUrl === undefined && 'failure' in outcome && outcome.failure === 'unreachable')
    return { ...common, findings: [notFound(outcome.message)] }
  return { ...common, findings: [...cardFindings, unusable(outcome)] }
}

const protectedCard: Finding = {
  check: 'card',
  verdict: 'note',
  what: 'protected: clients that send no credentials with the request for the card cannot discover the agent',
}

interface ReadableCard {
  readonly card: AgentCard
  readonly choice: Choice
  readonly signature: AgentClient['signature']
}

async function read(
  ref: string,
  { options, identity, timeoutMs }: CheckContext,
  wire: WireEntry[],
): Promise<CallOutcome<ReadableCard>> {
  const signal = AbortSignal.timeout(timeoutMs)
  return await outcomeOf(signal, timeoutMs, async () => {
    const agent = await connect(ref, {
      ...options,
      ...identity,
      // The search for the card takes no signal, and a server may stop answering at any request.
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

function declaresVersion(raw: unknown): boolean {
  return typeof raw !== 'object' || raw === null || 'protocolVersion' in raw || 'supportedInterfaces' in raw
}

function locationFinding({ ms }: WireEntry, source: string): Finding {
  const isOld = /\/agent\.json$/.test(source)
  return {
    check: 'card',
    verdict: 'ok',
    what: `found at ${source}${ms === undefined ? '' : ` (${ms} ms)`}${isOld ? ', the path of versions up to 0.2' : ''}`,
  }
}

function rulesOf(raw: unknown): Finding[] {
  const { version, problems, isValid } = validateCard(raw)
  const faults = problems.slice(0, maxFaults).map(
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
      verdict: problems.slice(maxFaults).some(({ severity }) => severity === 'error') ? 'problem' : 'warning',
      what: `${more} more`,
      advice: '`dragoman card validate` lists all of them',
    })
  if (!isValid || faults.length > 0) return faults
  return [{ check: 'card rules', verdict: 'ok', what: `a valid ${version} card` }]
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
      ? {
          check: 'web pages',
          verdict: 'note',
          what: 'pages of other origins cannot read the card: it has no CORS headers',
        }
      : {
          check: 'web pages',
          verdict: 'ok',
          what: `pages of ${origin === '*' ? 'any origin' : origin} may read the card`,
        },
  )
  const skewMs = Date.now() - ms / 2 - Date.parse(date ?? '')
  if (Number.isNaN(skewMs)) return findings
  const isSkewed = Math.abs(skewMs) > maxSkewMs
  findings.push({
    check: 'clock',
    verdict: isSkewed ? 'warning' : 'ok',
    what: isSkewed
      ? `its clock is ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'behind' : 'ahead of'} this machine’s: tokens and signatures may count as expired or not yet valid`
      : 'agrees with this machine’s',
    ...(isSkewed && { advice: 'synchronise the clocks with a time server' }),
  })
  return findings
}

function signatureOf({ signature }: ReadableCard): Finding {
  const check = 'signature'
  const { state, keyId = '', reason = '', warning } = signature
  if (state === 'absent') return { check, verdict: 'note', what: 'the card is not signed, which is allowed' }
  if (state === 'valid')
    return { check, verdict: warning === undefined ? 'ok' : 'warning', what: warning ?? `valid, by the key ${keyId}` }
  if (state === 'invalid')
    return { check, verdict: 'problem', what: reason, advice: 'sign the card again whenever it changes' }
  return { check, verdict: 'warning', what: `cannot be checked: ${reason}`, advice: 'publish the key beside the card' }
}

/** The name was not resolved to a URL. */
function notFound(what: string): Finding {
  const advice = 'check the spelling, or pass a registry with --registry'
  return { check: 'name', verdict: 'problem', what, advice }
}

function unusable(outcome: Exclude<CallOutcome<ReadableCard>, { value: unknown }>): Finding {
  const isAuth =
    'refusal' in outcome && (outcome.refusal === 'UNAUTHENTICATED' || outcome.refusal === 'PERMISSION_DENIED')
  return {
    check: 'card',
    verdict: 'problem',
    what: outcome.message,
    advice: isAuth
      ? 'pass credentials with --header or `dragoman auth login`; most cards are public'
      : 'check the address, and that the agent serves a card: clients cannot use an agent without one',
  }
}
