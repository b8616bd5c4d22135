/**
 * Detects a blocked event loop, and names the handler that blocked it. Two clock readings around each step of a
 * handler find the handler that ran; a timer finds stalls that no handler returned from. One loop, one watch: the state
 * is shared by all engines of the process.
 */
import type { Log } from '../model/log.js'

/** An engine that is watched. */
export interface WatchedEngine {
  readonly name: string
  readonly log: Log
  readonly settings: { readonly stallMs: number }
  /** By task id. */
  readonly runs: ReadonlyMap<string, unknown>
  readonly counts: { stalls: number; stalledMs: number }
}

const maxTickMs = 250
/** Between two log entries of one engine. */
const quietMs = 10_000
const maxNamedTasks = 3

const engines = new Set<WatchedEngine>()
let timer: NodeJS.Timeout | undefined
let tickMs = maxTickMs
/** When the loop was last seen to run. */
let aliveMs = 0
let tickedMs = 0
/** A stall since the last tick has been reported with its handler. */
let isReported = false
type Entries = WeakMap<WatchedEngine, { readonly loggedMs: number; readonly unlogged: number }>
/** Log entries with and without a task: the first must not be lost among the second. */
const withTask: Entries = new WeakMap()
const withoutTask: Entries = new WeakMap()

/** Watches until the returned function is called. */
export function watchStalls(engine: WatchedEngine): () => void {
  if (engine.settings.stallMs <= 0) return () => undefined
  engines.add(engine)
  restart()
  return () => {
    if (engines.delete(engine)) restart()
  }
}

/** Before a handler runs: time that passed until now is not its own. */
export function enterHandler(): void {
  if (timer) aliveMs = performance.now()
}

/** After a handler has run. */
export function leaveHandler(engine: WatchedEngine, taskId: string): void {
  check(engine, taskId, 'while the agent ran; move the work to another process or thread')
}

/** After a handler has waited. Code that ran meanwhile, its own or not, may have blocked the loop. */
export function resumeHandler(engine: WatchedEngine, taskId: string): void {
  check(engine, taskId, 'by the agent or by code that ran while it waited')
}

function check(engine: WatchedEngine, taskId: string, how: string): void {
  if (!timer) return
  const now = performance.now()
  const blockedMs = now - aliveMs
  aliveMs = now
  const { stallMs } = engine.settings
  if (stallMs <= 0 || blockedMs < stallMs) return
  isReported = true
  report(engine, blockedMs, how, taskId)
}

function restart(): void {
  clearInterval(timer)
  timer = undefined
  if (engines.size === 0) return
  tickMs = Math.min(maxTickMs, minStallMs() / 2)
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
  if (wasReported || lateMs < minStallMs()) return
  const busy = [...engines].find(({ runs }) => runs.size > 0) ?? [...engines][0]
  if (!busy) return
  const running = [...engines].flatMap(({ name, runs }) =>
    Array.from(runs.keys(), (id) => `${name} ${id}`).slice(0, maxNamedTasks),
  )
  const named = running.length > 0 ? `; running: ${running.slice(0, maxNamedTasks).join(', ')}` : ''
  report(busy, lateMs, `outside of the steps of an agent${named}`)
}

function report(engine: WatchedEngine, blockedMs: number, how: string, taskId?: string): void {
  engine.counts.stalls += 1
  engine.counts.stalledMs += blockedMs
  const now = performance.now()
  const entries = taskId === undefined ? withoutTask : withTask
  const { loggedMs, unlogged } = entries.get(engine) ?? { loggedMs: Number.NEGATIVE_INFINITY, unlogged: 0 }
  if (now - loggedMs < quietMs) {
    entries.set(engine, { loggedMs, unlogged: unlogged + 1 })
    return
  }
  entries.set(engine, { loggedMs: now, unlogged: 0 })
  const more = unlogged > 0 ? ` (${unlogged} more stalls since the last entry)` : ''
  const message = `The event loop was blocked for ${(blockedMs / 1000).toFixed(1)} s ${how}${more}`
  engine.log({ level: 'warn', message, agent: engine.name, ...(taskId !== undefined && { taskId }) })
}

function minStallMs(): number {
  return Math.min(...Array.from(engines, ({ settings }) => settings.stallMs))
}
