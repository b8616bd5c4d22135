/**
 * A task is the fold of its events. `TaskFold` is the only code that changes a task.
 *
 * States (R-TASK-6): SUBMITTED → anything; WORKING ↔ INPUT_REQUIRED, AUTH_REQUIRED → any terminal
 * state; a terminal state → nothing.
 *
 * The cost of applying an event does not depend on the number of earlier events (E-3). A snapshot shares its arrays with
 * the fold; the next append copies the array first. So a snapshot is free until the task changes.
 */
import type { Artifact } from './artifact.js'
import type { EventBody, TaskArtifactUpdateEvent, TaskEvent, TaskStatusUpdateEvent, TurnRequest } from './event.js'
import { historyMessage } from './history-window.js'
import type { Message } from './message.js'
import type { JsonValue, Part } from './part.js'
import { isTerminal, type Task, type TaskState, type TaskStatus } from './task.js'

/** A message that waits to be processed. */
export interface AcceptedMessage {
  readonly turn: number
  readonly message: Message
  readonly request?: TurnRequest
}

/** Members are listed one by one, because copying the rest of an object is slow. */
interface TaskHead {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly metadata: Task['metadata'] | undefined
}

interface OpenArtifact {
  /** The artifact without appended parts. */
  readonly begun: Artifact
  /** All parts; undefined until the first append. */
  parts: Part[] | undefined
  /** A snapshot holds `parts`; copy before the next push. */
  isShared: boolean
  /** The artifact of the last snapshot. */
  snapshot: Artifact | undefined
}

/** Whether a task may change from one state to another. */
function canMove(from: TaskState, to: TaskState): boolean {
  if (isTerminal(from)) return false
  return to !== 'TASK_STATE_SUBMITTED' || from === 'TASK_STATE_SUBMITTED'
}

const noMessages: readonly AcceptedMessage[] = []
const noCheckpoints: ReadonlyMap<string, JsonValue> = new Map()

export class TaskFold {
  /** The last event applied. */
  seq = 0
  /** Accepted messages whose turn has not started, oldest first. */
  waiting = noMessages
  /** The message of the turn that is running or ran last. */
  current: AcceptedMessage | undefined
  attempt = 0
  /** The question that the message of this turn answers. */
  answered: Message | undefined
  isCancelAsked = false
  /** Set when the agent refused the send before a task existed (E-8). */
  refusal: Extract<EventBody, { refused: unknown }>['refused'] | undefined
  /** Set when the exchange ended as a Message and no task exists (E-6). */
  answer: Message | undefined
  /** Whether the history contains progress messages. */
  keepsProgress = false
  /** Whether progress messages were left out of the history. Unknown, so false, for a fold that began with a task. */
  lacksProgress = false
  /** Whether artifacts were left out, so that snapshots are incomplete. */
  isPartial = false

  /** Created with the first checkpoint. */
  #checkpoints: Map<string, JsonValue> | undefined
  #task: TaskHead | undefined
  #history: Message[] = []
  /** Created with the first artifact. */
  #artifacts: Map<string, OpenArtifact> | undefined
  #snapshot: Task | undefined

  /** Creates a fold that continues from a task as of event `seq`. */
  static from(task: Task, seq: number): TaskFold {
    const fold = new TaskFold()
    fold.seq = seq
    fold.#task = headOf(task)
    fold.#history = [...(task.history ?? [])]
    for (const artifact of task.artifacts ?? []) fold.#put(artifact)
    return fold
  }

