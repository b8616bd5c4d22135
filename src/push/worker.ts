/**
 * Delivers what the cursors of a store have to tell (E-2, E-5). It claims cursors that are due, runs many of them at once,
 * and never more than a share of them at one origin. It is woken by the store, by cursors that fall due, and by a
 * poll that makes up for hints that were lost.
 */

import { setMaxListeners } from 'node:events'
import type { Dialect } from '../dialects/dialect.js'
import { canParseUrl } from '../model/can-parse-url.js'
import type { Log } from '../model/log.js'
import type { ClaimedCursor, CompleteStore, NewDeadLetter } from '../stores/store.js'
import type { Send } from './delivery.js'
import { DeliveryRun, type DeliveryRunDeps } from './delivery-run.js'
import { Origins } from './origins.js'
import { leaseOf, type PushSettings } from './push-settings.js'
import { createThrottledLog, type ThrottledLog } from './throttled-log.js'

export interface WorkerDeps {
  readonly store: CompleteStore
  /** Whose webhooks. */
  readonly agents: readonly string[]
  /** Who this process is, in leases. */
  readonly owner: string
  readonly dialects: ReadonlyMap<string, Dialect>
  readonly settings: PushSettings
  readonly send: Send
  readonly log: Log
  readonly now?: () => number
}

/** Calls under way, those of webhooks that hang included. */
const mostRunsEach = 8
/** While all places are taken: some may be taken by webhooks that hang. */
const lookAgainMs = 250
const maxWarned = 1000

export class PushWorker {
  readonly #parts: WorkerDeps
  readonly #cursors: DeliveryRunDeps
  readonly #origins: Origins
  readonly #closing = new AbortController()
  readonly #running = new Set<DeliveryRun>()
  readonly #waiting = new Set<DeliveryRun>()
  /** Everything that has to end before the store may be closed. */
  readonly #work = new Set<Promise<void>>()
  // Callers choose origins, so neither kind of warning may fill the log, nor keep the other kind out of it.
  readonly #warnOfRetry: ThrottledLog
  readonly #warnOfDeadLetter: ThrottledLog
  /** Origins whose failures were logged. */
  readonly #warned = new Set<string>()
  #unwatch: (() => void)[] = []
  #poll: NodeJS.Timeout | undefined
  #wake: NodeJS.Timeout | undefined
  #sweep: Promise<void> | undefined
  #isAsked = false

  constructor(parts: WorkerDeps) {
    this.#parts = parts
    this.#warnOfRetry = createThrottledLog(parts.log)
    this.#warnOfDeadLetter = createThrottledLog(parts.log)
    // Every call listens to it.
    setMaxListeners(0, this.#closing.signal)
    const now = parts.now ?? Date.now
    this.#origins = new Origins({ perOrigin: parts.settings.perOrigin, now })
    this.#cursors = {
      store: parts.store,
      dialects: parts.dialects,
      events: parts.settings.events,
      settings: parts.settings,
      send: parts.send,
      closing: this.#closing.signal,
      now,
      monotonicMs: () => performance.now(),
      onBuried: (cursor, buried) => this.#tellOfBurial(cursor, buried),
      onRetry: (cursor, failed) => this.#warn(cursor, failed),
    }
  }

  start(): void {
    const { store, agents, settings } = this.#parts
    this.#unwatch = agents.map((agent) => store.changes.watchDeliveries(agent, () => this.#ask()))
    this.#poll = setInterval(() => this.#ask(), settings.pollMs)
    this.#poll.unref()
    this.#ask()
  }

