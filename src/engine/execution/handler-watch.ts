/**
 * Attributes problems of the process to handlers: a blocked event loop, and errors that nothing handles. All engines of the
 * process share this state, because they share one event loop.
 *
 * Stalls: two clock readings around each step of a handler find the handler that blocked the loop; a timer finds stalls
 * outside of handlers. Stray errors: the turn is stored in the asynchronous context of its handler. That is off unless a
 * server turns it on, because it costs a little for every promise of the process.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Log } from '../../model/log.js'

interface StallCounts {
  stalls: number
  stalledMs: number
}

/** An engine whose handlers are watched. */
export interface WatchedEngine {
  readonly name: string
  readonly log: Log
  /** The smallest value above 0 of all engines applies to all of them. */
  readonly stallMs: number
  readonly runningTaskIds: () => Iterable<string>
  readonly counts: StallCounts
}

const maxTickMs = 250
/** Time between two log entries of one engine, or of one log about stalls outside of handlers. */
const quietMs = 10_000
const maxNamedTasks = 3

const engines = new Set<WatchedEngine>()
let timer: NodeJS.Timeout | undefined
let tickMs = maxTickMs
let stallMs = Number.POSITIVE_INFINITY
/** When the loop was last known to run. */
let aliveMs = 0
let tickedMs = 0
/** A stall since the last tick was reported for its handler. */
let isReported = false
const outside: StallCounts = { stalls: 0, stalledMs: 0 }
/** By engine; for stalls outside of handlers by log, so that each server of the process gets an entry. */
const entries = new WeakMap<WatchedEngine | Log, { readonly loggedMs: number; readonly unlogged: number }>()

/** Stalls of this process during which no handler ran. */
export function stallsOutsideHandlers(): Readonly<StallCounts> {
  return outside
}

/** Watches an engine until the returned function is called. */
export function watchStalls(engine: WatchedEngine): () => void {
  if (engine.stallMs <= 0) return () => undefined
  engines.add(engine)
  restart()
  return () => {
    if (engines.delete(engine)) restart()
  }
}

/** Called before a step of a handler. */
export function enterHandler(): void {
  if (timer) aliveMs = performance.now()
}

/** Called after a step of a handler returned. */
export function leaveHandler(engine: WatchedEngine, taskId: string): void {
  check(engine, taskId, 'while the agent ran; move the work to another process or thread')
}

/** Called after the promise of a step settled. Any code that ran meanwhile may have blocked the loop. */
export function resumeHandler(engine: WatchedEngine, taskId: string): void {
  check(engine, taskId, 'by the agent or by code that ran while it waited')
}

function check(engine: WatchedEngine, taskId: string, how: string): void {
  if (!timer) return
  const now = performance.now()
  const blockedMs = now - aliveMs
  aliveMs = now
  if (blockedMs < stallMs) return
  isReported = true
  count(engine.counts, blockedMs)
  const message = messageFor(engine, blockedMs, how)
  if (message !== undefined) engine.log({ level: 'warn', message, agent: engine.name, taskId })
}

function restart(): void {
  clearInterval(timer)
  timer = undefined
  if (engines.size === 0) return
  stallMs = Math.min(...Array.from(engines, (engine) => engine.stallMs))
  tickMs = Math.min(maxTickMs, stallMs / 2)
  aliveMs = performance.now()
  tickedMs = aliveMs
  isReported = false
  timer = setInterval(tick, tickMs)
  timer.unref()
}

function tick(): void {
  const now = performance.now()
  const lateMs = now - tickedMs - tickMs
  tickedMs = now
  aliveMs = now
  const wasReported = isReported
  isReported = false
  if (wasReported || lateMs < stallMs) return
  // The newest first.
  const running = [...engines].reverse().flatMap(({ name, runningTaskIds }) =>
    Array.from(runningTaskIds())
      .slice(-maxNamedTasks)
      .reverse()
      .map((id) => `${name} ${id}`),
  )
  const named = running.length > 0 ? `; running: ${running.slice(0, maxNamedTasks).join(', ')}` : ''
  count(outside, lateMs)
  for (const log of new Set(Array.from(engines, (engine) => engine.log))) {
    const message = messageFor(log, lateMs, `outside of the steps of an agent${named}`)
    if (message !== undefined) log({ level: 'warn', message })
  }
}

function count(counts: StallCounts, blockedMs: number): void {
  counts.stalls += 1
  counts.stalledMs += blockedMs
}

/** Undefined when the last entry is too recent. */
function messageFor(key: WatchedEngine | Log, blockedMs: number, how: string): string | undefined {
  const now = performance.now()
  const { loggedMs, unlogged } = entries.get(key) ?? { loggedMs: Number.NEGATIVE_INFINITY, unlogged: 0 }
  if (now - loggedMs < quietMs) {
    entries.set(key, { loggedMs, unlogged: unlogged + 1 })
    return undefined
  }
  entries.set(key, { loggedMs: now, unlogged: 0 })
  const more = unlogged > 0 ? ` (${unlogged} more stalls since the last entry)` : ''
  return `The event loop was blocked for ${(blockedMs / 1000).toFixed(1)} s ${how}${more}`
}

/**
 * Receives the stray errors of one task's handler. Timers and sockets of the handler can outlive the run with their
 * asynchronous context, so `release` drops the run: later errors are only logged.
 */
export class StrayErrorReceiver {
  readonly #log: Log
  readonly #key: { readonly agent: string; readonly id: string }
  #run: { onStrayError(): void } | undefined

  /** `onStrayError` of the run ends the current turn. */
  constructor(log: Log, key: { readonly agent: string; readonly id: string }, run: { onStrayError(): void }) {
    this.#log = log
    this.#key = key
    this.#run = run
  }

  strayError(error: unknown): void {
    const { agent, id: taskId } = this.#key
    this.#log({ level: 'error', message: 'Unhandled error in the handler', agent, taskId, error })
    this.#run?.onStrayError()
  }

  release(): void {
    this.#run = undefined
  }
}

const contexts = new AsyncLocalStorage<StrayErrorReceiver>()
let users = 0

/** Attributes stray errors to turns until the returned function is called. */
export function attributeStrayErrors(): () => void {
  users += 1
  let isOn = true
  return () => {
    if (isOn) users -= 1
    isOn = false
  }
}

/** Runs code of a handler, and everything that it starts, in the context of its turn. */
export function inTurn<Args extends unknown[], Result>(
  context: StrayErrorReceiver,
  work: (...args: Args) => Result,
  ...args: Args
): Result {
  return users > 0 ? contexts.run(context, work, ...args) : work(...args)
}

/** The turn in whose context the calling code runs. */
export function currentTurn(): StrayErrorReceiver | undefined {
  return users > 0 ? contexts.getStore() : undefined
}
