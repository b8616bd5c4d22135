/**
 * Delivers the events after one delivery cursor: in order, one call at a time (R-PDEL-7), under the cursor's lease. The
 * cursor is stored now and then, not after each call; after a crash, deliveries after it are repeated with the same ids.
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
  /** Aborted when this process shuts down. */
  readonly closing: AbortSignal
  /** Milliseconds since 1970, for the age of events. */
  readonly now: () => number
  /** Milliseconds of a monotonic clock, for durations. */
  readonly monotonicMs: () => number
  /** Called when a dead letter is stored. */
  readonly onDeadLetter: (cursor: ClaimedCursor, letter: NewDeadLetter) => void
  /** Called for the first failed attempt of a delivery that is retried. */
  readonly onRetry: (cursor: ClaimedCursor, failed: { readonly seq: number; readonly error: string }) => void
}

interface DeliveryRunResult {
  /** Whether the origin is down or overloaded; undefined when it was not called. */
  readonly isOverloaded?: boolean
  /** Whether the webhook accepted a delivery. */
  readonly hasDelivered: boolean
}

/** Deliveries, and milliseconds, after which the cursor is stored. */
const maxUnsettled = 100
const settleEveryMs = 500
/** The cursor is then released, so that other webhooks of the origin get a place. */
const maxRunMs = 10_000
/** A call that takes longer does not take a place any more. */
const stuckAfterMs = 1_000

const readAhead = 256

export class DeliveryRun {
  readonly cursor: ClaimedCursor
  readonly #deps: DeliveryRunDeps
  readonly #payload: WebhookPayload
  #begunMs = 0
  #heldSinceMs: number
  #seq: number
  #attempts: number
  #unsettled = 0
  #dead: NewDeadLetter[] = []
  #calledMs: number | undefined
  #isOverloaded: boolean | undefined
  #hasDelivered = false
  /** Expired deliveries that failed in a row. */
  #givenUp = 0

  /** `claimedMs`: the monotonic time just before the cursor was claimed. */
  constructor(deps: DeliveryRunDeps, cursor: ClaimedCursor, claimedMs: number) {
    this.cursor = cursor
    this.#deps = deps
    this.#payload = new WebhookPayload(deps, cursor.key, cursor.push)
    this.#heldSinceMs = claimedMs
    this.#seq = cursor.seq
    this.#attempts = cursor.attempts
  }

  get isStuck(): boolean {
    return this.#calledMs !== undefined && this.#deps.monotonicMs() - this.#calledMs > stuckAfterMs
  }

  /** Ends when the cursor is released or lost. Throws only errors of the store. */
  async run(): Promise<DeliveryRunResult> {
    this.#begunMs = this.#deps.monotonicMs()
    await this.#settle(await this.#deliverAll())
    const hasDelivered = this.#hasDelivered
    return this.#isOverloaded === undefined ? { hasDelivered } : { hasDelivered, isOverloaded: this.#isOverloaded }
  }

  /** Releases the cursor without a delivery; it is due again after `ms`. */
  async postpone(ms: number): Promise<void> {
    await this.#settle(ms === 0 ? 'release' : { retryInMs: ms })
  }

