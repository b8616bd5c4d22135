/** A task that grows with its events. The cost of an event does not depend on the number of earlier events. */
import type { Artifact, Message, Part, StreamResponse, Task, TaskState } from 'dragoman/client'
import { Signal } from './signal.js'

export interface LoggedEvent {
  /** Position in the task's log, if the agent sends it. */
  readonly seq: number | undefined
  /** Time in milliseconds since 1970, if known. */
  readonly at: number | undefined
  readonly event: StreamResponse
}

export interface ArtifactView {
  readonly id: string
  readonly name: string | undefined
  readonly description: string | undefined
  readonly parts: Part[]
  /** Adjacent text parts are joined, because chunks are not paragraphs. */
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
  /** An answer without a task. */
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

  /** The task without its history. */
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

/** The task after the first `count` events. */
export function taskAfter(events: readonly LoggedEvent[], count: number): TaskView {
  const view = new TaskView()
  for (const { event } of events.slice(0, count)) view.fold(event)
  return view
}

/** The id of an event in a URL: its position in the agent's log, which does not depend on filters. */
export function idOfEvent(events: readonly LoggedEvent[], point: number): number {
  return events[point - 1]?.seq ?? point
}

/** The index of an event among the shown events, from 1; if it is missing, the nearest earlier one. */
export function placeOfEvent(events: readonly LoggedEvent[], id: number): number {
  const found = events.findLastIndex(({ seq }, place) => (seq ?? place + 1) <= id)
  return Math.min(events.length, Math.max(1, found + 1))
}

/** Questions and final messages belong to the history; progress does not. */
function isLasting(state: TaskState): boolean {
  return state !== 'TASK_STATE_SUBMITTED' && state !== 'TASK_STATE_WORKING'
}
