/**
 * Runs the turns of one task, one after the other, under one lease (E-1).
 *
 *   accepted ─▶ turn ─┬─ returns ──────────▶ messages wait? next turn : COMPLETED
 *                     ├─ ask, askAuth ─────▶ INPUT_REQUIRED / AUTH_REQUIRED; messages wait? next turn : over
 *                     ├─ failed, rejected, throws ─▶ FAILED / REJECTED
 *                     └─ stopped: cancel ──▶ CANCELED   (E-7)
 *                                 failed ──▶ FAILED: a stray error   (E-8)
 *                                 drain ───▶ lease handed over   (E-12)
 *                                 no-room ─▶ FAILED: the store is full
 *                                 fenced ──▶ nothing: another process owns the task   (E-9)
 *
 * A stopped handler gets its `AbortSignal` and a grace period; what it yields afterwards is dropped.
 */
import type { AcceptedMessage, TaskFold } from '../../model/apply-event.js'
import { A2AError } from '../../model/errors.js'
import type { EventBody, TurnRequest } from '../../model/event.js'
import type { Message } from '../../model/message.js'
import type { JsonValue, Part, Struct } from '../../model/part.js'
import type { Caller, SendMessageResponse } from '../../model/service.js'
import { isInterrupted, isTerminal, type Task, type TaskState } from '../../model/task.js'
import type { TaskKey } from '../../stores/store.js'
import type { SharedTask } from '../access.js'
import type { Credential } from '../admission/provide-credential.js'
import type { CheckpointOptions } from '../agent.js'
import type { Internals } from '../internals.js'
import { isFull, noRoomForTask, shuttingDown, storeFull } from '../limits.js'
import type { WithMessage } from './event-buffer.js'
import { FirstAnswer } from './first-answer.js'
import { inTurn, TurnContext } from './handler-watch.js'
import { neutralFailure, runHandler, type TurnEnd } from './run-handler.js'
import { type Stop, Stopping, stopReason } from './stop.js'
import { TaskWriter } from './task-writer.js'
import type { TurnSource } from './turn.js'
import { tellAbandoned } from './turn.js'
import { CheckpointWriter, YieldWriter } from './yield-writer.js'

export class Run implements TurnSource {
  readonly id: string
  readonly writer: TaskWriter
  /** Settles when the run is over, whatever happened. */
  done: Promise<void> = Promise.resolve()

  readonly #internals: Internals
  readonly #start: RunStart
  readonly #stopping = new Stopping()
  readonly #context: TurnContext
  readonly #voice: YieldWriter
  /** Made with the first checkpoint: most handlers write none. */
  #checkpointWriter: CheckpointWriter | undefined
  #credential: Credential | undefined
  #isEnding = false
  #isClosed = false
  #fail: (error: unknown) => void = () => undefined
  readonly #sender = new FirstAnswer()

