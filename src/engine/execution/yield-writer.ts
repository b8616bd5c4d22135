/** Writes the output of a handler to the log: yields as events, and checkpoints. */

import type { Artifact } from '../../model/artifact.js'
import { copyJson, isJson } from '../../model/copy-json.js'
import type { EventBody, TaskArtifactUpdateEvent } from '../../model/event.js'
import type { Message } from '../../model/message.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import type { JsonValue, Struct } from '../../model/part.js'
import { storedSizeOf } from '../../model/size-of.js'
import { isInterrupted, isTerminal, type Task, type TaskState, type TaskStatus } from '../../model/task.js'
import type { AcceptedMessage } from '../../model/task-fold.js'
import { addUsage, type Usage, usage } from '../../model/usage.js'
import { withMembers } from '../../model/with-members.js'
import type { CheckpointOptions } from '../agent.js'
import type { Timestamps } from '../system-clock.js'
import type { ArtifactDraft } from '../yields.js'
import type { DraftContent } from './draft-content.js'
import type { TaskWriter } from './task-writer.js'

export interface YieldWriterDeps {
  readonly newId: () => string
  readonly timestamps: Timestamps
}

/** The stored size of an event in addition to the yielded value: objects, ids and names. */
const frameBytes = 300

/**
 * Turns yields into events of the task's log. It knows the state that the task has when all events are committed, and
 * creates the visible task with the first event that needs one (E-6).
 */
export class YieldWriter {
  /** The current turn. */
  turn = 0
  attempt = 1
  readonly #deps: YieldWriterDeps
  readonly #writer: TaskWriter
  readonly #contextId: string
  #state: TaskState | undefined
  /**
   * The metadata of the task, as of the next status. Every status update has all of it, so that readers of a running task
   * need its newest status only.
   */
  #metadata: Struct | undefined
  /** Of the current attempt; created with its first event. */
  #bodies: EventBodies | undefined

  constructor(deps: YieldWriterDeps, writer: TaskWriter, contextId: string) {
    this.#deps = deps
    this.#writer = writer
    this.#contextId = contextId
    const { state, metadata, checkpoints } = writer.fold
    this.#state = state
    this.#metadata = metadata
    const counted = checkpoints.get(usage.key)
    if (counted !== undefined) this.#metadata = { ...metadata, [usage.key]: counted }
  }

  /** Whether there is a task. Before, the exchange may still end as a Message (E-6). */
  get isVisible(): boolean {
    return this.#state !== undefined
  }

  /** Begins a turn: a task that waited for input is working again. */
  start(current: AcceptedMessage, attempt: number): void {
    this.turn = current.turn
    this.attempt = attempt
    this.#bodies = undefined
    this.#writer.hold({ started: { turn: current.turn, attempt } }, frameBytes)
    if (this.#state !== undefined && this.#state !== 'TASK_STATE_WORKING') this.status('TASK_STATE_WORKING')
  }

  /** Whether the task has room for a yield of this size. */
  hasRoomFor(bytes: number): boolean {
    return this.#writer.hasRoomFor(bytes + frameBytes)
  }

  makeVisible(state: TaskState = 'TASK_STATE_SUBMITTED'): void {
    if (this.#state !== undefined) return
    this.#state = state
    const status = this.#events.status(state)
    this.#writer.hold({ task: { id: this.#writer.key.id, contextId: this.#contextId, status } }, frameBytes)
  }

  /** Adds a status to the next commit. */
  status(state: TaskState, content: DraftContent = {}): void {
    this.makeVisible()
    this.#state = state
    this.#setValues(content.values)
    const { parts, metadata } = content
    const bytes = (parts ? storedSizeOf(parts) : 0) + (metadata ? storedSizeOf(metadata) : 0) + this.#metadataBytes
    this.#writer.hold(this.#events.statusUpdate(state, content, this.#metadata), frameBytes + bytes)
  }

  /** Adds progress and commits it soon. Like `chunk` and `artifact`, it returns a promise only when the buffer is full. */
  progress(content: DraftContent, bytes: number): Promise<void> | undefined {
    this.makeVisible()
    this.#state = 'TASK_STATE_WORKING'
    this.#setValues(content.values)
    const body = this.#events.statusUpdate('TASK_STATE_WORKING', content, this.#metadata)
    return this.#writer.push(body, bytes + this.#metadataBytes + frameBytes)
  }

  #setValues(values: Struct | undefined): void {
    if (values) this.#metadata = { ...this.#metadata, ...copyJson(values) }
  }

  get #metadataBytes(): number {
    return this.#metadata ? storedSizeOf(this.#metadata) : 0
  }

