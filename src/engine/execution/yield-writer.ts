/**
 * What a run says about its task: statuses, chunks, artifacts. Knows the state the task will have
 * when everything said so far is committed, and makes the task visible when there is something to say.
 */
import type { AcceptedMessage } from '../../model/apply-event.js'
import type { Artifact } from '../../model/artifact.js'
import { copyJson } from '../../model/copy-json.js'
import type { EventBody, TaskArtifactUpdateEvent } from '../../model/event.js'
import type { Message } from '../../model/message.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import type { JsonValue, Part } from '../../model/part.js'
import { storedSizeOf } from '../../model/size-of.js'
import type { Task, TaskState, TaskStatus } from '../../model/task.js'
import type { CheckpointOptions } from '../agent.js'
import type { Internals } from '../internals.js'
import type { ArtifactDraft } from '../yields.js'
import { isJson } from '../yields.js'
import type { TaskWriter } from './task-writer.js'

/** The stored size of an event beside what a handler yielded: objects, ids and names. */
const frameBytes = 300

export class YieldWriter {
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

export interface InterpreterStart {
  readonly taskId: string
  readonly contextId: string
  readonly turn: number
  readonly attempt: number
  readonly internals: Pick<Internals, 'clock' | 'timestamp'>
  readonly hasArtifact: (artifactId: string) => boolean
}

export class Interpreter {
  readonly #start: InterpreterStart
  /** Artifacts this attempt has begun, and the newest of each name; made when there is one. */
  #begun: { readonly ids: Set<string>; readonly byName: Map<string, string> } | undefined
  #artifacts = 0
  #textId: string | undefined

  constructor(start: InterpreterStart) {
    this.#start = start
  }

