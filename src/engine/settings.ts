/** The settings of the engine by name and kind. */
import type { NamesOf } from '../model/option-names.js'
import type { Expiry } from '../stores/store.js'
import type { EngineSettings, Internals } from './internals.js'
import { startTimer } from './system-clock.js'

export const settingNames = {
  leaseMs: 'number',
  cancelGraceMs: 'number',
  stallMs: 'number',
  idempotencyMs: 'number',
  dedupeByMessageId: 'boolean',
  cancelTwice: ['task', 'error'],
  pushSecrets: ['creator', 'owner', 'never'],
} satisfies NamesOf<Omit<EngineSettings, 'limits'>>

export type Retention = Omit<Expiry, 'limit'> & {
  /** How often to look. Default one minute. */
  readonly sweepMs?: number
}

export const retentionNames = {
  endedTasksMs: 'number',
  maxEndedTasks: 'limit',
  endedEventsMs: 'number',
  sweepMs: 'number',
} satisfies NamesOf<Retention>

const sweepLimit = 500

export function startRetention(internals: Internals, { sweepMs = 60_000, ...expiry }: Retention): () => void {
  let isSweeping = false
  const sweep = async () => {
    if (isSweeping) return
    isSweeping = true
    try {
      let isMore = true
      while (isMore) {
        const { tasks, keys } = await internals.store.expire(internals.name, { ...expiry, limit: sweepLimit })
        internals.counts.expiredTasks += tasks
        isMore = Math.max(tasks, keys) >= sweepLimit
      }
    } catch (error) {
      internals.failure(error)
    } finally {
      isSweeping = false
    }
  }
  return startTimer(internals.clock, () => void sweep(), sweepMs, { repeats: true })
}