  /** Creates an independent copy: events applied to it do not change this fold. */
  clone(): TaskFold {
    const copy = new TaskFold()
    copy.seq = this.seq
    copy.waiting = this.waiting
    copy.current = this.current
    copy.attempt = this.attempt
    copy.answered = this.answered
    copy.isCancelAsked = this.isCancelAsked
    copy.refusal = this.refusal
    copy.answer = this.answer
    copy.isPartial = this.isPartial
    copy.keepsProgress = this.keepsProgress
    copy.lacksProgress = this.lacksProgress
    copy.#task = this.#task
    copy.#history = this.#history.slice()
    if (this.#checkpoints) copy.#checkpoints = new Map(this.#checkpoints)
    if (this.#artifacts) {
      copy.#artifacts = new Map()
      for (const [id, open] of this.#artifacts) {
        open.isShared = true
        copy.#artifacts.set(id, { ...open })
      }
    }
    return copy
  }

  get state(): TaskState | undefined {
    return this.#task?.status.state
  }

  get status(): TaskStatus | undefined {
    return this.#task?.status
  }

  /** The metadata of the task: the newest value of each key in the metadata of its status updates. */
  get metadata(): Task['metadata'] {
    return this.#task?.metadata
  }

  get isTerminal(): boolean {
    return this.#task !== undefined && isTerminal(this.#task.status.state)
  }

  /** The number of the newest accepted turn. */
  get lastTurn(): number {
    return this.waiting.at(-1)?.turn ?? this.current?.turn ?? 0
  }

  /** The handler's checkpoints, by key. */
  get checkpoints(): ReadonlyMap<string, JsonValue> {
    return this.#checkpoints ?? noCheckpoints
  }

  hasArtifact(artifactId: string): boolean {
    return this.#artifacts?.has(artifactId) ?? false
  }

  apply(event: TaskEvent): this {
    if (event.seq !== this.seq + 1) throw new Error(`Event ${event.seq} does not follow event ${this.seq}`)
    this.#apply(event.body)
    this.seq = event.seq
    return this
  }

  /** The current task. Undefined before the first public event, or when the answer was a Message. */
  snapshot(): Task | undefined {
    if (!this.#task) return undefined
    this.#snapshot ??= this.#makeSnapshot(this.#task)
    return this.#snapshot
  }

  #makeSnapshot({ id, contextId, status, metadata }: TaskHead): Task {
    const snapshot: { -readonly [Member in keyof Task]: Task[Member] } = { id, contextId, status }
    if (this.#artifacts) snapshot.artifacts = Array.from(this.#artifacts.values(), shareArtifact)
    if (this.#history.length > 0) snapshot.history = this.#history.slice()
    if (metadata) snapshot.metadata = metadata
    return snapshot
  }

  #apply(body: EventBody): void {
    if (this.isTerminal) {
      // Requests may still arrive at a finished task; they change nothing (R-TASK-2).
      if ('cancelAsked' in body) return
      throw new Error('A terminal task does not change')
    }
    this.#snapshot = undefined
    if ('artifactUpdate' in body) {
      this.#updateArtifact(body.artifactUpdate)
      return
    }
    if ('statusUpdate' in body) this.#updateStatus(body.statusUpdate)
    else if ('accepted' in body) this.waiting = [...this.waiting, body.accepted]
    else if ('started' in body) this.#start(body.started.turn, body.started.attempt)
    else if ('task' in body) this.#create(body.task)
    else if ('message' in body) this.answer = body.message
    else if ('cancelAsked' in body) this.isCancelAsked = true
    else if ('refused' in body) this.refusal = body.refused
    else if ('checkpoint' in body) {
      this.#checkpoints ??= new Map()
      this.#checkpoints.set(body.checkpoint.key, body.checkpoint.value)
    } else throw new Error(`Unknown event ${Object.keys(body satisfies never).join()}`)
    const message = historyMessage(body, this.keepsProgress)
    if (message) this.#history.push(message)
    else if ('statusUpdate' in body && body.statusUpdate.status.message) this.lacksProgress = true
  }

  #create(task: Task): void {
    if (this.#task) throw new Error('A task is created once')
    this.#task = headOf(task)
  }

  #start(turn: number, attempt: number): void {
    const next = this.waiting[0]
    if (next?.turn === turn) {
      this.current = next
      this.waiting = this.waiting.length > 1 ? this.waiting.slice(1) : noMessages
      const { status } = this.#task ?? {}
      this.answered = status?.state === 'TASK_STATE_INPUT_REQUIRED' ? status.message : undefined
    } else if (this.current?.turn !== turn) throw new Error(`Turn ${turn} was never accepted`)
    this.attempt = attempt
  }

  #updateStatus({ status, metadata: added }: TaskStatusUpdateEvent): void {
    if (!this.#task) throw new Error('A status needs a task')
    if (!canMove(this.#task.status.state, status.state)) {
      throw new Error(`A task does not go from ${this.#task.status.state} to ${status.state}`)
    }
    const { id, contextId, metadata } = this.#task
    this.#task = { id, contextId, status, metadata: added ? { ...metadata, ...added } : metadata }
  }

  #updateArtifact({ artifact, append, lastChunk }: TaskArtifactUpdateEvent): void {
    if (!this.#task) throw new Error('An artifact needs a task')
    const open = this.#artifacts?.get(artifact.artifactId)
    // An append to an unknown artifact creates it (R-STRM-8).
    if (!open || !append) {
      this.#put(artifact)
      return
    }
    open.snapshot = undefined
    if (!open.parts || open.isShared) open.parts = (open.parts ?? open.begun.parts).slice()
    open.isShared = false
    for (const part of artifact.parts) if (!(lastChunk && isEmptyText(part))) open.parts.push(part)
  }

  #put(begun: Artifact): void {
    this.#artifacts ??= new Map()
    this.#artifacts.set(begun.artifactId, { begun, parts: undefined, isShared: false, snapshot: undefined })
  }
}

function headOf({ id, contextId, status, metadata }: Task): TaskHead {
  return { id, contextId, status, metadata }
}

/** Folds all events of a log from its beginning. `withoutArtifacts`: artifact events are left out. */
export function foldEvents(
  events: Iterable<TaskEvent>,
  options: { readonly withoutArtifacts?: boolean } = {},
): TaskFold {
  const fold = new TaskFold()
  fold.isPartial = options.withoutArtifacts === true
  for (const event of events) {
    if (options.withoutArtifacts) fold.seq = event.seq - 1
    fold.apply(event)
  }
  return fold
}

/** A copy of a fold with more events. */
export function foldAfter(fold: TaskFold, events: Iterable<TaskEvent>): TaskFold {
  const copy = fold.clone()
  for (const event of events) copy.apply(event)
  return copy
}

function shareArtifact(open: OpenArtifact): Artifact {
  const { begun, parts } = open
  if (!parts) return begun
  open.isShared = true
  open.snapshot ??= { ...begun, parts }
  return open.snapshot
}

/** Whether a part is the empty text that ends a streamed text after its last chunk was sent. */
function isEmptyText(part: Part): boolean {
  return 'text' in part && part.text === '' && part.metadata === undefined
}
