/**
 * Execution: the runs of this process. Opens runs, keeps their leases alive, and takes over tasks of other processes (E-9):
 * at the start, when the store notifies of runnable tasks, and every third of a lease. A process known to be dead loses its
 * leases at once; any other process loses them when they expire.
 */
import type { Clock } from '../../model/clock.js'
import type { A2AError } from '../../model/errors.js'
import type { Log } from '../../model/log.js'
import type { Part } from '../../model/part.js'
import type { AgentService } from '../../model/service.js'
import type { ClaimedTask } from '../../stores/store.js'
import { loadTelemetry } from '../../telemetry/api.js'
import { applicationTracing } from '../../telemetry/tracing.js'
import type { Agent, AgentRef } from '../agent.js'
import { foldOf } from '../following/task-reader.js'
import type { Topics } from '../following/topic.js'
import type { EngineStore } from '../guarded-store.js'
import { taskTooLarge } from '../limits.js'
import type { SkillSchemas } from '../message-checks.js'
import type { EngineSettings } from '../settings.js'
import { startTimer, Timestamps } from '../system-clock.js'
import { createTickQueue } from './event-buffer.js'
import { watchStalls } from './handler-watch.js'
import { Run, type RunDeps, type RunStart } from './run.js'
import { waitAtMost } from './stop.js'
import type { TurnDeps } from './turn.js'
import type { CallerBytes, RunningTasks } from './usage.js'

interface ExecutionDeps {
  readonly agent: Agent
  readonly store: Pick<EngineStore, 'append' | 'find' | 'load' | 'read' | 'leases' | 'changes'>
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<EngineSettings, 'leaseMs' | 'cancelGraceMs' | 'stallMs' | 'limits'>
  readonly schemas: SkillSchemas | undefined
  /** Identifies this process in leases. */
  readonly leaseOwner: string
  readonly isOwnerDead: (owner: string) => boolean
  /** Finds the agents that `turn.call` names. */
  readonly resolve: ((ref: AgentRef) => AgentService | undefined) | undefined
  /** Reads the other tasks of a context. */
  readonly earlier: TurnDeps['earlier']
  readonly topics: Topics
  readonly running: RunningTasks<Run>
  readonly callerBytes: CallerBytes
  /** Logs unexpected errors and converts them for the caller. */
  readonly toCallError: (error: unknown, taskId?: string) => A2AError
}

const interrupted: readonly Part[] = [{ text: 'The agent was interrupted before it finished' }]
const tooManyAttempts: readonly Part[] = [{ text: 'The agent was interrupted too often and was given up' }]
const maxClaims = 100

export class Execution {
  /** Stalls of the event loop during steps of this agent's handlers. */
  readonly stallCounts: { readonly stalls: number; readonly stalledMs: number }
  readonly #deps: ExecutionDeps
  readonly #runDeps: RunDeps
  #stopTimer: (() => void) | undefined
  #unwatchStore: (() => void) | undefined
  #unwatchStalls: (() => void) | undefined
  #sweep: Promise<void> | undefined
  #isSweepRequested = false
  #isDraining = false

  constructor(deps: ExecutionDeps) {
    this.#deps = deps
    this.#runDeps = runDepsOf(deps)
    this.stallCounts = this.#runDeps.handler.watched.counts
  }

  /** True from the start of a drain. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Creates a run. The caller commits its first events and begins it. */
  open(start: RunStart): Run {
    return new Run(this.#runDeps, start)
  }

  /** Resolves when all abandoned tasks have been taken over. */
  async start(): Promise<void> {
    await loadTelemetry()
    const { agent, store, settings, clock, toCallError } = this.#deps
    // Started first: a long recovery must not lose the leases that it has just taken.
    const tick = () => {
      this.#renew().catch((error) => toCallError(error))
      this.#requestSweep()
    }
    this.#stopTimer = startTimer(clock, tick, settings.leaseMs / 3, { repeats: true })
    this.#unwatchStalls = watchStalls(this.#runDeps.handler.watched)
    this.#unwatchStore = store.changes.watchRunnable(agent.card.name, () => this.#requestSweep())
    const takingOver = this.#takeOverAll()
    // Sweeps wait for it: one that runs meanwhile could claim tasks that this call must wait for.
    this.#sweep = takingOver.catch(() => undefined).then(() => this.#sweepWhileRequested())
    await takingOver
  }

  /** Lets turns finish until the deadline, then hands the rest over to other processes (E-12). */
  async drain(deadlineMs: number): Promise<void> {
    const { running } = this.#deps
    this.#isDraining = true
    const finishing = running.all().map(({ done }) => done)
    if (finishing.length > 0) await waitAtMost(deadlineMs, Promise.allSettled(finishing))
    this.#stopTimer?.()
    this.#unwatchStore?.()
    await this.#sweep
    const rest = running.all()
    for (const run of rest) run.stop('hand-over')
    await Promise.all(rest.map(({ done }) => done))
    this.#unwatchStalls?.()
  }

  /** One sweep at a time; a request during a sweep causes another one. */
  #requestSweep(): void {
    this.#isSweepRequested = true
    this.#sweep ??= this.#sweepWhileRequested()
  }

