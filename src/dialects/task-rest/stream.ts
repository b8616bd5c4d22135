/**
 * A status is told by the whole task as it has become, so the encoder folds what it is shown. A piece of
 * an artifact costs the piece; only a status costs the task.
 */
import { TaskFold } from '../../model/apply-event.js'
import type { StreamResponse, TaskArtifactUpdateEvent } from '../../model/event.js'
import type { Task } from '../../model/task.js'
import type { StreamCall, StreamEncoder } from '../dialect.js'
import { taskOf } from '../v0_1/tasks.js'
import { streamError } from './errors.js'
import { encodeArtifactEvent, encodeTask } from './tasks.js'

interface Place {
  readonly index: number
  isClosed: boolean
}

export function createStreamEncoder({ params }: StreamCall): StreamEncoder {
  let fold = new TaskFold()
  const places = new Map<string, Place>()

  /** Comes first; again when the reader was too slow and starts over. */
  function begin(task: Task): void {
    fold = TaskFold.from(task, 0)
    places.clear()
    for (const { artifactId } of task.artifacts ?? []) placeOf(artifactId)
  }

  function placeOf(artifactId: string): Place {
    let place = places.get(artifactId)
    if (!place) {
      place = { index: places.size, isClosed: false }
      places.set(artifactId, place)
    }
    return place
  }

  /** Numbered by the encoder: events of a stream leave out what is not public, and the fold wants no gaps. */
  function follow(body: StreamResponse, taskId: string, contextId: string): void {
    if (!fold.status) begin({ id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } })
    fold.apply({ seq: fold.seq + 1, time: 0, body })
  }

  function whole(): string {
    const task = fold.snapshot() as Task // whoever calls this has begun
    return JSON.stringify({ task: encodeTask(task, (artifactId) => placeOf(artifactId).isClosed) })
  }

  function piece(update: TaskArtifactUpdateEvent): string {
    const place = placeOf(update.artifact.artifactId)
    place.isClosed = update.lastChunk === true
    return JSON.stringify(encodeArtifactEvent(update, place.index))
  }

  return {
    encode({ event }) {
      if ('artifactUpdate' in event) {
        follow(event, event.artifactUpdate.taskId, event.artifactUpdate.contextId)
        return piece(event.artifactUpdate)
      }
      if ('statusUpdate' in event) follow(event, event.statusUpdate.taskId, event.statusUpdate.contextId)
      else begin('task' in event ? event.task : taskOf(event.message, params))
      return whole()
    },
    encodeError: (error) => [{ data: JSON.stringify(streamError(error)) }],
  }
}