  constructor(internals: Internals, start: RunStart) {
    this.#internals = internals
    this.#start = start
    this.id = start.key.id
    this.#credential = start.credential
    this.#context = new TurnContext(internals.log, { agent: internals.name, taskId: this.id }, () => {
      if (!this.#isEnding) this.stop('failed')
    })
    this.writer = new TaskWriter(internals, {
      key: start.key,
      fold: start.fold,
      bytes: start.bytes ?? 0,
      owner: start.owner,
      ...(start.isNew && {
        create: { tenant: start.tenant, owner: start.owner, contextId: start.contextId, dialect: start.dialect },
      }),
      ...(start.fencingToken !== undefined && { fencingToken: start.fencingToken }),
      ...(start.withMessage && { withMessage: start.withMessage }),
      onForeignEvents: () => this.#onForeignEvents(),
      onFenced: () => this.stop('fenced'),
      onFull: () => this.stop('no-room'),
      onFailed: (error) => this.#fail(error),
    })
    this.#voice = new YieldWriter(internals, this.writer, start.contextId)
    internals.runs.set(this.id, this)
    internals.running.add(start.owner)
  }

  /** Whose task this is. */
  get identity(): SharedTask {
    const { key, contextId, tenant, owner } = this.#start
    return { id: key.id, contextId, tenant, owner }
  }

  /** The task as committed; absent while there is none. */
  get task(): Task | undefined {
    return this.writer.fold.snapshot()
  }

  /** The first message of a new task, or the next one of a task that nobody runs. */
  hold(message: Message, request: TurnRequest | undefined, bytes: number): void {
    const turn = this.writer.fold.lastTurn + 1
    const body = accepted(turn, message, request)
    this.writer.hold(body, bytes)
    this.#voice.start(body.accepted, 1)
  }

  /** The turn that ran last, from its beginning: what it lacked has come. */
  holdAgain(current: AcceptedMessage): void {
    this.#voice.start(current, 1)
  }

  /** Makes the task visible before the agent says anything (E-6). */
  holdVisible(): void {
    this.#voice.makeVisible()
  }

  /**
   * A message to this busy task: resolves with the sequence under which it was accepted, or with
   * `ending` when the run is about to end and the message has to look again.
   */
  async accept(
    message: Message,
    request: TurnRequest | undefined,
    withMessage: WithMessage,
  ): Promise<number | 'ending' | 'key-taken'> {
    const isOpen = () => !this.#isEnding && !this.#isClosed && !this.#stopping.why
    return await this.writer.accept((turn) => accepted(turn, message, request), { withMessage, isOpen })
  }

  /** Starts running; the promise in `done` owns it. */
  begin(current: AcceptedMessage): void {
    this.done = this.#runAll(current)
  }

  /** The answer for the sender of a new task. To be called right after `begin`. */
  firstEnd(): Promise<SendMessageResponse | undefined> {
    return this.#sender.wait()
  }

  /** Runs the current turn once more after a crash. */
  async beginAgain(current: AcceptedMessage, attempt: number): Promise<void> {
    this.#voice.start(current, attempt)
    try {
      await this.writer.flush()
    } catch (error) {
      this.close()
      throw error
    }
    this.begin(current)
  }

  /** Ends the task without running anything; `false` when somebody else wrote first. */
  async end(state: TaskState, parts?: readonly Part[]): Promise<boolean> {
    try {
      this.#isEnding = true
      this.#voice.say(state, parts)
      const isEnded = (await this.writer.commit({ lease: 'release' })) === 'ok'
      if (isEnded) await tellAbandoned(this)
      return isEnded
    } finally {
      this.close()
    }
  }

  /** Written down for later attempts; a handler that was stopped has nothing more to say (E-4). */
  async checkpoint(key: string, value: JsonValue, options?: CheckpointOptions): Promise<void> {
    let isWritten = false
    try {
      this.#checkpointWriter ??= new CheckpointWriter(this.writer)
      isWritten = !this.#stopping.why && !this.#isClosed && (await this.#checkpointWriter.write(key, value, options))
    } catch (error) {
      // A store that fails is a failure of the run, not of the handler.
      if (error instanceof A2AError) this.#fail(error)
      throw error
    }
    if (!isWritten) throw stopReason(this.#stopping.why ?? 'fenced')
  }

  get checkpoints(): ReadonlyMap<string, JsonValue> {
    return this.writer.fold.checkpoints
  }

  /** Asks the handler to stop; the request itself is in the log before anything happens. */
  async cancel(metadata?: Struct): Promise<void> {
    if (!this.#isEnding) {
      await this.writer.askCancel(metadata)
      if (this.writer.fold.isCancelAsked) this.stop('cancel')
    }
    await this.done
  }

  stop(stop: Stop): void {
    // Listeners of the handler's signal are part of its turn.
    if (!this.#isClosed)
      inTurn(this.#context, () =>
        this.#stopping.ask(stop, this.#internals.settings.cancelGraceMs, this.#internals.clock),
      )
  }

  close(): void {
    if (!this.#isClosed) this.#internals.running.remove(this.#start.owner)
    this.#isClosed = true
    this.#context.release()
    this.#stopping.end()
    if (this.#internals.runs.get(this.id) === this) this.#internals.runs.delete(this.id)
    this.writer.close()
  }

  async #runAll(first: AcceptedMessage): Promise<void> {
    try {
      let current: AcceptedMessage | undefined = first
      while (current) {
        // A cancel may have been asked for before this process took the task over.
        if (this.writer.fold.isCancelAsked) this.stop('cancel')
        current = await this.#conclude(await this.#iterateUntilStopped(current))
      }
    } catch (caught) {
      inTurn(this.#context, () => this.#stopping.fail())
      const error = this.#internals.failure(caught, this.id)
      this.#internals.existingTopic(this.id)?.close(error)
      this.#sender.reject(error)
    } finally {
      this.close()
      this.#sender.resolve(undefined)
    }
  }

  /** Commits how a turn ended; answers the message of the next one, if there is one. */
  #conclude(end: TurnEnd): Promise<AcceptedMessage | undefined> | undefined {
    if (!this.#stopping.why) {
      if (end.kind === 'state') return this.#finish(end.state, end.parts)
      if (end.kind === 'message') return this.#closeWithoutTask({ message: this.#voice.answer(end.parts) })
      if (end.kind === 'refused') {
        const { code, message, details } = end.error
        return this.#closeWithoutTask({ refused: { code, message, details } })
      }
    }
    switch (this.#stopping.why) {
      case 'cancel':
        return this.#finish('TASK_STATE_CANCELED')
      case 'failed':
        return this.#finish('TASK_STATE_FAILED', neutralFailure)
      case 'hand-over':
        return this.#handOver()
      case 'no-room':
        return this.#finish('TASK_STATE_FAILED', noRoomForTask)
      case 'fenced':
      case undefined:
        return this.#lost()
    }
  }

  /** Ends with the handler, or without it when its grace period is over. */
  #iterateUntilStopped(current: AcceptedMessage): Promise<TurnEnd> {
    if (this.#stopping.why) return Promise.resolve({ kind: 'stopped' })
    return new Promise((resolve, reject) => {
      this.#stopping.onGivenUp = () => resolve({ kind: 'stopped' })
      this.#fail = reject
      inTurn(this.#context, () => runHandler(current, { run: this, voice: this.#voice })).then(resolve, reject)
    })
  }

  /** The exchange was no task: stored while its key lives, without a key not at all (E-6). */
  async #closeWithoutTask(body: EventBody): Promise<undefined> {
    // Whoever lost the lease has nothing to say: the log tells the sender what became of it.
    if (!(await this.#commitWithoutTask(body))) return this.#lost()
    this.#sender.withoutTask(body)
    return undefined
  }

  async #commitWithoutTask(body: EventBody): Promise<boolean> {
    this.#isEnding = true
    if (!this.writer.isStored) {
      this.writer.show(body)
      return true
    }
    this.writer.hold(body)
    return await this.writer.leave('release')
  }

  /**
   * Commits the end of a turn. What waits is decided anew whenever somebody else wrote first: a
   * message accepted before the end was committed is never left behind.
   */
  async #finish(state: TaskState, parts?: readonly Part[]): Promise<AcceptedMessage | undefined> {
    this.#voice.makeVisible()
    if (state === 'TASK_STATE_COMPLETED' || isInterrupted(state)) this.#voice.endText()
    for (;;) {
      // From here to the commit nothing is waited for: what waits cannot change in between.
      while (this.writer.isBusy) await this.writer.settled()
      if (this.#stopping.why === 'fenced') return this.#lost()
      // Asked for elsewhere while the turn was ending: a task that would wait is cancelled instead (E-7).
      if (this.writer.fold.isCancelAsked && !isTerminal(state)) return await this.#finish('TASK_STATE_CANCELED')
      const next = this.#nextWaiting()
      if (next && !isTerminal(state)) {
        this.#voice.say(state, parts)
        await this.writer.flush()
        this.#sender.task(this.task)
        return await this.#startNext(next)
      }
      if (next && state === 'TASK_STATE_COMPLETED') {
        if (parts) this.#voice.say('TASK_STATE_WORKING', parts)
        return await this.#startNext(next)
      }
      this.#isEnding = true
      this.#voice.say(state, parts)
      const outcome = await this.writer.commit({ lease: 'release' })
      if (outcome === 'fenced') return this.#lost()
      if (isFull(outcome)) {
        // Stores take the end of a task in any case.
        if (isTerminal(state)) throw storeFull(outcome)
        return await this.#finish('TASK_STATE_FAILED', noRoomForTask)
      }
      if (outcome === 'ok') {
        this.#sender.task(this.task)
        // A stop that arrives during the commit of another state changes nothing.
        const isStopped = this.#stopping.why === 'failed' || this.#stopping.why === 'no-room'
        const isFailedByStop = isStopped && state === 'TASK_STATE_FAILED'
        if (state === 'TASK_STATE_CANCELED' || isFailedByStop) await tellAbandoned(this)
        return undefined
      }
      this.writer.unhold()
      this.#isEnding = false
      await this.writer.catchUp()
    }
  }

  /** Another process owns the task: nothing of ours may be written any more. */
  #lost(): undefined {
    const { log, name, counts } = this.#internals
    counts.fencedRuns += 1
    log({ level: 'warn', message: 'Fenced out: another process runs this task now', agent: name, taskId: this.id })
    return undefined
  }

  async #startNext(next: AcceptedMessage): Promise<AcceptedMessage> {
    this.#voice.start(next, 1)
    await this.writer.flush()
    return next
  }

  async #handOver(): Promise<undefined> {
    this.#isEnding = true
    if (!this.writer.isStored) {
      const error = shuttingDown()
      this.#internals.existingTopic(this.id)?.close(error)
      this.#sender.reject(error)
      return undefined
    }
    return (await this.writer.leave('hand-over')) ? undefined : this.#lost()
  }

  #nextWaiting(): AcceptedMessage | undefined {
    return this.writer.fold.waiting.find(({ turn }) => turn > this.#voice.turn)
  }

  /** Others wrote to this task; what waits is looked at when the turn ends, a cancel takes effect now. */
  #onForeignEvents(): void {
    // Only the holder of a lease ends a task or starts a turn: ours is lost.
    const { fold } = this.writer
    const isStartedElsewhere =
      fold.current !== undefined && fold.attempt > this.#voice.attempt && fold.current.turn >= this.#voice.turn
    if (fold.isTerminal || isStartedElsewhere) this.stop('fenced')
    else if (this.writer.fold.isCancelAsked) this.stop('cancel')
  }

  get isStopped(): boolean {
    return this.#stopping.why !== undefined
  }

  get internals(): Internals {
    return this.#internals
  }

  get caller(): Caller {
    return { id: this.#start.owner }
  }

  takeCredential(): Credential | undefined {
    const credential = this.#credential
    this.#credential = undefined
    return credential
  }

  get tenant(): string {
    return this.#start.tenant
  }

  get attempt(): number {
    return this.#voice.attempt
  }

  signal(): AbortSignal {
    return this.#stopping.signal
  }

  currentTask(current: AcceptedMessage): Task {
    return this.task ?? this.#voice.provisionalTask(current)
  }
}

export interface RunStart {
  readonly key: TaskKey
  readonly contextId: string
  readonly tenant: string
  readonly owner: string
  readonly dialect: string
  readonly fold: TaskFold
  /** The size of the task in the store; absent for a new one. */
  readonly bytes?: number
  readonly isNew: boolean
  readonly fencingToken?: number
  readonly withMessage?: WithMessage
  /** For the first turn of this run, and no other. */
  readonly credential?: Credential
}

/** The event that puts a message into the queue. */
export function accepted(
  turn: number,
  message: Message,
  request: TurnRequest | undefined,
): { readonly accepted: AcceptedMessage } {
  return { accepted: request ? { turn, message, request } : { turn, message } }
}