  async #sweepWhileRequested(): Promise<void> {
    try {
      while (this.#isSweepRequested && !this.#isDraining) {
        this.#isSweepRequested = false
        await this.#takeOverAll()
      }
    } catch (error) {
      this.#deps.toCallError(error)
    } finally {
      this.#sweep = undefined
    }
  }

  async #renew(): Promise<void> {
    const { running, store, leaseOwner, settings } = this.#deps
    const held: ClaimedTask[] = []
    for (const { writer } of running.all())
      if (writer.fencingToken !== undefined) held.push({ key: writer.key, fencingToken: writer.fencingToken })
    if (held.length === 0) return
    for (const { key, fencingToken } of await store.leases.renew(held, {
      owner: leaseOwner,
      ttlMs: settings.leaseMs,
    })) {
      const run = running.get(key.id)
      // The run may have ended, or a new one begun, during the call.
      if (run?.writer.fencingToken === fencingToken) run.stop('fenced')
    }
  }

  async #takeOverAll(): Promise<void> {
    const { agent, store, leaseOwner, settings, running, isOwnerDead, toCallError } = this.#deps
    // A process that was suspended for longer than a lease first renews its own.
    await this.#renew()
    for (const holder of await store.leases.owners()) if (isOwnerDead(holder)) await store.leases.disown(holder)
    for (;;) {
      const limit = Math.min(settings.limits.runs - running.size, maxClaims)
      if (limit <= 0) return
      const lease = { owner: leaseOwner, ttlMs: settings.leaseMs }
      const claimed = await store.leases.claim({ agents: [agent.card.name], lease, limit })
      for (const each of claimed) {
        // A task that cannot be read must not block the others.
        await this.#takeOver(each).catch((error) => toCallError(error, each.key.id))
      }
      if (claimed.length < limit) return
    }
  }

  async #takeOver({ key, fencingToken }: ClaimedTask): Promise<void> {
    const { store, agent, log, running, settings } = this.#deps
    const here = running.get(key.id)
    if (here?.writer.fencingToken === fencingToken - 1) {
      // The lease of this process had expired and no other process took it: the run continues under the new one.
      here.writer.adopt(fencingToken)
      return
    }
    if (here) {
      here.stop('fenced')
      await here.done
    }
    const { limits } = settings
    const found = await store.find(key)
    // The task was written with a higher limit or none. It is failed, which does not need its artifacts.
    const isTooLarge = found !== undefined && found.bytes > limits.bytesPerTask
    const loaded = await store.load(key, { includeArtifacts: !isTooLarge })
    if (!loaded) return
    const { contextId, tenant, owner, dialect, seq, bytes } = loaded.record
    const fold = foldOf(loaded, { withoutArtifacts: isTooLarge })
    const next = fold.waiting[0]
    const { current, state } = fold
    const isMidTurn =
      current && (state === undefined || state === 'TASK_STATE_SUBMITTED' || state === 'TASK_STATE_WORKING')
    if (fold.isTerminal || fold.answer || (!isMidTurn && !next && !fold.isCancelAsked)) {
      await store.append({ key, expect: seq, events: [], fencingToken, lease: 'release', isRunnable: false })
      return
    }
    const run = this.open({ key, contextId, tenant, owner, dialect, fold, bytes, isNew: false, fencingToken })
    if (isTooLarge) return await this.#end(run, 'TASK_STATE_FAILED', taskTooLarge(limits))
    if (fold.isCancelAsked) return await this.#end(run, 'TASK_STATE_CANCELED')
    if (!isMidTurn) return next && (await run.beginAgain(next, 1))
    const { onCrash } = agent.card
    const attempts = typeof onCrash === 'object' ? onCrash.attempts : 1
    const isRetried = fold.attempt < attempts
    const what = isRetried
      ? `run again, attempt ${fold.attempt + 1} of ${attempts}`
      : `given up after ${attempts} (onCrash: { attempts } of the agent allows more)`
    log({ level: 'warn', message: `A turn was interrupted and is ${what}`, agent: agent.card.name, taskId: key.id })
    if (isRetried) return await run.beginAgain(current, fold.attempt + 1)
    await this.#end(run, 'TASK_STATE_FAILED', attempts > 1 ? tooManyAttempts : interrupted)
  }

  async #end(run: Run, state: 'TASK_STATE_CANCELED' | 'TASK_STATE_FAILED', parts?: readonly Part[]): Promise<void> {
    const { key, fencingToken } = run.writer
    // If a message or a cancel request was written first, this process still holds the lease and looks again.
    if (!(await run.end(state, { parts })) && fencingToken !== undefined) await this.#takeOver({ key, fencingToken })
  }
}

function runDepsOf(deps: ExecutionDeps): RunDeps {
  const { agent, store, clock, log, settings, schemas, resolve, topics, running, callerBytes, toCallError } = deps
  const { leaseMs, cancelGraceMs, stallMs, limits } = settings
  const newId = () => clock.newId()
  const timestamps = new Timestamps(clock)
  return {
    running,
    toCallError,
    writer: {
      store,
      clock,
      timestamps,
      leaseOwner: deps.leaseOwner,
      leaseMs,
      limits,
      topics,
      running,
      callerBytes,
      atEndOfTick: createTickQueue(),
      onError: toCallError,
    },
    output: { newId, timestamps },
    handler: {
      agent,
      log,
      newId,
      resolve,
      earlier: deps.earlier,
      schemas,
      // `start` loads OpenTelemetry, after this object was created.
      get tracing() {
        return applicationTracing()
      },
      limits,
      cancelGraceMs,
      watched: {
        name: agent.card.name,
        log,
        stallMs,
        runningTaskIds: () => running.ids(),
        counts: { stalls: 0, stalledMs: 0 },
      },
    },
  }
}
