/** Settings of an engine: names, defaults, and the retention timer. */
import type { Clock } from '../model/clock.js'
import type { NamesOf } from '../model/option-names.js'
import type { CompleteStore, Expiry } from '../stores/store.js'
import { defaultEngineLimits, type EngineLimits } from './limits.js'
import { startTimer } from './system-clock.js'

/** The reader of a webhook's secrets in responses: the caller that set them, the task's owner, or none. */
export type PushSecrets = 'creator' | 'owner' | 'never'

/** Settings of an engine with a value for each. */
export interface EngineSettings {
  /** Duration of a lease in milliseconds. Another process takes over a task whose lease expired. Default 15 s. */
  readonly leaseMs: number
  /** Milliseconds that a stopped handler has to end by itself. Default 5 s. */
  readonly cancelGraceMs: number
  /**
   * Milliseconds that the event loop may be blocked before that is logged and counted; 0 turns the check off. All servers
   * of a process share its event loop: the smallest value above 0 applies to all of them. Default 1 s.
   */
  readonly stallMs: number
  /** Milliseconds that idempotency keys are kept. Default 24 h. */
  readonly idempotencyMs: number
  readonly limits: EngineLimits
  /** Whether a message with a known `messageId` is handled like a repeated idempotency key. Default false. */
  readonly dedupeByMessageId: boolean
  /** Whether cancelling a cancelled task returns the task or an error (R-CANCEL-4). Default `task`. */
  readonly cancelTwice: 'task' | 'error'
  /** The reader of a webhook's secrets in responses (R-PUSH-9). Default `creator`. */
  readonly pushSecrets: PushSecrets
}

/** Default values of the settings. */
export const defaultSettings: EngineSettings = {
  leaseMs: 15_000,
  cancelGraceMs: 5_000,
  stallMs: 1_000,
  idempotencyMs: 24 * 60 * 60_000,
  limits: defaultEngineLimits,
  dedupeByMessageId: false,
  cancelTwice: 'task',
  pushSecrets: 'creator',
}

export const settingNames = {
  leaseMs: 'number',
  cancelGraceMs: 'number',
  stallMs: 'number',
  idempotencyMs: 'number',
  dedupeByMessageId: 'boolean',
  cancelTwice: ['task', 'error'],
  pushSecrets: ['creator', 'owner', 'never'],
} satisfies NamesOf<Omit<EngineSettings, 'limits'>>

/** When ended tasks are removed (E-11). */
export type Retention = Omit<Expiry, 'limit'> & {
  /** Milliseconds between two sweeps. Default one minute. */
  readonly sweepMs?: number
}

export const retentionNames = {
  endedTasksMs: 'number',
  maxEndedTasks: 'limit',
  endedEventsMs: 'number',
  sweepMs: 'number',
} satisfies NamesOf<Retention>

interface RetentionDeps {
  readonly agent: string
  readonly store: Pick<CompleteStore, 'expire'>
  readonly clock: Clock
  readonly onExpired: (tasks: number) => void
  readonly onError: (error: unknown) => void
}

const maxTasksPerStep = 500

/** Removes expired tasks in small steps, until the returned function is called. */
export function startRetention(deps: RetentionDeps, { sweepMs = 60_000, ...expiry }: Retention): () => void {
  let isSweeping = false
  const sweep = async () => {
    if (isSweeping) return
    isSweeping = true
    try {
      let isMore = true
      while (isMore) {
        const { tasks, keys } = await deps.store.expire(deps.agent, { ...expiry, limit: maxTasksPerStep })
        deps.onExpired(tasks)
        isMore = Math.max(tasks, keys) >= maxTasksPerStep
      }
    } catch (error) {
      deps.onError(error)
    } finally {
      isSweeping = false
    }
  }
  return startTimer(deps.clock, () => void sweep(), sweepMs, { repeats: true })
}
