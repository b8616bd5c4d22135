/**
 * Delivers events to webhooks (E-2, E-5). It claims delivery cursors that are due and runs many at once, with a limit for
 * each origin. Notifications of the store, due times and a poll wake it; the poll finds cursors whose notification was lost.
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

interface WorkerDeps {
  readonly store: CompleteStore
  /** The agents whose webhooks are called. */
  readonly agents: readonly string[]
  /** Identifies this process in leases. */
  readonly owner: string
  readonly dialects: ReadonlyMap<string, Dialect>
  readonly settings: PushSettings
  readonly send: Send
  readonly log: Log
  readonly now?: () => number
}

/** The limit of calls including those that hang, as a multiple of `concurrency`. */
const maxRunsFactor = 8
/** The delay while all places are taken; calls that hang free their places. */
const retryClaimMs = 250
const maxWarned = 1000

export class PushWorker {
  readonly #deps: WorkerDeps
  readonly #runDeps: DeliveryRunDeps
  readonly #origins: Origins
  readonly #closing = new AbortController()
  readonly #running = new Set<DeliveryRun>()
  readonly #waiting = new Set<DeliveryRun>()
  /** Work that must end before the store is closed. */
  readonly #work = new Set<Promise<void>>()
  // Callers choose origins, so the warnings are throttled: each kind separately, so that neither suppresses the other.
  readonly #warnOfRetry: ThrottledLog
  readonly #warnOfDeadLetter: ThrottledLog
  /** Origins whose failures were logged. */
  readonly #warned = new Set<string>()
  #unwatch: (() => void)[] = []
  #poll: NodeJS.Timeout | undefined
  #wake: NodeJS.Timeout | undefined
  #sweep: Promise<void> | undefined
  #isSweepRequested = false

  constructor(deps: WorkerDeps) {
    this.#deps = deps
    this.#warnOfRetry = createThrottledLog(deps.log)
    this.#warnOfDeadLetter = createThrottledLog(deps.log)
    // Each call adds a listener.
    setMaxListeners(0, this.#closing.signal)
    const now = deps.now ?? Date.now
    this.#origins = new Origins({ perOrigin: deps.settings.perOrigin, now })
    this.#runDeps = {
      store: deps.store,
      dialects: deps.dialects,
      events: deps.settings.events,
      settings: deps.settings,
      send: deps.send,
      closing: this.#closing.signal,
      now,
      monotonicMs: () => performance.now(),
      onDeadLetter: (cursor, letter) => this.#warnOfDeadLetters(cursor, letter),
      onRetry: (cursor, failed) => this.#warn(cursor, failed),
    }
  }

  start(): void {
    const { store, agents, settings } = this.#deps
    this.#unwatch = agents.map((agent) => store.changes.watchDeliveries(agent, () => this.#requestSweep()))
    this.#poll = setInterval(() => this.#requestSweep(), settings.pollMs)
    this.#poll.unref()
    this.#requestSweep()
  }

  /** Delivers until the deadline, then stops. The next process delivers the rest (E-12). */
  async close(deadlineMs: number): Promise<void> {
    const deadline = performance.now() + deadlineMs
    while (performance.now() < deadline) {
      this.#requestSweep()
      await this.#sweep
      if (this.#running.size + this.#waiting.size === 0) break
      await oneOf(this.#work, deadline - performance.now())
    }
    this.#closing.abort()
    for (const unwatch of this.#unwatch) unwatch()
    clearInterval(this.#poll)
    clearTimeout(this.#wake)
    await this.#sweep
    for (const run of this.#waiting) this.#own(run.postpone(0), run.cursor)
    this.#waiting.clear()
    while (this.#work.size > 0) await Promise.all(this.#work)
  }

  /** One sweep at a time; a request during a sweep causes another one. */
  #requestSweep(): void {
    this.#isSweepRequested = true
    if (!this.#closing.signal.aborted) this.#sweep ??= this.#sweepWhileRequested()
  }

  async #sweepWhileRequested(): Promise<void> {
    try {
      while (this.#isSweepRequested && !this.#closing.signal.aborted) {
        this.#isSweepRequested = false
        await this.#claimAll()
      }
    } catch (error) {
      this.#failed('Webhook deliveries failed', error)
    } finally {
      this.#sweep = undefined
    }
  }

  async #claimAll(): Promise<void> {
    const { store, agents, owner, settings } = this.#deps
    const lease = { owner, ttlMs: leaseOf(settings) }
    for (;;) {
      const limit = this.#places()
      if (limit <= 0) return this.#wakeIn(retryClaimMs)
      const claimedMs = performance.now()
      const { cursors, nextInMs } = await store.deliveries.claim({
        agents,
        lease,
        limit,
        maxRetryMs: settings.maxRetryMs,
      })
      for (const cursor of cursors) this.#begin(new DeliveryRun(this.#runDeps, cursor, claimedMs))
      if (nextInMs === 0) continue
      if (nextInMs !== undefined) this.#wakeIn(nextInMs)
      return
    }
  }

  /** The number of free places. Calls that hang do not take a place, up to a limit. */
  #places(): number {
    const { concurrency } = this.#deps.settings
    let busy = 0
    for (const run of this.#running) if (!run.isStuck) busy += 1
    return Math.min(concurrency - busy, maxRunsFactor * concurrency - this.#running.size)
  }

  #begin(run: DeliveryRun): void {
    const origin = originOf(run.cursor)
    const entry = this.#origins.enter(origin, () => {
      this.#waiting.delete(run)
      this.#run(run, origin)
    })
    if (entry === 'go') this.#run(run, origin)
    else if (entry === 'wait') this.#waiting.add(run)
    else this.#own(run.postpone(entry.retryInMs), run.cursor)
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
        this.#requestSweep()
      })
    this.#own(work, run.cursor)
  }

  /** Errors here come from the store; the cursor is free when its lease expires. */
  #own(work: Promise<void>, { key }: ClaimedCursor): void {
    const owned = work
      .catch((error: unknown) => this.#failed('A webhook delivery failed', error, key.id))
      .finally(() => this.#work.delete(owned))
    this.#work.add(owned)
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#wake)
    this.#wake = setTimeout(() => this.#requestSweep(), Math.min(ms, this.#deps.settings.pollMs))
    this.#wake.unref()
  }

  #failed(message: string, error: unknown, taskId?: string): void {
    const [agent = ''] = this.#deps.agents
    this.#deps.log({ level: 'error', message, agent, error, ...(taskId !== undefined && { taskId }) })
  }

  /** Logs one warning for each origin until it accepts a delivery. */
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

  #warnOfDeadLetters(cursor: ClaimedCursor, { seq, attempts, error }: NewDeadLetter): void {
    const { key, push } = cursor
    const message = `Gave up delivering event ${seq} to webhook ${push.config.id} after ${attempts} attempts: ${error}`
    this.#warnOfDeadLetter(originOf(cursor), { level: 'warn', message, agent: key.agent, taskId: key.id })
  }
}

function originOf({ push }: ClaimedCursor): string {
  return canParseUrl(push.config.url) ? new URL(push.config.url).origin : ''
}

/** Waits for the first promise, but not longer than `ms`. */
async function oneOf(work: Iterable<Promise<void>>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([...work, late])
  clearTimeout(timer)
}
