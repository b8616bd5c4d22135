/**
 * Converts a decoded stream to v1.0's form: the task once, at the beginning, then updates (RM-STR-2). Older peers never
 * send the task, or send the whole task with every status; some send events after its end.
 */
import type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../model/event.js'
import type { Part } from '../model/part.js'
import { isTerminal, type Task, type TaskState } from '../model/task.js'
import type { IncomingFrame, StreamDecoder } from './client-dialect.js'

export class FollowedTask {
  #state: TaskState | undefined
  /** Amount of content received for each artifact, by id. */
  readonly #received = new Map<string, number>()

  get hasBegun(): boolean {
    return this.#state !== undefined
  }

  addStatus(update: TaskStatusUpdateEvent): readonly StreamResponse[] {
    const { taskId, contextId, status, metadata } = update
    if (this.#state === undefined) return this.#begin({ id: taskId, contextId, status, ...(metadata && { metadata }) })
    if (this.#isStale(status.state)) return nothing
    this.#state = status.state
    return [{ statusUpdate: update }]
  }

  addArtifact(update: TaskArtifactUpdateEvent): readonly StreamResponse[] {
    if (this.#state !== undefined && isTerminal(this.#state)) return nothing
    const { taskId: id, contextId, artifact, append } = update
    const before = append ? (this.#received.get(artifact.artifactId) ?? 0) : 0
    const event = { artifactUpdate: update }
    const events =
      this.#state === undefined
        ? [...this.#begin({ id, contextId, status: { state: 'TASK_STATE_WORKING' } }), event]
        : [event]
    this.#received.set(artifact.artifactId, before + amountOf(artifact.parts))
    return events
  }

  /** Adds a whole task: emits its status, and the artifacts that have more content than the events before. */
  addTask(task: Task): readonly StreamResponse[] {
    if (this.#state === undefined) return this.#begin(task)
    const about = { taskId: task.id, contextId: task.contextId }
    const news = (task.artifacts ?? []).filter(
      ({ artifactId, parts }) => amountOf(parts) > (this.#received.get(artifactId) ?? -1),
    )
    return [
      ...news.flatMap((artifact) => this.addArtifact({ ...about, artifact })),
      ...this.addStatus({ ...about, status: task.status }),
    ]
  }

  #begin(task: Task): readonly StreamResponse[] {
    this.#state = task.status.state
    for (const { artifactId, parts } of task.artifacts ?? []) this.#received.set(artifactId, amountOf(parts))
    return [{ task }]
  }

  /** An ended task does not change, and no task returns to the submitted state. */
  #isStale(next: TaskState): boolean {
    const now = this.#state as TaskState // only called after the first event
    return isTerminal(now) || (next === 'TASK_STATE_SUBMITTED' && now !== next)
  }
}

/** Equal for a text in chunks and in one piece. */
function amountOf(parts: readonly Part[]): number {
  let amount = 0
  for (const part of parts) amount += 'text' in part ? part.text.length : 1
  return amount
}

export const nothing: readonly never[] = []

/**
 * Decodes a stream up to its end: `[DONE]`, which clients of every dialect accept (RL-L2-1), or a frame for which
 * `decode` calls `over`. Later frames are ignored.
 */
export function untilOver(
  decode: (frame: IncomingFrame, over: () => void) => readonly StreamResponse[],
): StreamDecoder {
  let isOver = false
  const over = () => {
    isOver = true
  }
  return {
    get isOver() {
      return isOver
    },
    decode(frame) {
      if (frame.data === '[DONE]') over()
      return isOver ? nothing : decode(frame, over)
    },
  }
}
