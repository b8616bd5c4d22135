/** A task as the page sees it grow: applying an event costs the same however many came before. */
import type { Artifact, Message, Part, StreamResponse, Task, TaskState } from 'dragoman/client'
import { Signal } from './signal.js'

export interface LoggedEvent {
  /** Its place in the task's log, where the agent tells. */
  readonly seq: number | undefined
  /** When it happened, in milliseconds since 1970; absent when nobody knows. */
  readonly at: number | undefined
  readonly event: StreamResponse
}

export interface ArtifactView {
  readonly id: string
  readonly name: string | undefined
  readonly description: string | undefined
  readonly parts: Part[]
  /** The text of neighbouring text parts, joined: chunks are no paragraphs. */
  blocks: (string | Part)[]
  isWhole: boolean
}

export class TaskView {
  readonly signal = new Signal()
  id = ''
  contextId = ''
  status: Task['status'] | undefined
  history: Message[] = []
  readonly artifacts = new Map<string, ArtifactView>()
  readonly events: LoggedEvent[] = []
  /** Beside the task: an answer that is no task. */
  message: Message | undefined

  get state(): TaskState | undefined {
    return this.status?.state
  }

  get lastSeq(): number | undefined {
    return this.events.findLast(({ seq }) => seq !== undefined)?.seq
  }

  apply(event: StreamResponse, { seq, at }: { seq?: number | undefined; at?: number | undefined } = {}): void {
    this.events.push({ seq, at, event })
    this.fold(event)
    this.signal.changed()
  }

  fold(event: StreamResponse): void {
    if ('task' in event) this.#begin(event.task)
    else if ('message' in event) this.message = event.message
    else if ('statusUpdate' in event) {
      const { taskId, contextId, status } = event.statusUpdate
      this.id ||= taskId
      this.contextId ||= contextId
      this.status = status
      if (status.message && isLasting(status.state)) this.history.push(status.message)
    } else {
      const { taskId, contextId, artifact, append, lastChunk } = event.artifactUpdate
      this.id ||= taskId
      this.contextId ||= contextId
      this.#update(artifact, append === true, lastChunk === true)
    }
  }

  /** What is known of it, without what was said before. */
  asTask(): Task | undefined {
    const { id, contextId, status } = this
    if (!status) return undefined
    const artifacts = [...this.artifacts.values()].map(
      ({ id: artifactId, name, description, parts }): Artifact => ({
        artifactId,
        parts,
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
      }),
    )
    return { id, contextId, status, artifacts }
  }

  #begin({ id, contextId, status, artifacts = [], history = [] }: Task): void {
    this.id = id
    this.contextId = contextId
    this.status = status
    this.history = [...history]
    this.artifacts.clear()
    for (const artifact of artifacts) this.#update(artifact, false, true)
  }

  #update({ artifactId, name, description, parts }: Artifact, isAppended: boolean, isWhole: boolean): void {
    let open = isAppended ? this.artifacts.get(artifactId) : undefined
    if (!open) {
      open = { id: artifactId, name, description, parts: [], blocks: [], isWhole: false }
      this.artifacts.set(artifactId, open)
    }
    for (const part of parts) {
      open.parts.push(part)
      const last = open.blocks.at(-1)
      if ('text' in part && typeof last === 'string') open.blocks[open.blocks.length - 1] = last + part.text
      else open.blocks.push('text' in part ? part.text : part)
    }
    open.isWhole = isWhole
  }
}

/** The task as it was after the first `count` of these events. */
export function taskAfter(events: readonly LoggedEvent[], count: number): TaskView {
  const view = new TaskView()
  for (const { event } of events.slice(0, count)) view.fold(event)
  return view
}

/** What an address names an event by: its place in the agent's log, which stays when others are shown or not. */
export function idOfEvent(events: readonly LoggedEvent[], point: number): number {
  return events[point - 1]?.seq ?? point
}

/** Where an event stands among those that are shown, counted from 1; the nearest before it when it is not there. */
export function placeOfEvent(events: readonly LoggedEvent[], id: number): number {
  const found = events.findLastIndex(({ seq }, place) => (seq ?? place + 1) <= id)
  return Math.min(events.length, Math.max(1, found + 1))
}

/** Questions and last words belong to the conversation; progress does not. */
function isLasting(state: TaskState): boolean {
  return state !== 'TASK_STATE_SUBMITTED' && state !== 'TASK_STATE_WORKING'
}