  /** A chunk of the answer. */
  chunk(text: string): EventBody {
    const { taskId, contextId } = this.#start
    const parts = [{ text }]
    if (this.#textId !== undefined) {
      return { artifactUpdate: { taskId, contextId, artifact: { artifactId: this.#textId, parts }, append: true } }
    }
    this.#textId = this.#nextId()
    return { artifactUpdate: { taskId, contextId, artifact: { artifactId: this.#textId, parts } } }
  }

  artifact({ name, parts, options }: ArtifactDraft): EventBody {
    const { taskId, contextId, attempt, hasArtifact } = this.#start
    const { id, append, lastChunk, description, metadata, extensions } = options
    this.#begun ??= { ids: new Set(), byName: new Map() }
    const { ids, byName } = this.#begun
    const artifactId = id ?? (append ? byName.get(name) : undefined) ?? this.#nextId()
    const isFirst = !ids.has(artifactId)
    ids.add(artifactId)
    byName.set(name, artifactId)
    // The first piece of an attempt replaces; only an artifact of an earlier turn is added to.
    const isAdded = append === true && (!isFirst || (attempt === 1 && hasArtifact(artifactId)))
    // Member by member: with spreads, making the event took as long as spelling it as JSON.
    const own = ownParts(parts)
    const artifact: Changeable<Artifact> = name === '' ? { artifactId, parts: own } : { artifactId, name, parts: own }
    if (description !== undefined) artifact.description = description
    if (metadata !== undefined) artifact.metadata = copyJson(metadata)
    if (extensions !== undefined) artifact.extensions = extensions.slice()
    const artifactUpdate: Changeable<TaskArtifactUpdateEvent> = { taskId, contextId, artifact }
    if (isAdded) artifactUpdate.append = true
    if (lastChunk) artifactUpdate.lastChunk = true
    return { artifactUpdate }
  }

  /** Marks an uncommitted chunk as the last of the answer; absent when this is no chunk of it. */
  asLastChunk(body: EventBody): EventBody | undefined {
    if (!('artifactUpdate' in body) || body.artifactUpdate.artifact.artifactId !== this.#textId) return undefined
    return { artifactUpdate: { ...body.artifactUpdate, lastChunk: true } }
  }

  /** Ends the answer when its last chunk is committed already: an empty piece that merging drops. */
  emptyLastChunk(): EventBody | undefined {
    if (this.#textId === undefined) return undefined
    const { taskId, contextId } = this.#start
    const artifact = { artifactId: this.#textId, parts: [{ text: '' }] }
    return { artifactUpdate: { taskId, contextId, artifact, append: true, lastChunk: true } }
  }

  status(state: TaskState, parts?: readonly Part[]): TaskStatus {
    const timestamp = this.#start.internals.timestamp()
    return parts ? { state, message: this.message(parts), timestamp } : { state, timestamp }
  }

  statusUpdate(state: TaskState, parts?: readonly Part[]): EventBody {
    const { taskId, contextId } = this.#start
    return { statusUpdate: { taskId, contextId, status: this.status(state, parts) } }
  }

  /** A message of the agent about the task. */
  message(parts: readonly Part[]): Message {
    const { taskId, contextId, internals } = this.#start
    return { messageId: internals.clock.newId(), contextId, taskId, role: 'ROLE_AGENT', parts: ownParts(parts) }
  }

  /** A message instead of a task. */
  answer(parts: readonly Part[]): Message {
    const { contextId, internals } = this.#start
    return { messageId: internals.clock.newId(), contextId, role: 'ROLE_AGENT', parts: ownParts(parts) }
  }

  #nextId(): string {
    this.#artifacts += 1
    return `artifact-${this.#start.turn}-${this.#artifacts}`
  }
}

/** The author may go on changing what was yielded; events do not. */
function ownParts(parts: readonly Part[]): readonly Part[] {
  return copyJson(parts)
}

type Changeable<Value> = { -readonly [Member in keyof Value]: Value[Member] }

const optionNames = { fromReserve: true } satisfies NamesOf<CheckpointOptions>

const longestKey = 255
const mostCharacters = 1_000_000
/** Of one task: usually, and with the room that is kept for the end. */
const usualRoom = { characters: 16_000_000, keys: 10_000 }
const wholeRoom = { characters: 20_000_000, keys: 20_000 }

export class CheckpointWriter {
  readonly #writer: TaskWriter
  /** Characters of JSON, by key. */
  readonly #sizes = new Map<string, number>()
  #size = 0

  constructor(writer: TaskWriter) {
    this.#writer = writer
    for (const [key, value] of writer.fold.checkpoints) this.#note(key, JSON.stringify(value).length)
  }

  /** Commits a checkpoint together with everything said before it; `false` when the lease was lost. */
  async write(key: string, value: JsonValue, options: CheckpointOptions = {}): Promise<boolean> {
    assertOptions('turn.checkpoint', options, optionNames)
    const { fromReserve = false } = options
    const size = this.#checkedSize(key, value, fromReserve ? wholeRoom : usualRoom)
    if (!fromReserve && !this.#writer.hasRoomFor(size))
      throw new TypeError(`The task has no room for the checkpoint ${key}: it would exceed limits.bytesPerTask`)
    this.#note(key, size)
    // The handler may go on changing its value; events do not.
    this.#writer.hold({ checkpoint: { key, value: copyJson(value) } })
    return await this.#writer.flush()
  }

  #checkedSize(key: string, value: JsonValue, { characters, keys }: typeof usualRoom): number {
    if (typeof key !== 'string' || key === '' || key.length > longestKey)
      throw new TypeError(`The key of a checkpoint is a string of 1 to ${longestKey} characters`)
    if (!isJson(value, 0)) throw new TypeError(`The checkpoint ${key} is no JSON value`)
    const size = JSON.stringify(value).length
    if (size > mostCharacters)
      throw new TypeError(`The checkpoint ${key} is longer than ${mostCharacters} characters of JSON`)
    const before = this.#sizes.get(key)
    if (before === undefined && this.#sizes.size >= keys)
      throw new TypeError(`The task has ${keys} checkpoints already`)
    if (this.#size - (before ?? 0) + size > characters)
      throw new TypeError(`The checkpoints of a task are longer than ${characters} characters of JSON together`)
    return size
  }

  #note(key: string, size: number): void {
    this.#size += size - (this.#sizes.get(key) ?? 0)
    this.#sizes.set(key, size)
  }
}
