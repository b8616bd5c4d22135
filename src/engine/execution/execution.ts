/**
 * Keeps the leases of this process alive, and takes over what others left behind (E-9): at the start,
 * when the store hints at work, and every third of a lease. A process known to be dead loses its
 * leases at once; any other one when they expire.
 */
import type { Part } from '../../model/part.js'
import type { ClaimedTask } from '../../stores/store.js'
import { foldOf } from '../following/task-reader.js'
import type { Internals } from '../internals.js'
import { taskTooLarge } from '../limits.js'
import { startTimer } from '../system-clock.js'
import { Run } from './run.js'

const interrupted: readonly Part[] = [{ text: 'The agent was interrupted before it finished' }]
const tooManyAttempts: readonly Part[] = [{ text: 'The agent was interrupted too often and was given up' }]

export class LeaseKeeper {
  readonly #internals: Internals
  readonly #isOwnerDead: (owner: string) => boolean
  #stopTimer: (() => void) | undefined
  #unwatch: (() => void) | undefined
  #sweep: Promise<void> | undefined
  #isSweepAsked = false

  constructor(internals: Internals, isOwnerDead: (owner: string) => boolean) {
    this.#internals = internals
    this.#isOwnerDead = isOwnerDead
  }

  /** Resolves when everything that was left behind has been taken over. */
  async start(): Promise<void> {
    const { store, name, settings, clock } = this.#internals
    // Before anything is taken over: a long recovery must not lose the leases it has just taken.
    const tick = () => {
      this.#renew().catch((error) => this.#internals.failure(error))
      this.#ask()
    }
    this.#stopTimer = startTimer(clock, tick, settings.leaseMs / 3, { repeats: true })
    this.#unwatch = store.changes.watchRunnable(name, () => this.#ask())
    await this.#takeOverAll()
  }

  async stop(): Promise<void> {
    this.#stopTimer?.()
    this.#unwatch?.()
    await this.#sweep
  }

  /** One sweep at a time; a hint during a sweep means one more. */
  #ask(): void {
    this.#isSweepAsked = true
    this.#sweep ??= this.#sweepWhileAsked()
  }

  async #sweepWhileAsked(): Promise<void> {
    try {
      while (this.#isSweepAsked && !this.#internals.isDraining) {
        this.#isSweepAsked = false
        await this.#takeOverAll()
      }
    } catch (error) {
      this.#internals.failure(error)
    } finally {
      this.#sweep = undefined
    }
  }

  async #renew(): Promise<void> {
    const { runs, store, owner, settings } = this.#internals
    const held: ClaimedTask[] = []
    for (const { writer } of runs.values())
      if (writer.fencingToken !== undefined) held.push({ key: writer.key, fencingToken: writer.fencingToken })
    if (held.length === 0) return
    for (const { key, fencingToken } of await store.leases.renew(held, { owner, ttlMs: settings.leaseMs })) {
      const run = runs.get(key.id)
      // It may have ended, or begun anew, while the store was asked.
      if (run?.writer.fencingToken === fencingToken) run.stop('fenced')
    }
  }

  async #takeOverAll(): Promise<void> {
    const { store, name, owner, settings, runs } = this.#internals
    // A process that stood still for longer than a lease is not dead: its own come first.
    await this.#renew()
    for (const holder of await store.leases.owners()) if (this.#isOwnerDead(holder)) await store.leases.disown(holder)
    for (;;) {
      const limit = Math.min(settings.limits.runs - runs.size, 100)
      if (limit <= 0) return
      const claimed = await store.leases.claim({ agents: [name], lease: { owner, ttlMs: settings.leaseMs }, limit })
      for (const each of claimed) {
        // One task that cannot be read must not keep the others from being taken over.
        await this.#takeOver(each).catch((error) => this.#internals.failure(error, each.key.id))
      }
      if (claimed.length < limit) return
    }
  }

  async #takeOver({ key, fencingToken }: ClaimedTask): Promise<void> {
    const { store, agent, log, name } = this.#internals
    const here = this.#internals.runs.get(key.id)
    if (here?.writer.fencingToken === fencingToken - 1) {
      // Ours had run out and nobody was faster: the run goes on under the new one.
      here.writer.adopt(fencingToken)
      return
    }
    if (here) {
      here.stop('fenced')
      await here.done
    }
    const { limits } = this.#internals.settings
    const found = await store.find(key)
    // Written before there was a limit, or with a higher one: it is ended, and for that its artifacts are not needed.
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
    const start = { key, contextId, tenant, owner, dialect, fold, bytes, isNew: false, fencingToken }
    if (isTooLarge) return await this.#end(new Run(this.#internals, start), 'TASK_STATE_FAILED', taskTooLarge(limits))
    if (fold.isCancelAsked) return await this.#end(new Run(this.#internals, start), 'TASK_STATE_CANCELED')
    if (!isMidTurn) {
      const run = new Run(this.#internals, start)
      return next && (await run.beginAgain(next, 1))
    }
    const { onCrash } = agent.card
    const attempts = typeof onCrash === 'object' ? onCrash.attempts : 1
    const isTriedAgain = fold.attempt < attempts
    const what = isTriedAgain
      ? `run again, attempt ${fold.attempt + 1} of ${attempts}`
      : `given up after ${attempts} (onCrash: { attempts } of the agent allows more)`
    log({ level: 'warn', message: `A turn was interrupted and is ${what}`, agent: name, taskId: key.id })
    if (isTriedAgain) return await new Run(this.#internals, start).beginAgain(current, fold.attempt + 1)
    await this.#end(new Run(this.#internals, start), 'TASK_STATE_FAILED', attempts > 1 ? tooManyAttempts : interrupted)
  }

  async #end(run: Run, state: 'TASK_STATE_CANCELED' | 'TASK_STATE_FAILED', parts?: readonly Part[]): Promise<void> {
    // Beaten by a message or a cancel: the lease is still ours, so look at the task once more.
    const { key, fencingToken } = run.writer
    if (!(await run.end(state, parts)) && fencingToken !== undefined) await this.#takeOver({ key, fencingToken })
  }
}
