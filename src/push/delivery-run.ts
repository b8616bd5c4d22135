/**
 * Tells one webhook what happened behind its place in the log: in order, one call at a time (R-PDEL-7), under the
 * cursor's lease. The place is written down now and then, not after every call; what was told behind it
 * is told again after a crash, with the same ids.
 */
import { setImmediate } from 'node:timers/promises'
import type { TaskEvent } from '../model/event.js'
import type { Task } from '../model/task.js'
import {
  type ClaimedCursor,
  type CompleteStore,
  type CursorSettlement,
  isSameConfig,
  type NewDeadLetter,
} from '../stores/store.js'
import { type Delivery, type DeliveryOutcome, deliveryId, type Send } from './delivery.js'
import { leaseOf, type PushSettings, retryDelay } from './push-settings.js'
import { EventsRemoved, endedTask, type PayloadDeps, WebhookPayload } from './webhook-payload.js'

export interface DeliveryRunDeps extends PayloadDeps {
  readonly store: CompleteStore
  readonly settings: PushSettings
  readonly send: Send
  /** Fires when this process ends. */
  readonly closing: AbortSignal
  /** Milliseconds since 1970: how old an event is. */
  readonly now: () => number
  /** Milliseconds on a clock that nobody sets: how long something takes. */
  readonly monotonicMs: () => number
  /** Told when it is written down. */
  readonly onBuried: (cursor: ClaimedCursor, buried: NewDeadLetter) => void
  /** Called for the first failed attempt of a delivery that is retried. */
  readonly onRetry: (cursor: ClaimedCursor, failed: { readonly seq: number; readonly error: string }) => void
}

/** How it went with the origin: `undefined` when it was not called. */
export interface DeliveryRunResult {
  readonly isOverloaded?: boolean
  /** Whether the webhook accepted a delivery. */
  readonly hasDelivered: boolean
}

/** Events told before the place is written down, and how long that may take. */
const mostUnsettled = 100
const settleEveryMs = 500
/** Then the cursor is given back, so that others at the same origin get their turn. */
const longestTurnMs = 10_000
/** A webhook that keeps a call waiting for so long does not count as busy any more. */
const stuckAfterMs = 1_000

const readAhead = 256

export class DeliveryRun {
  readonly cursor: ClaimedCursor
  readonly #parts: DeliveryRunDeps
  readonly #telling: WebhookPayload
  #begunMs = 0
  #heldSinceMs: number
  #seq: number
  #attempts: number
  #unsettled = 0
  #dead: NewDeadLetter[] = []
  #calledMs: number | undefined
  #isOverloaded: boolean | undefined
  #hasDelivered = false
  /** Expired deliveries that failed one after the other. */
  #givenUp = 0

  /** `claimedMs`: just before the cursor was claimed, by `monotonicMs`. */
  constructor(parts: DeliveryRunDeps, cursor: ClaimedCursor, claimedMs: number) {
    this.cursor = cursor
    this.#parts = parts
    this.#telling = new WebhookPayload(parts, cursor.key, cursor.push)
    this.#heldSinceMs = claimedMs
    this.#seq = cursor.seq
    this.#attempts = cursor.attempts
  }

  get isStuck(): boolean {
    return this.#calledMs !== undefined && this.#parts.monotonicMs() - this.#calledMs > stuckAfterMs
  }

  /** Ends when the cursor is given back, or lost. Throws only when the store is in trouble. */
  async run(): Promise<DeliveryRunResult> {
    this.#begunMs = this.#parts.monotonicMs()
    await this.#settle(await this.#tellAll())
    const hasDelivered = this.#hasDelivered
    return this.#isOverloaded === undefined ? { hasDelivered } : { hasDelivered, isOverloaded: this.#isOverloaded }
  }

  /** Gives the cursor back without having told anything. */
  async comeBackIn(ms: number): Promise<void> {
    await this.#settle(ms === 0 ? 'release' : { retryInMs: ms })
  }