  /** The usage of the task so far. */
  get usage(): Usage {
    return usage.read({ metadata: this.#metadata }) ?? {}
  }

  /** Adds to the usage of the task. It is committed with the next event, and sent with the next status. */
  addUsage(more: Usage): void {
    const value = addUsage(this.usage, more) as Struct
    // The handler may continue after the turn has ended. Its end must stay the last event.
    if (this.#state !== undefined && (isTerminal(this.#state) || isInterrupted(this.#state))) return
    this.#metadata = { ...this.#metadata, [usage.key]: value }
    const body: EventBody = { checkpoint: { key: usage.key, value } }
    const isHeld = this.#writer.amend((held) =>
      'checkpoint' in held && held.checkpoint.key === usage.key ? body : undefined,
    )
    if (!isHeld) this.#writer.hold(body)
  }

  chunk(text: string): Promise<void> | undefined {
    this.#mustBeWorking()
    return this.#writer.push(this.#events.chunk(text), text.length + frameBytes)
  }

  artifact(draft: ArtifactDraft, content: DraftContent, bytes: number): Promise<void> | undefined {
    this.#mustBeWorking()
    return this.#writer.push(this.#events.artifact(draft, content), bytes + frameBytes)
  }

  /** Marks the last chunk of the text; if it is committed already, adds an empty last chunk. */
  endText(): void {
    if (this.#writer.amend((body) => this.#events.asLastChunk(body))) return
    const last = this.#events.emptyLastChunk()
    if (last) this.#writer.hold(last)
  }

  /** The Message of an exchange that has no task. */
  reply(content: DraftContent): Message {
    const total = this.#metadata?.[usage.key]
    if (total === undefined) return this.#events.reply(content)
    const { parts, metadata, extensions = [] } = content
    return this.#events.reply({
      parts,
      metadata: { [usage.key]: total, ...metadata },
      extensions: [...new Set([...extensions, usage.uri])],
    })
  }

  /** The task that the handler sees before it exists. */
  provisionalTask({ message }: AcceptedMessage): Task {
    const status = this.#events.status('TASK_STATE_SUBMITTED')
    return { id: this.#writer.key.id, contextId: this.#contextId, status, history: [message] }
  }

  #mustBeWorking(): void {
    if (this.#state === 'TASK_STATE_WORKING') return
    if (this.#state === undefined) this.makeVisible('TASK_STATE_WORKING')
    else this.status('TASK_STATE_WORKING')
  }

  get #events(): EventBodies {
    this.#bodies ??= new EventBodies(this.#deps, this.#writer, this.#contextId, this)
    return this.#bodies
  }
}

/**
 * Creates the events of one attempt of a turn. Artifact ids are numbered within the turn, so that another attempt creates
 * the same ids and replaces the artifacts of the first attempt (E-9).
 */
class EventBodies {
  readonly #deps: YieldWriterDeps
  readonly #writer: TaskWriter
  readonly #taskId: string
  readonly #contextId: string
  readonly #turn: number
  readonly #attempt: number
  /** Artifact ids of this attempt, and the newest id of each name; created with the first artifact. */
  #begun: { readonly ids: Set<string>; readonly byName: Map<string, string> } | undefined
  #artifacts = 0
  #textId: string | undefined

  constructor(
    deps: YieldWriterDeps,
    writer: TaskWriter,
    contextId: string,
    { turn, attempt }: { readonly turn: number; readonly attempt: number },
  ) {
    this.#deps = deps
    this.#writer = writer
    this.#taskId = writer.key.id
    this.#contextId = contextId
    this.#turn = turn
    this.#attempt = attempt
  }

  chunk(text: string): EventBody {
    const isFirst = this.#textId === undefined
    this.#textId ??= this.#nextId()
    const artifact = { artifactId: this.#textId, parts: [{ text }] }
    if (isFirst) return { artifactUpdate: { taskId: this.#taskId, contextId: this.#contextId, artifact } }
    return { artifactUpdate: { taskId: this.#taskId, contextId: this.#contextId, artifact, append: true } }
  }

  artifact({ name, parts, options }: ArtifactDraft, { metadata, extensions }: DraftContent): EventBody {
    const { id, append, lastChunk, description } = options
    this.#begun ??= { ids: new Set(), byName: new Map() }
    const { ids, byName } = this.#begun
    const artifactId = id ?? (append ? byName.get(name) : undefined) ?? this.#nextId()
    const isFirst = !ids.has(artifactId)
    ids.add(artifactId)
    byName.set(name, artifactId)
    // The first piece of an attempt replaces, unless it appends to an artifact of an earlier turn.
    const isAppended =
      append === true && (!isFirst || (this.#attempt === 1 && this.#writer.fold.hasArtifact(artifactId)))
    // Members are set one by one: with spreads, creating the event took as long as serialising it.
    const own = copyJson(parts)
    const artifact: Changeable<Artifact> = name === '' ? { artifactId, parts: own } : { artifactId, name, parts: own }
    if (description !== undefined) artifact.description = description
    if (metadata !== undefined) artifact.metadata = copyJson(metadata)
    if (extensions !== undefined) artifact.extensions = extensions.slice()
    const artifactUpdate: Changeable<TaskArtifactUpdateEvent> = {
      taskId: this.#taskId,
      contextId: this.#contextId,
      artifact,
    }
    if (isAppended) artifactUpdate.append = true
    if (lastChunk) artifactUpdate.lastChunk = true
    return { artifactUpdate }
  }

  /** Marks an uncommitted chunk as the last of the text; undefined when the event is no chunk of it. */
  asLastChunk(body: EventBody): EventBody | undefined {
    if (!('artifactUpdate' in body) || body.artifactUpdate.artifact.artifactId !== this.#textId) return undefined
    return { artifactUpdate: withMembers(body.artifactUpdate, { lastChunk: true }) }
  }

  /** An empty chunk that ends the text. Merging drops it. */
  emptyLastChunk(): EventBody | undefined {
    if (this.#textId === undefined) return undefined
    const artifact = { artifactId: this.#textId, parts: [{ text: '' }] }
    return {
      artifactUpdate: { taskId: this.#taskId, contextId: this.#contextId, artifact, append: true, lastChunk: true },
    }
  }

  status(state: TaskState, content: DraftContent = {}): TaskStatus {
    const timestamp = this.#deps.timestamps.now()
    const { parts } = content
    if (!parts) return { state, timestamp }
    // Copied: the handler may change its value later.
    const message: Message = {
      messageId: this.#deps.newId(),
      contextId: this.#contextId,
      taskId: this.#taskId,
      role: 'ROLE_AGENT',
      parts: copyJson(parts),
    }
    return { state, message: annotated(message, content), timestamp }
  }

  /** `metadata` is that of the task. */
  statusUpdate(state: TaskState, content: DraftContent, metadata: Struct | undefined): EventBody {
    const status = this.status(state, content)
    const update = { taskId: this.#taskId, contextId: this.#contextId, status }
    return { statusUpdate: metadata ? { ...update, metadata } : update }
  }

  reply(content: DraftContent): Message {
    const { parts = [] } = content
    const messageId = this.#deps.newId()
    const message: Message = { messageId, contextId: this.#contextId, role: 'ROLE_AGENT', parts: copyJson(parts) }
    return annotated(message, content)
  }

  #nextId(): string {
    this.#artifacts += 1
    return `artifact-${this.#turn}-${this.#artifacts}`
  }
}

/** Adds metadata and extensions to a message, which most messages do not have. */
function annotated(message: Message, { metadata, extensions }: DraftContent): Message {
  if (!metadata && !extensions) return message
  return {
    ...message,
    ...(metadata && { metadata: copyJson(metadata) }),
    ...(extensions && { extensions: extensions.slice() }),
  }
}

type Changeable<Value> = { -readonly [Member in keyof Value]: Value[Member] }

const checkpointNames = { fromReserve: true } satisfies NamesOf<CheckpointOptions>

const maxKeyLength = 255
const maxCheckpointCharacters = 1_000_000
/** Limits of one task, without and with the reserve. */
const defaultRoom = { characters: 16_000_000, keys: 10_000 }
const roomWithReserve = { characters: 20_000_000, keys: 20_000 }

/** Writes checkpoints as private events (E-4), within limits. */
export class CheckpointWriter {
  readonly #writer: TaskWriter
  /** Characters of JSON, by key. */
  readonly #sizes = new Map<string, number>()
  #size = 0

  constructor(writer: TaskWriter) {
    this.#writer = writer
    for (const [key, value] of writer.fold.checkpoints) this.#count(key, JSON.stringify(value).length)
  }

  /** Commits a checkpoint together with all events before it. Returns false when the lease was lost. */
  async write(key: string, value: JsonValue, options: CheckpointOptions = {}): Promise<boolean> {
    assertOptions('turn.checkpoint', options, checkpointNames)
    const { fromReserve = false } = options
    const size = this.#checkedSize(key, value, fromReserve ? roomWithReserve : defaultRoom)
    if (!fromReserve && !this.#writer.hasRoomFor(size))
      throw new TypeError(`The task has no room for the checkpoint ${key}: it would exceed limits.bytesPerTask`)
    this.#count(key, size)
    this.#writer.hold({ checkpoint: { key, value: copyJson(value) } })
    return await this.#writer.flush()
  }

  #checkedSize(key: string, value: JsonValue, { characters, keys }: typeof defaultRoom): number {
    if (typeof key !== 'string' || key === '' || key.length > maxKeyLength)
      throw new TypeError(`The key of a checkpoint is a string of 1 to ${maxKeyLength} characters`)
    if (!isJson(value, 0)) throw new TypeError(`The checkpoint ${key} is no JSON value`)
    const size = JSON.stringify(value).length
    if (size > maxCheckpointCharacters)
      throw new TypeError(`The checkpoint ${key} is longer than ${maxCheckpointCharacters} characters of JSON`)
    const before = this.#sizes.get(key)
    if (before === undefined && this.#sizes.size >= keys)
      throw new TypeError(`The task has ${keys} checkpoints already`)
    if (this.#size - (before ?? 0) + size > characters)
      throw new TypeError(`The checkpoints of a task are longer than ${characters} characters of JSON together`)
    return size
  }

  #count(key: string, size: number): void {
    this.#size += size - (this.#sizes.get(key) ?? 0)
    this.#sizes.set(key, size)
  }
}
