/** The agent that is examined, and how it is spoken to: one attempt, a deadline, and an ear on the wire. */
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
import { Advised } from '../failure.js'
import type { Report } from './finding.js'

/** Who calls. */
export type Identity = Pick<ConnectOptions, 'headers' | 'credentials'>

export const nobody: Identity = {}

export interface Means {
  readonly options: Omit<ConnectOptions, keyof Identity>
  /** What the user gave along. */
  readonly identity: Identity
  /** For each check. */
  readonly timeoutMs: number
  readonly report: Report
}

export type Outcome<T> =
  | { readonly value: T }
  /** The agent said no. */
  | { readonly refusal: ErrorCode; readonly message: string }
  /** The wire, or what came over it, is at fault. */
  | { readonly failure: TransportError['failure']; readonly message: string }

/** One call that is over in time, and what went over the wire meanwhile. */
export interface Tried<T> {
  readonly outcome: Outcome<T>
  readonly wire: readonly WireEntry[]
  readonly ms: number
}

export interface Way {
  readonly card: AgentCard
  readonly entry: AgentInterface
  readonly identity: Identity
}

/** Connects to one interface of a card, and makes one call. */
export async function tryCall<T>(
  { options, timeoutMs }: Means,
  { card, entry, identity }: Way,
  call: (agent: AgentClient, signal: AbortSignal) => Promise<T>,
): Promise<Tried<T>> {
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
      signatures: 'ignore', // it is not the card that came: interfaces were taken out
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
): Promise<Outcome<T>> {
  try {
    return { value: await beforeAbort(work(), signal) }
  } catch (caught) {
    const error = caught instanceof Advised ? caught.cause : caught
    if (signal.aborted) return { failure: 'timeout', message: `no answer within ${timeoutMs / 1000} s` }
    if (error instanceof A2AError) return { refusal: error.code, message: error.message }
    if (error instanceof TransportError) return { failure: error.failure, message: error.message }
    throw error
  }
}

/** Some things cannot be aborted, but nobody has to wait for them. */
function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

/** In words, for a finding. */
export function outcomeText(outcome: Outcome<unknown>): string {
  if ('value' in outcome) return 'an answer'
  return 'refusal' in outcome ? `${outcome.refusal} (${outcome.message})` : outcome.message
}
