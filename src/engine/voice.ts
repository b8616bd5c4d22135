/**
 * What a run says about its task: statuses, chunks, artifacts. Knows the state the task will have
 * when everything said so far is committed, and makes the task visible when there is something to say.
 */
import type { AcceptedMessage } from '../model/apply-event.js'
import type { Message } from '../model/message.js'
import type { Part } from '../model/part.js'
import { storedSizeOf } from '../model/size-of.js'
import type { Task, TaskState } from '../model/task.js'
import type { Internals } from './internals.js'
import { Interpreter } from './interpret.js'
import type { TaskWriter } from './task-writer.js'
import type { ArtifactDraft } from './yields.js'

/** The stored size of an event beside what a handler yielded: objects, ids and names. */
const frameBytes = 300

export class TaskVoice {
  /** The turn that speaks. */
  turn = 0
  attempt = 1
  readonly #internals: Internals
  readonly #writer: TaskWriter
  readonly #contextId: string
  #state: TaskState | undefined
  /** Of the current attempt; made when it first says something. */
  #interpreterMade: Interpreter | undefined

  constructor(internals: Internals, writer: TaskWriter, contextId: string) {
    this.#internals = internals
    this.#writer = writer
    this.#contextId = contextId
    this.#state = writer.fold.state
  }

  /** Whether there is a task to speak of; before, the exchange may still end as a Message (E-6). */
  get isVisible(): boolean {
    return this.#state !== undefined
  }

  /** A turn begins: a task that waited is at work again. */
  start(current: AcceptedMessage, attempt: number): void {
    this.turn = current.turn
    this.attempt = attempt
    this.#interpreterMade = undefined
    this.#writer.hold({ started: { turn: current.turn, attempt } }, frameBytes)
    if (this.#state !== undefined && this.#state !== 'TASK_STATE_WORKING') this.say('TASK_STATE_WORKING')
  }

  /** Whether the task has room for a yield of this size. */
  hasRoomFor(bytes: number): boolean {
    return this.#writer.hasRoomFor(bytes + frameBytes)
  }

  makeVisible(state: TaskState = 'TASK_STATE_SUBMITTED'): void {
    if (this.#state !== undefined) return
    this.#state = state
    const status = this.#interpreter.status(state)
    this.#writer.hold({ task: { id: this.#writer.key.id, contextId: this.#contextId, status } }, frameBytes)
  }

  /** A status that goes with the next commit. */
  say(state: TaskState, parts?: readonly Part[]): void {
    this.makeVisible()
    this.#state = state
    this.#writer.hold(this.#interpreter.statusUpdate(state, parts), frameBytes + (parts ? storedSizeOf(parts) : 0))
  }

  /** Progress, committed soon. Waits only when the store is behind; the same holds for what follows. */
  progress(parts: readonly Part[] | undefined, bytes: number): Promise<void> | undefined {
    this.makeVisible()
    this.#state = 'TASK_STATE_WORKING'
    return this.#writer.push(this.#interpreter.statusUpdate('TASK_STATE_WORKING', parts), bytes + frameBytes)
  }

  chunk(text: string): Promise<void> | undefined {
    this.#mustBeWorking()
    return this.#writer.push(this.#interpreter.chunk(text), text.length + frameBytes)
  }

  artifact(draft: ArtifactDraft, bytes: number): Promise<void> | undefined {
    this.#mustBeWorking()
    return this.#writer.push(this.#interpreter.artifact(draft), bytes + frameBytes)
  }

  /** The answer has had its last chunk: marked on it if it is not committed yet, else by an empty one. */
  endText(): void {
    if (this.#writer.amend((body) => this.#interpreter.asLastChunk(body))) return
    const last = this.#interpreter.emptyLastChunk()
    if (last) this.#writer.hold(last)
  }

  /** A message instead of a task. */
  answer(parts: readonly Part[]): Message {
    return this.#interpreter.answer(parts)
  }

  /** The task as a handler sees it before it exists. */
  provisionalTask({ message }: AcceptedMessage): Task {
    const status = this.#interpreter.status('TASK_STATE_SUBMITTED')
    return { id: this.#writer.key.id, contextId: this.#contextId, status, history: [message] }
  }

  /** A task with results is at work: born so, or told so. */
  #mustBeWorking(): void {
    if (this.#state === 'TASK_STATE_WORKING') return
    if (this.#state === undefined) this.makeVisible('TASK_STATE_WORKING')
    else this.say('TASK_STATE_WORKING')
  }

  get #interpreter(): Interpreter {
    this.#interpreterMade ??= new Interpreter({
      taskId: this.#writer.key.id,
      contextId: this.#contextId,
      turn: this.turn,
      attempt: this.attempt,
      internals: this.#internals,
      hasArtifact: (id) => this.#writer.fold.hasArtifact(id),
    })
    return this.#interpreterMade
  }
}
