/** Findings of the checks, and single calls to the agent: without retries, with a deadline, with the bytes on the wire. */
import {
  A2AError,
  type AgentCard,
  type AgentClient,
  type AgentInterface,
  type ConnectOptions,
  connect,
  type ErrorCode,
  TransportError,
  type WireEntry,
} from '../../client/index.js'
import { AdvisedError } from '../failure.js'
import { oneLine, onStdout } from '../printable.js'

/** `note`: neither good nor bad. `skipped`: the check did not run, and the finding says why. */
export type Verdict = 'ok' | 'note' | 'warning' | 'problem' | 'skipped'

export interface Finding {
  /** The name of the check, such as `card` or `JSONRPC 1.0`. */
  readonly check: string
  readonly verdict: Verdict
  /** The observation, with the reason for the verdict. */
  readonly what: string
  /** The remedy. */
  readonly advice?: string
}

export type Report = (finding: Finding) => void

/** `unreachable`: no server answered. */
export type Health = 'healthy' | 'problems' | 'unreachable'

export interface DoctorReport {
  readonly health: Health
  readonly findings: readonly Finding[]
}

const colours: Readonly<Record<Verdict, (text: string) => string>> = {
  ok: onStdout.green,
  note: onStdout.cyan,
  warning: onStdout.yellow,
  problem: onStdout.red,
  skipped: onStdout.dim,
}

export function findingText({ check, verdict, what, advice }: Finding): string {
  const hint = advice === undefined ? '' : ` ${onStdout.dim(`→ ${oneLine(advice)}`)}`
  return `${colours[verdict](verdict.padEnd(7))}  ${oneLine(check).padEnd(13)}  ${oneLine(what)}${hint}`
}

export function healthText({ health, findings }: DoctorReport): string {
  const count = (verdict: Verdict, word: string) => {
    const found = findings.filter((finding) => finding.verdict === verdict).length
    return found === 0 ? [] : [`${found} ${word}${found === 1 ? '' : 's'}`]
  }
  const counts = [...count('problem', 'problem'), ...count('warning', 'warning')].join(', ')
  if (health === 'unreachable') return onStdout.red('Unreachable: no server answers')
  if (health === 'problems') return onStdout.red(`Not healthy: ${counts}`)
  return onStdout.green(`Healthy${counts === '' ? '' : `, ${counts}`}`)
}

/** The credentials of the calls. */
export type Identity = Pick<ConnectOptions, 'headers' | 'credentials'>

export const anonymous: Identity = {}

export interface CheckContext {
  readonly options: Omit<ConnectOptions, keyof Identity>
  /** The credentials that the user gave. */
  readonly identity: Identity
  /** Time limit of each check. */
  readonly timeoutMs: number
  readonly report: Report
}

export type CallOutcome<T> =
  | { readonly value: T }
  /** The agent answered with an error. */
  | { readonly refusal: ErrorCode; readonly message: string }
  /** The connection failed, or the answer was invalid. */
  | { readonly failure: TransportError['failure']; readonly message: string }

/** One call: its outcome, and the requests and responses on the wire. */
export interface Probe<T> {
  readonly outcome: CallOutcome<T>
  readonly wire: readonly WireEntry[]
  readonly ms: number
}

export interface ProbeTarget {
  readonly card: AgentCard
  readonly entry: AgentInterface
  readonly identity: Identity
}

/** Connects to one interface of a card and makes one call. */
export async function probe<T>(
  { options, timeoutMs }: CheckContext,
  { card, entry, identity }: ProbeTarget,
  call: (agent: AgentClient, signal: AbortSignal) => Promise<T>,
): Promise<Probe<T>> {
  const wire: WireEntry[] = []
  const onWire = (wired: WireEntry) => {
    options.onWire?.(wired)
    wire.push(wired)
  }
  const signal = AbortSignal.timeout(timeoutMs)
  const started = performance.now()
  const outcome = await outcomeOf(signal, timeoutMs, async () => {
    const single = { ...card, supportedInterfaces: [entry] }
    const agent = await connect(single, {
      ...options,
      ...identity,
      retry: { attempts: 1 },
      signatures: 'ignore', // the card was changed: it has one interface only
      timeoutMs,
      onWire,
      onWarning: () => undefined,
    })
    try {
      return await call(agent, signal)
    } finally {
      await agent.close()
    }
  })
  return { outcome, wire, ms: Math.round(performance.now() - started) }
}

export async function outcomeOf<T>(
  signal: AbortSignal,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<CallOutcome<T>> {
  try {
    return { value: await beforeAbort(work(), signal) }
  } catch (caught) {
    const error = caught instanceof AdvisedError ? caught.cause : caught
    if (signal.aborted) return { failure: 'timeout', message: `no answer within ${timeoutMs / 1000} s` }
    if (error instanceof A2AError) return { refusal: error.code, message: error.message }
    if (error instanceof TransportError) return { failure: error.failure, message: error.message }
    throw error
  }
}

/** Stops waiting for `work` when the signal fires, also if the work cannot be aborted. */
function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

export function outcomeText(outcome: CallOutcome<unknown>): string {
  if ('value' in outcome) return 'an answer'
  return 'refusal' in outcome ? `${outcome.refusal} (${outcome.message})` : outcome.message
}
