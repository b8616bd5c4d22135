/**
 * Runs the turns of one task, one after the other, under one lease (E-1).
 *
 *   accepted ─▶ turn ─┬─ returns ──────────▶ messages wait? next turn : COMPLETED
 *                     ├─ ask, askAuth ─────▶ INPUT_REQUIRED / AUTH_REQUIRED; messages wait? next turn : over
 *                     ├─ failed, rejected, throws ─▶ FAILED / REJECTED
 *                     ├─ before there is a task: reply ──▶ a Message   (E-6)
 *                     │                          A2AError ▶ the call is refused   (E-8)
 *                     └─ stopped: cancel ──▶ CANCELED   (E-7)
 *                                 failed ──▶ FAILED: an unhandled error   (E-8)
 *                                 hand-over ▶ another process takes the lease   (E-12)
 *                                 no-room ─▶ FAILED: the store is full
 *                                 fenced ──▶ nothing: another process owns the task   (E-9)
 *
 * A stopped handler gets its `AbortSignal` and a grace period; later yields are dropped.
 */

import type { A2AError } from '../../model/errors.js'
import type { EventBody, TurnRequest } from '../../model/event.js'
import type { Message } from '../../model/message.js'
import type { Struct } from '../../model/part.js'
import type { SendMessageResponse } from '../../model/service.js'
import { isInterrupted, isTerminal, type Task, type TaskState } from '../../model/task.js'
import type { AcceptedMessage, TaskFold } from '../../model/task-fold.js'
import type { TaskKey } from '../../stores/store.js'
import type { SharedTask } from '../access.js'
import type { Credential } from '../agent.js'
import type { LiveTask } from '../following/task-reader.js'
import { isFull, storeFull, storeFullParts } from '../limits.js'
import type { DraftContent } from './draft-content.js'
import type { CommitOutcome, WithMessage } from './event-buffer.js'
import { FirstAnswer } from './first-answer.js'
import { inTurn, StrayErrorReceiver } from './handler-watch.js'
import { type HandlerDeps, neutralFailure, runHandler, type TurnEnd } from './run-handler.js'
import { StopController, type StopReason, shuttingDown } from './stop.js'
import { TaskWriter, type WriterDeps, type WriterOwner } from './task-writer.js'
import { notifyAbandoned, RunState } from './turn.js'
import type { RunningTasks } from './usage.js'
import { YieldWriter, type YieldWriterDeps } from './yield-writer.js'

export interface RunDeps {
  readonly running: RunningTasks<Run>
  readonly writer: WriterDeps
  readonly output: YieldWriterDeps
  readonly handler: HandlerDeps
  /** Logs unexpected errors and converts them for the caller. */
  readonly toCallError: (error: unknown, taskId: string) => A2AError
}

export interface RunStart {
  readonly key: TaskKey
  readonly contextId: string
  readonly tenant: string
  readonly owner: string
  readonly dialect: string
  readonly fold: TaskFold
  /** The size of the task in the store. Default 0, for a new task. */
  readonly bytes?: number
  readonly isNew: boolean
  /** Present when this process holds the lease already. */
  readonly fencingToken?: number
  readonly withMessage?: WithMessage | undefined
  /** For the first turn of this run only. */
  readonly credential?: Credential
}

export class Run implements LiveTask, WriterOwner {
  readonly id: string
  readonly writer: TaskWriter
  /** Resolves when the run is over, on success and on failure. */
  done: Promise<void> = Promise.resolve()

  readonly #deps: RunDeps
  readonly #start: RunStart
  readonly #stop = new StopController()
  readonly #context: StrayErrorReceiver
  readonly #output: YieldWriter
  readonly #scope: RunState
  #isEnding = false
  #isClosed = false
  #fail: ((error: unknown) => void) | undefined
  readonly #firstAnswer = new FirstAnswer()

  constructor(deps: RunDeps, start: RunStart) {
    this.#deps = deps
    this.#start = start
    this.id = start.key.id
    this.#context = new StrayErrorReceiver(deps.handler.log, start.key, this)
    this.writer = new TaskWriter(deps.writer, start, this)
    this.#output = new YieldWriter(deps.output, this.writer, start.contextId)
    this.#scope = new RunState(start, this.writer, this.#output, this.#stop, this)
    deps.running.add(this)
  }

  get owner(): string {
    return this.#start.owner
  }

  get identity(): SharedTask {
    const { contextId, tenant, owner } = this.#start
    return { id: this.id, contextId, tenant, owner }
  }

  /** The committed task; undefined before it exists. */
  get task(): Task | undefined {
    return this.writer.fold.snapshot()
  }

  /** The sequence of the last committed event. */
  get seq(): number {
    return this.writer.fold.seq
  }

  /** Adds the message of the first turn to the first commit. */
  hold(message: Message, request: TurnRequest | undefined, bytes: number): AcceptedMessage {
    const body = acceptedEvent(this.writer.fold.lastTurn + 1, message, request)
    this.writer.hold(body, bytes)
    this.#output.start(body.accepted, 1)
    return body.accepted
  }