  /** What is to become of the cursor; nothing when it was lost. */
  async #tellAll(): Promise<CursorSettlement['next'] | undefined> {
    const { store, settings } = this.#parts
    // Registered through a newer program: left to those who know the dialect.
    if (this.#telling.contentType === undefined) return { retryInMs: settings.longestRetryMs }
    try {
      for (;;) {
        const events = await store.read(this.cursor.key, this.#seq, readAhead)
        if (!events) return await this.#startOver()
        if (events.length === 0) return 'release'
        if (this.#seq > this.cursor.seq && !(await this.#isStillWanted())) return undefined
        for (const event of events) {
          if (event.seq <= this.#seq) continue // given up together with one before it
          const next = await this.#tell(event)
          if (next !== 'told') return next
        }
        // A log without anything to tell must not hold up the whole process.
        await setImmediate()
      }
    } catch (error) {
      if (error instanceof EventsRemoved) return await this.#startOver()
      throw error
    }
  }

  /** Somebody may have deleted or replaced the config meanwhile: what happened since is not for this one. */
  async #isStillWanted(): Promise<boolean> {
    const { key, push } = this.cursor
    const config = await this.#parts.store.deliveries.getConfig(key, push.config.id)
    return config !== undefined && isSameConfig(config, push)
  }

  async #tell(event: TaskEvent): Promise<CursorSettlement['next'] | undefined | 'told'> {
    const body = await this.#telling.bodyOf(event)
    if (body === undefined) {
      this.#seq = event.seq
      return 'told'
    }
    return await this.#deliver(body, event.seq, event.time)
  }

  /** Retention removed what was not told yet: the task as it is stands for it (E-4). */
  async #startOver(): Promise<CursorSettlement['next'] | undefined> {
    const ended = await endedTask(this.#parts.store, this.cursor.key)
    if (!ended) return 'release'
    const body = this.#telling.bodyOfTask(ended.task)
    const next = body !== undefined && (await this.#deliver(body, ended.record.seq, endOf(ended.task)))
    return next === 'told' || next === false ? 'release' : next
  }

  async #deliver(body: string, seq: number, timeMs: number): Promise<CursorSettlement['next'] | undefined | 'told'> {
    if (this.#parts.closing.aborted || this.#parts.monotonicMs() - this.#begunMs > longestTurnMs) return 'release'
    if (!(await this.#hold())) return undefined
    const outcome = await this.#call(body, seq)
    switch (outcome.result) {
      case 'delivered':
        this.#seq = seq
        this.#attempts = 0
        this.#unsettled += 1
        this.#givenUp = 0
        this.#hasDelivered = true
        return 'told'
      case 'aborted':
        return 'release'
      case 'refused':
        this.#attempts += 1
        return this.#bury(seq, outcome.error)
      case 'failed':
        return await this.#failed(outcome, seq, timeMs)
    }
  }

  async #call(body: string, seq: number): Promise<DeliveryOutcome> {
    const { key, push } = this.cursor
    const id = deliveryId(key, push.config.id, seq)
    const contentType = this.#telling.contentType ?? ''
    const delivery: Delivery = { id, key, push, contentType, body }
    this.#calledMs = this.#parts.monotonicMs()
    try {
      const outcome = await this.#parts.send(delivery, this.#parts.closing)
      if (outcome.result === 'failed') this.#isOverloaded = outcome.isOverloaded ?? this.#isOverloaded
      else if (outcome.result !== 'aborted') this.#isOverloaded = false
      return outcome
    } finally {
      this.#calledMs = undefined
    }
  }

  async #failed(
    { error, retryAfterMs }: Extract<DeliveryOutcome, { result: 'failed' }>,
    seq: number,
    timeMs: number,
  ): Promise<CursorSettlement['next'] | 'told'> {
    const { settings, now } = this.#parts
    this.#attempts += 1
    const isExpired = now() - timeMs >= settings.giveUpAfterMs
    if (!isExpired) {
      if (this.#attempts === 1) this.#parts.onRetry(this.cursor, { seq, error })
      return { retryInMs: retryDelay(settings, this.#attempts, retryAfterMs) }
    }
    this.#bury(seq, error)
    // One event may be poison: the next is tried at once. After two there is nobody to tell.
    this.#givenUp += 1
    if (this.#givenUp >= 2) await this.#buryExpired(error)
    return 'told'
  }

  /** Everything that is as old as what was just given up; each of its own would take one more time-out. */
  async #buryExpired(error: string): Promise<void> {
    const { store, settings, now } = this.#parts
    for (;;) {
      const events = await store.read(this.cursor.key, this.#seq, readAhead)
      if (!events?.length) return
      for (const event of events) {
        if (now() - event.time < settings.giveUpAfterMs) return
        if ((await this.#telling.bodyOf(event)) === undefined) this.#seq = event.seq
        else this.#bury(event.seq, error, 0)
      }
      if (!(await this.#renew())) return
    }
  }

  #bury(seq: number, error: string, attempts = this.#attempts): 'told' {
    this.#dead.push({ seq, attempts, error })
    this.#seq = seq
    // Whatever was wrong with this one, the next begins anew.
    this.#attempts = 0
    this.#unsettled += 1
    return 'told'
  }

  /** An attempt must end long before the lease does. The place is written down on the way. */
  async #hold(): Promise<boolean> {
    const heldMs = this.#parts.monotonicMs() - this.#heldSinceMs
    const isWorthSettling = this.#unsettled >= mostUnsettled || (this.#unsettled > 0 && heldMs > settleEveryMs)
    if (!isWorthSettling && heldMs < this.#parts.settings.timeoutMs) return true
    return await this.#renew()
  }

  async #renew(): Promise<boolean> {
    const beforeMs = this.#parts.monotonicMs()
    const isOurs = await this.#settle({ holdMs: leaseOf(this.#parts.settings) })
    this.#heldSinceMs = beforeMs
    return isOurs
  }

  async #settle(next: CursorSettlement['next'] | undefined): Promise<boolean> {
    if (next === undefined) return false
    const { key, push, fencingToken } = this.cursor
    const dead = this.#dead
    this.#dead = []
    this.#unsettled = 0
    const isOurs = await this.#parts.store.deliveries.settle({
      key,
      configId: push.config.id,
      fencingToken,
      seq: this.#seq,
      attempts: this.#attempts,
      ...(dead.length > 0 && { dead }),
      next,
    })
    if (isOurs) for (const buried of dead) this.#parts.onBuried(this.cursor, buried)
    return isOurs
  }
}

function endOf({ status }: Task): number {
  return Date.parse(status.timestamp ?? '') || 0
}
