/**
 * Whether an instance works, by what it does. Three levels: its card is where it should be; its binding answers a
 * cheap call in the words of the protocol; a real call succeeds, for those who asked to be called.
 */
import { connect } from '../client/connect.js'
import { resolveCard } from '../client/resolve-card.js'
import type { AgentCard } from '../model/agent-card.js'
import { A2AError, clip, type ErrorCode } from '../model/errors.js'
import type { GuardedDialer } from '../net/node-dialer.js'
import type { ProbeMessage } from '../registry-client/registry-words.js'
import { cardTextOf, type InstanceDocument, type ProbeLevels } from './documents.js'

export interface ProbeParts {
  readonly dialer: GuardedDialer
  /** For each level. */
  readonly timeoutMs: number
}

export type Probe = (instance: InstanceDocument) => Promise<ProbeLevels>

export function createProbe({ dialer, timeoutMs }: ProbeParts): Probe {
  // Every connection goes through the guard, whatever the card has come to say since it was published.
  const fetch = dialer.fetch as typeof globalThis.fetch
  return async (instance) => {
    const { url, probe } = instance
    const card = await told(async () => {
      await resolveCard(url, { fetch, timeoutMs, allowPrivate: true }).catch(unlessProtected)
      return 'ok'
    })
    const callable = withoutGrpc(instance)
    const binding = callable && (await told(() => answers(callable, { fetch, timeoutMs })))
    const call =
      callable && probe && binding === 'ok'
        ? await told(() => succeeds(callable, probe, { fetch, timeoutMs }))
        : undefined
    return {
      card,
      ...(binding !== undefined && binding !== untried && { binding }),
      ...(call !== undefined && { call }),
    }
  }
}

/** An agent that asks for credentials before it shows its card has answered. */
function unlessProtected(caught: unknown): void {
  if (caught instanceof A2AError && (caught.code === 'UNAUTHENTICATED' || caught.code === 'PERMISSION_DENIED')) return
  throw caught
}

/** gRPC has no `fetch` to be guarded by, so it is not spoken here; who speaks nothing else is judged by the card. */
function withoutGrpc(instance: InstanceDocument): object | undefined {
  const card = JSON.parse(cardTextOf(instance)) as AgentCard // written by publish
  const others = card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding.toUpperCase() !== 'GRPC')
  if (others.length === card.supportedInterfaces.length) return JSON.parse(instance.published) as object
  return others.length > 0 ? { ...card, supportedInterfaces: others } : undefined
}

/** A card that cannot be read again is no reason to avoid an agent that answers. */
export function isHealthy({ card, binding, call }: ProbeLevels): boolean {
  return (binding === undefined ? card === 'ok' : binding === 'ok') && (call === undefined || call === 'ok')
}

interface CallParts {
  readonly fetch: typeof fetch
  readonly timeoutMs: number
}

/** The dialect has no call that is cheap. */
const untried = 'untried'

/** Refusals that only somebody who understood the question can give. */
const proper: ReadonlySet<ErrorCode> = new Set([
  'TASK_NOT_FOUND',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'INVALID_PARAMS',
  'RATE_LIMITED',
])

async function answers(card: object, parts: CallParts): Promise<string> {
  const agent = await open(card, parts)
  try {
    await agent.getTask({ id: crypto.randomUUID() })
    return 'ok'
  } catch (caught) {
    if (!(caught instanceof A2AError)) throw caught
    if (caught.code === 'UNSUPPORTED_OPERATION') return untried
    if (proper.has(caught.code)) return 'ok'
    throw caught
  } finally {
    await agent.close()
  }
}

async function succeeds(card: object, { text }: ProbeMessage, parts: CallParts): Promise<string> {
  const agent = await open(card, parts)
  try {
    const { task } = await agent.ask(text)
    const state = task?.status.state
    return state === 'TASK_STATE_FAILED' || state === 'TASK_STATE_REJECTED' ? `the call ended ${state}` : 'ok'
  } finally {
    await agent.close()
  }
}

function open(card: object, { fetch, timeoutMs }: CallParts) {
  return connect(card, { fetch, timeoutMs, retry: { attempts: 1 }, signatures: 'ignore' })
}

async function told(work: () => Promise<string>): Promise<string> {
  try {
    return await work()
  } catch (caught) {
    return clip(caught instanceof Error ? caught.message : String(caught))
  }
}