  /** Starts the last turn again, for example with the credential that it asked for. */
  holdAgain(current: AcceptedMessage): void {
    this.#output.start(current, 1)
  }

  /** Makes the task visible before the first yield (E-6). */
  holdVisible(): void {
    this.#output.makeVisible()
  }

  /** Commits the held events before the run begins. Closes the run unless the outcome is `ok`. Throws for a full store. */
  async commitFirst(): Promise<CommitOutcome> {
    try {
      const outcome = await this.writer.commit('keep')
      if (isFull(outcome)) throw storeFull(outcome)
      if (outcome !== 'ok') this.close()
      return outcome
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Adds a message to this running task. Returns its sequence, or `ending` when the run is about to end: try again. */
  async accept(
    message: Message,
    request: TurnRequest | undefined,
    withMessage: WithMessage | undefined,
  ): Promise<number | 'ending' | 'key-taken'> {
    const isOpen = () => !this.#isEnding && !this.#isClosed && !this.#scope.isStopped
    return await this.writer.accept((turn) => acceptedEvent(turn, message, request), { withMessage, isOpen })
  }

  /** Starts the first turn; `done` resolves when the run is over. */
  begin(current: AcceptedMessage): void {
    this.done = this.#runAll(current)
  }

  /** The answer for the sender of a new task. */
  firstAnswer(): Promise<SendMessageResponse | undefined> {
    return this.#firstAnswer.wait()
  }

  /** Runs the current turn again after a crash. */
  async beginAgain(current: AcceptedMessage, attempt: number): Promise<void> {
    this.#output.start(current, attempt)
    try {
      await this.writer.flush()
    } catch (error) {
      this.close()
      throw error
    }
    this.begin(current)
  }

  /** Ends the task without running the handler. Returns false when another process wrote first. */
  async end(state: TaskState, content?: DraftContent): Promise<boolean> {
    try {
      this.#isEnding = true
      this.#output.status(state, content)
      const isEnded = (await this.writer.commit('release')) === 'ok'
      if (isEnded) await this.#notifyAbandoned()
      return isEnded
    } finally {
      this.close()
    }
  }

  /** Writes the cancel request, then stops the handler. Resolves when the run is over. */
  async cancel(metadata?: Struct): Promise<void> {
    if (!this.#isEnding) {
      await this.writer.askCancel(metadata)
      if (this.writer.fold.isCancelAsked) this.stop('cancel')
    }
    await this.done
  }

  /** A stray error of the handler. */
  onStrayError(): void {
    if (!this.#isEnding) this.stop('failed')
  }

  onFailed(error: unknown): void {
    this.#fail?.(error)
  }

  stop(reason: StopReason): void {
    // Listeners of the handler's signal run in the context of its turn.
    const { handler, writer } = this.#deps
    if (!this.#isClosed) inTurn(this.#context, () => this.#stop.stop(reason, handler.cancelGraceMs, writer.clock))
  }

  close(): void {
    if (!this.#isClosed) this.#deps.running.remove(this)
    this.#isClosed = true
    this.#context.release()
    this.#stop.close()
    this.writer.close()
  }

  async #runAll(first: AcceptedMessage): Promise<void> {
    try {
      let current: AcceptedMessage | undefined = first
      while (current) {
        // The cancel request may be older than this process's lease.
        if (this.writer.fold.isCancelAsked) this.stop('cancel')
        current = await this.#conclude(await this.#iterateUntilStopped(current))
      }
    } catch (caught) {
      inTurn(this.#context, () => this.#stop.fail())
      this.#failFollowers(this.#deps.toCallError(caught, this.id))
    } finally {
      this.close()
      this.#firstAnswer.resolve(undefined)
    }
  }

  /** Ends with the handler, or without it after its grace period. */
  #iterateUntilStopped(current: AcceptedMessage): Promise<TurnEnd> {
    if (this.#scope.isStopped) return Promise.resolve({ kind: 'stopped' })
    return new Promise((resolve, reject) => {
      this.#stop.onGivenUp = () => resolve({ kind: 'stopped' })
      this.#fail = reject
      const stage = { deps: this.#deps.handler, scope: this.#scope, output: this.#output }
      inTurn(this.#context, runHandler, current, stage).then(resolve, reject)
    })
  }

  /** Commits the end of a turn. Returns the message of the next turn, if one waits. */
  #conclude(end: TurnEnd): Promise<AcceptedMessage | undefined> | undefined {
    if (!this.#scope.isStopped) {
      if (end.kind === 'state') return this.#finish(end.state, end.content)
      if (end.kind === 'message') return this.#closeWithoutTask({ message: this.#output.reply(end.content) })
      if (end.kind === 'refused') {
        const { code, message, details } = end.error
        return this.#closeWithoutTask({ refused: { code, message, details } })
      }
    }
    switch (this.#stop.reason) {
      case 'cancel':
        return this.#finish('TASK_STATE_CANCELED')
      case 'failed':
        return this.#finish('TASK_STATE_FAILED', neutralFailure)
      case 'hand-over':
        return this.#handOver()
      case 'no-room':
        return this.#finish('TASK_STATE_FAILED', { parts: storeFullParts })
      case 'fenced':
      case undefined:
        return this.#lost()
    }
  }

  /** Ends an exchange without a task: it is stored as long as its idempotency key, or not at all (E-6). */
  async #closeWithoutTask(body: EventBody): Promise<undefined> {
    this.#isEnding = true
    if (this.writer.isStored) {
      this.writer.hold(body)
      // If the lease was lost, the sender reads its answer from the log.
      if (!(await this.writer.leave('release'))) return this.#lost()
    } else this.writer.show(body)
    this.#firstAnswer.withoutTask(body)
    return undefined
  }

  /**
   * Commits the end of a turn. Waiting messages are checked again whenever another process wrote first, so that no message
   * accepted before the end is left behind.
   */
  async #finish(state: TaskState, content?: DraftContent): Promise<AcceptedMessage | undefined> {
    this.#output.makeVisible()
    if (state === 'TASK_STATE_COMPLETED' || isInterrupted(state)) this.#output.endText()
    for (;;) {
      // No `await` between here and the commit: the queue of messages must not change.
      while (this.writer.isBusy) await this.writer.settled()
      if (this.#stop.reason === 'fenced') return this.#lost()
      // A cancel request that arrived while the turn ended: a task that would wait is cancelled instead (E-7).
      if (this.writer.fold.isCancelAsked && !isTerminal(state)) return await this.#finish('TASK_STATE_CANCELED')
      const { waiting } = this.writer.fold
      const next = waiting.length > 0 ? waiting.find(({ turn }) => turn > this.#output.turn) : undefined
      if (next && !isTerminal(state)) {
        this.#output.status(state, content)
        await this.writer.flush()
        this.#firstAnswer.task(this.task)
        return await this.#startNext(next)
      }
      if (next && state === 'TASK_STATE_COMPLETED') {
        if (content?.parts || content?.values) this.#output.status('TASK_STATE_WORKING', content)
        return await this.#startNext(next)
      }
      this.#isEnding = true
      this.#output.status(state, content)
      const outcome = await this.writer.commit('release')
      if (outcome === 'fenced') return this.#lost()
      if (isFull(outcome)) {
        // Stores always accept the end of a task.
        if (isTerminal(state)) throw storeFull(outcome)
        return await this.#finish('TASK_STATE_FAILED', { parts: storeFullParts })
      }
      if (outcome === 'ok') {
        this.#firstAnswer.task(this.task)
        // A stop that arrives during the commit of another state has no effect.
        const isStopped = this.#stop.reason === 'failed' || this.#stop.reason === 'no-room'
        const isFailedByStop = isStopped && state === 'TASK_STATE_FAILED'
        if (state === 'TASK_STATE_CANCELED' || isFailedByStop) await this.#notifyAbandoned()
        return undefined
      }
      this.writer.unhold()
      this.#isEnding = false
      await this.writer.catchUp()
    }
  }

  async #notifyAbandoned(): Promise<void> {
    const { handler } = this.#deps
    await notifyAbandoned(handler, this.#scope, handler.cancelGraceMs)
  }

  /** Another process owns the task: this run writes nothing more. */
  #lost(): undefined {
    const { running, handler } = this.#deps
    running.fencedRuns += 1
    const message = 'Fenced out: another process runs this task now'
    handler.log({ level: 'warn', message, agent: this.#start.key.agent, taskId: this.id })
    return undefined
  }

  async #startNext(next: AcceptedMessage): Promise<AcceptedMessage> {
    this.#output.start(next, 1)
    await this.writer.flush()
    return next
  }

  async #handOver(): Promise<undefined> {
    this.#isEnding = true
    if (this.writer.isStored) return (await this.writer.leave('hand-over')) ? undefined : this.#lost()
    this.#failFollowers(shuttingDown())
    return undefined
  }

  #failFollowers(error: A2AError): void {
    this.#deps.writer.topics.get(this.id)?.close(error)
    this.#firstAnswer.reject(error)
  }

  /** Handles events of other processes. Messages wait for the end of the turn; a cancel request takes effect now. */
  onForeignEvents(): void {
    const { fold } = this.writer
    // Only the holder of the lease ends a task or starts a turn, so this run has lost it.
    const isStartedElsewhere =
      fold.current !== undefined && fold.attempt > this.#output.attempt && fold.current.turn >= this.#output.turn
    if (fold.isTerminal || isStartedElsewhere) this.stop('fenced')
    else if (fold.isCancelAsked) this.stop('cancel')
  }
}

/** The event that adds a message to the queue of a task. */
function acceptedEvent(
  turn: number,
  message: Message,
  request: TurnRequest | undefined,
): { readonly accepted: AcceptedMessage } {
  return { accepted: request ? { turn, message, request } : { turn, message } }
}
