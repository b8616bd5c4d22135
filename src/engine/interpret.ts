/**
 * From what a handler yields to events. One interpreter per attempt of a turn.
 *
 * Artifact ids count within the turn, so that another attempt of it makes the same ones and replaces
 * what the first attempt left behind (E-9).
 */
import type { Artifact } from '../model/artifact.js'
import { copyJson } from '../model/copy-json.js'
import type { EventBody, TaskArtifactUpdateEvent } from '../model/event.js'
import type { Message } from '../model/message.js'
import type { Part } from '../model/part.js'
import type { TaskState, TaskStatus } from '../model/task.js'
import type { Internals } from './internals.js'
import type { ArtifactDraft } from './yields.js'

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