  /** Returns the next state of the cursor; undefined when it was lost. */
  async #deliverAll(): Promise<CursorSettlement['next'] | undefined> {
    const { store, settings } = this.#deps
    // A newer version stored the config: processes that know the dialect deliver it.
    if (this.#payload.contentType === undefined) return { retryInMs: settings.maxRetryMs }
    try {
      for (;;) {
        const events = await store.read(this.cursor.key, this.#seq, readAhead)
        if (!events) return await this.#startOver()
        if (events.length === 0) return 'release'
        if (this.#seq > this.cursor.seq && !(await this.#isStillWanted())) return undefined
        for (const event of events) {
          if (event.seq <= this.#seq) continue // a dead letter already
          const next = await this.#deliverEvent(event)
          if (next !== 'done') return next
        }
        // A log without deliveries must not block the event loop.
        await setImmediate()
      }
    } catch (error) {
      if (error instanceof EventsRemoved) return await this.#startOver()
      throw error
    }
  }

  /** Whether the config still exists. Events after its removal or replacement are not delivered here. */
  async #isStillWanted(): Promise<boolean> {
    const { key, push } = this.cursor
    const config = await this.#deps.store.deliveries.getConfig(key, push.config.id)
    return config !== undefined && isSameConfig(config, push)
  }

  async #deliverEvent(event: TaskEvent): Promise<CursorSettlement['next'] | undefined | 'done'> {
    const body = await this.#payload.bodyOf(event)
    if (body === undefined) {
      this.#seq = event.seq
      return 'done'
    }
    return await this.#deliver(body, event.seq, event.time)
  }

  /** Retention has removed undelivered events: the ended task replaces them (E-4). */
  async #startOver(): Promise<CursorSettlement['next'] | undefined> {
    const ended = await endedTask(this.#deps.store, this.cursor.key)
    if (!ended) return 'release'
    const body = this.#payload.bodyOfTask(ended.task)
    const next = body !== undefined && (await this.#deliver(body, ended.record.seq, endOf(ended.task)))
    return next === 'done' || next === false ? 'release' : next
  }

  async #deliver(body: string, seq: number, timeMs: number): Promise<CursorSettlement['next'] | undefined | 'done'> {
    if (this.#deps.closing.aborted || this.#deps.monotonicMs() - this.#begunMs > maxRunMs) return 'release'
    if (!(await this.#hold())) return undefined
    const outcome = await this.#call(body, seq)
    switch (outcome.result) {
      case 'delivered':
        this.#seq = seq
        this.#attempts = 0
        this.#unsettled += 1
        this.#givenUp = 0
        this.#hasDelivered = true
        return 'done'
      case 'aborted':
        return 'release'
      case 'refused':
        this.#attempts += 1
        return this.#deadLetter(seq, outcome.error)
      case 'failed':
        return await this.#failed(outcome, seq, timeMs)
    }
  }

  async #call(body: string, seq: number): Promise<DeliveryOutcome> {
    const { key, push } = this.cursor
    const id = deliveryId(key, push.config.id, seq)
    const contentType = this.#payload.contentType ?? ''
    const delivery: Delivery = { id, key, push, contentType, body }
    this.#calledMs = this.#deps.monotonicMs()
    try {
      const outcome = await this.#deps.send(delivery, this.#deps.closing)
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
  ): Promise<CursorSettlement['next'] | 'done'> {
    const { settings, now } = this.#deps
    this.#attempts += 1
    const isExpired = now() - timeMs >= settings.giveUpAfterMs
    if (!isExpired) {
      if (this.#attempts === 1) this.#deps.onRetry(this.cursor, { seq, error })
      return { retryInMs: retryDelay(settings, this.#attempts, retryAfterMs) }
    }
    this.#deadLetter(seq, error)
    // One event may be unacceptable, so the next is tried at once. After two the webhook counts as gone.
    this.#givenUp += 1
    if (this.#givenUp >= 2) await this.#deadLetterExpired(error)
    return 'done'
  }

  /** Makes dead letters of all events that have expired too; each attempt would take one more time-out. */
  async #deadLetterExpired(error: string): Promise<void> {
    const { store, settings, now } = this.#deps
    for (;;) {
      const events = await store.read(this.cursor.key, this.#seq, readAhead)
      if (!events?.length) return
      for (const event of events) {
        if (now() - event.time < settings.giveUpAfterMs) return
        if ((await this.#payload.bodyOf(event)) === undefined) this.#seq = event.seq
        else this.#deadLetter(event.seq, error, 0)
      }
      if (!(await this.#renew())) return
    }
  }

  #deadLetter(seq: number, error: string, attempts = this.#attempts): 'done' {
    this.#dead.push({ seq, attempts, error })
    this.#seq = seq
    this.#attempts = 0
    this.#unsettled += 1
    return 'done'
  }

  /** Renews the lease if it is too old for another attempt. This stores the cursor too. */
  async #hold(): Promise<boolean> {
    const heldMs = this.#deps.monotonicMs() - this.#heldSinceMs
    const isWorthSettling = this.#unsettled >= maxUnsettled || (this.#unsettled > 0 && heldMs > settleEveryMs)
    if (!isWorthSettling && heldMs < this.#deps.settings.timeoutMs) return true
    return await this.#renew()
  }

  async #renew(): Promise<boolean> {
    const beforeMs = this.#deps.monotonicMs()
    const isOurs = await this.#settle({ holdMs: leaseOf(this.#deps.settings) })
    this.#heldSinceMs = beforeMs
    return isOurs
  }

  async #settle(next: CursorSettlement['next'] | undefined): Promise<boolean> {
    if (next === undefined) return false
    const { key, push, fencingToken } = this.cursor
    const dead = this.#dead
    this.#dead = []
    this.#unsettled = 0
    const isOurs = await this.#deps.store.deliveries.settle({
      key,
      configId: push.config.id,
      fencingToken,
      seq: this.#seq,
      attempts: this.#attempts,
      ...(dead.length > 0 && { dead }),
      next,
    })
    if (isOurs) for (const letter of dead) this.#deps.onDeadLetter(this.cursor, letter)
    return isOurs
  }
}

function endOf({ status }: Task): number {
  return Date.parse(status.timestamp ?? '') || 0
}
