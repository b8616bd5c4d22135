/**
 * A stream that is read, as v1.0 tells it: the task once, at the beginning, then what is new (RM-STR-2).
 * Older peers never show the task, or show it whole with every status; some go on after its end.
 */
import type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../model/event.js'
import type { Part } from '../model/part.js'
import { isTerminal, type Task, type TaskState } from '../model/task.js'
import type { IncomingFrame, StreamDecoder } from './client-dialect.js'

export class FollowedTask {
  #state: TaskState | undefined
  /** How much was told of each artifact, by id. */
  readonly #told = new Map<string, number>()

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
    const before = append ? (this.#told.get(artifact.artifactId) ?? 0) : 0
    const event = { artifactUpdate: update }
    const events =
      this.#state === undefined
        ? [...this.#begin({ id, contextId, status: { state: 'TASK_STATE_WORKING' } }), event]
        : [event]
    this.#told.set(artifact.artifactId, before + amountOf(artifact.parts))
    return events
  }

  /** A whole task: of its artifacts only those that say more than the events before, and its status. */
  addTask(task: Task): readonly StreamResponse[] {
    if (this.#state === undefined) return this.#begin(task)
    const about = { taskId: task.id, contextId: task.contextId }
    const news = (task.artifacts ?? []).filter(
      ({ artifactId, parts }) => amountOf(parts) > (this.#told.get(artifactId) ?? -1),
    )
    return [
      ...news.flatMap((artifact) => this.addArtifact({ ...about, artifact })),
      ...this.addStatus({ ...about, status: task.status }),
    ]
  }

  #begin(task: Task): readonly StreamResponse[] {
    this.#state = task.status.state
    for (const { artifactId, parts } of task.artifacts ?? []) this.#told.set(artifactId, amountOf(parts))
    return [{ task }]
  }

  /** An ended task does not change, and none becomes new again. */
  #isStale(next: TaskState): boolean {
    const now = this.#state as TaskState // asked after the beginning only
    return isTerminal(now) || (next === 'TASK_STATE_SUBMITTED' && now !== next)
  }
}

/** The same for a text in chunks and in one piece. */
function amountOf(parts: readonly Part[]): number {
  let amount = 0
  for (const part of parts) amount += 'text' in part ? part.text.length : 1
  return amount
}

export const nothing: readonly never[] = []

/**
 * Reads a stream until its peer has said the last word: `[DONE]`, which clients of every dialect tolerate (RL-L2-1), or
 * a frame that is the last by what it says, for which `over` is called. What comes behind it is not read.
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