  /** Tells what is due until the deadline, then stops: what was not told is told by whoever comes next (E-12). */
  async close(deadlineMs: number): Promise<void> {
    const deadline = performance.now() + deadlineMs
    while (performance.now() < deadline) {
      this.#ask()
      await this.#sweep
      if (this.#running.size + this.#waiting.size === 0) break
      await oneOf(this.#work, deadline - performance.now())
    }
    this.#closing.abort()
    for (const unwatch of this.#unwatch) unwatch()
    clearInterval(this.#poll)
    clearTimeout(this.#wake)
    await this.#sweep
    for (const run of this.#waiting) this.#own(run.comeBackIn(0), run.cursor)
    this.#waiting.clear()
    while (this.#work.size > 0) await Promise.all(this.#work)
  }

  /** One sweep at a time; a hint during a sweep means one more. */
  #ask(): void {
    this.#isAsked = true
    if (!this.#closing.signal.aborted) this.#sweep ??= this.#sweepWhileAsked()
  }

  async #sweepWhileAsked(): Promise<void> {
    try {
      while (this.#isAsked && !this.#closing.signal.aborted) {
        this.#isAsked = false
        await this.#claimAll()
      }
    } catch (error) {
      this.#failed('Webhooks cannot be looked after', error)
    } finally {
      this.#sweep = undefined
    }
  }

  async #claimAll(): Promise<void> {
    const { store, agents, owner, settings } = this.#parts
    const lease = { owner, ttlMs: leaseOf(settings) }
    for (;;) {
      const limit = this.#places()
      if (limit <= 0) return this.#wakeIn(lookAgainMs)
      const claimedMs = performance.now()
      const { cursors, nextInMs } = await store.deliveries.claim({
        agents,
        lease,
        limit,
        maxRetryMs: settings.longestRetryMs,
      })
      for (const cursor of cursors) this.#begin(new DeliveryRun(this.#cursors, cursor, claimedMs))
      if (nextInMs === 0) continue
      if (nextInMs !== undefined) this.#wakeIn(nextInMs)
      return
    }
  }

  /** Webhooks that hang leave their places to others, up to a point. */
  #places(): number {
    const { concurrency } = this.#parts.settings
    let busy = 0
    for (const run of this.#running) if (!run.isStuck) busy += 1
    return Math.min(concurrency - busy, mostRunsEach * concurrency - this.#running.size)
  }

  #begin(run: DeliveryRun): void {
    const origin = originOf(run.cursor)
    const entry = this.#origins.enter(origin, () => {
      this.#waiting.delete(run)
      this.#run(run, origin)
    })
    if (entry === 'go') this.#run(run, origin)
    else if (entry === 'wait') this.#waiting.add(run)
    else this.#own(run.comeBackIn(entry.comeBackInMs), run.cursor)
  }

  #run(run: DeliveryRun, origin: string): void {
    this.#running.add(run)
    const begunMs = performance.now()
    let isOverloaded: boolean | undefined
    const work = run
      .run()
      .then((result) => {
        isOverloaded = result.isOverloaded
        if (result.hasDelivered) this.#warned.delete(origin)
      })
      .finally(() => {
        this.#running.delete(run)
        this.#origins.leave(origin, performance.now() - begunMs, isOverloaded)
        this.#ask()
      })
    this.#own(work, run.cursor)
  }

  /** Failures here are the store's: the cursor is free when its lease ends. */
  #own(work: Promise<void>, { key }: ClaimedCursor): void {
    const owned = work
      .catch((error: unknown) => this.#failed('A webhook cannot be looked after', error, key.id))
      .finally(() => this.#work.delete(owned))
    this.#work.add(owned)
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#wake)
    this.#wake = setTimeout(() => this.#ask(), Math.min(ms, this.#parts.settings.pollMs))
    this.#wake.unref()
  }

  #failed(message: string, error: unknown, taskId?: string): void {
    const [agent = ''] = this.#parts.agents
    this.#parts.log({ level: 'error', message, agent, error, ...(taskId !== undefined && { taskId }) })
  }

  /** One warning for each origin until it accepts a delivery. */
  #warn(cursor: ClaimedCursor, { seq, error }: { readonly seq: number; readonly error: string }): void {
    const { key, push } = cursor
    const origin = originOf(cursor)
    if (this.#warned.has(origin)) return
    const message = `Webhook ${push.config.id} did not accept event ${seq}; the delivery is retried: ${error}`
    if (!this.#warnOfRetry(origin, { level: 'warn', message, agent: key.agent, taskId: key.id })) return
    this.#warned.add(origin)
    const [oldest] = this.#warned
    if (this.#warned.size > maxWarned && oldest !== undefined) this.#warned.delete(oldest)
  }

  #tellOfBurial(cursor: ClaimedCursor, { seq, attempts, error }: NewDeadLetter): void {
    const { key, push } = cursor
    const message = `Gave up telling webhook ${push.config.id} of event ${seq} after ${attempts} attempts: ${error}`
    this.#warnOfDeadLetter(originOf(cursor), { level: 'warn', message, agent: key.agent, taskId: key.id })
  }
}

function originOf({ push }: ClaimedCursor): string {
  return canParseUrl(push.config.url) ? new URL(push.config.url).origin : ''
}

/** The first to end, or the time. */
async function oneOf(work: Iterable<Promise<void>>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([...work, late])
  clearTimeout(timer)
}
