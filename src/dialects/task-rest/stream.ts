/**
 * A status event carries the whole task, so the encoder folds the events. An artifact chunk costs only its own size; a
 * status costs the size of the task.
 */

import type { StreamResponse, TaskArtifactUpdateEvent } from '../../model/event.js'
import { TextChunks } from '../../model/event-json.js'
import { isObject } from '../../model/is-object.js'
import type { SendMessageRequest } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { isTerminal } from '../../model/task.js'
import { TaskFold } from '../../model/task-fold.js'
import type { StreamDecoder, StreamRequest } from '../client-dialect.js'
import { decodeOrThrow } from '../decode.js'
import type { StreamCall, StreamEncoder } from '../dialect.js'
import { FollowedTask, nothing, untilOver } from '../followed-task.js'
import { taskOf } from '../v0_1/tasks.js'
import { decodeError, streamError } from './errors.js'
import { encodeArtifactEvent, encodeTask, readEvent } from './tasks.js'

interface Streamed {
  /** Chunks sent so far. */
  chunks: number
  isClosed: boolean
}

export function createStreamEncoder({ params }: StreamCall): StreamEncoder {
  let fold = new TaskFold()
  const artifacts = new Map<string, Streamed>()
  const chunks = new TextChunks(encodeArtifactEvent)

  /** Handles the snapshot, which comes first and again after a slow reader lost events. */
  function begin(task: Task): void {
    fold = TaskFold.from(task, 0)
    fold.keepsProgress = true
    artifacts.clear()
    // An artifact in the first task counts as one chunk.
    for (const { artifactId } of task.artifacts ?? []) artifacts.set(artifactId, { chunks: 1, isClosed: false })
  }

  /**
   * The encoder numbers the events: streams omit events that are not public, and the fold requires consecutive numbers.
   */
  function follow(body: StreamResponse, taskId: string, contextId: string): void {
    if (!fold.status) begin({ id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } })
    fold.apply({ seq: fold.seq + 1, time: 0, body })
  }

  function whole(): string {
    const task = fold.snapshot() as Task // `begin` has run before
    return JSON.stringify({ task: encodeTask(task, (artifactId) => artifacts.get(artifactId)?.isClosed === true) })
  }

  function piece(update: TaskArtifactUpdateEvent): string {
    const { artifactId } = update.artifact
    const index = update.append ? (artifacts.get(artifactId)?.chunks ?? 0) : 0
    artifacts.set(artifactId, { chunks: index + 1, isClosed: update.lastChunk === true })
    return chunks.encode(update, index)
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

export function createStreamDecoder({ operation, request, facts }: StreamRequest): StreamDecoder {
  const event = readEvent(facts.newId)
  const followed = new FollowedTask()
  const isAnswering =
    operation === 'sendStreamingMessage' && (request as SendMessageRequest).message.taskId !== undefined
  return untilOver((frame, over) => {
    if (isObject(frame.data) && isObject(frame.data.error)) throw decodeError(500, frame.data)
    const read = decodeOrThrow(event, isBareTask(frame.data) ? { task: frame.data } : frame.data)
    if ('artifactUpdate' in read) return followed.addArtifact(read.artifactUpdate)
    if (!('task' in read)) return nothing // `readEvent` returns no other kind
    const { state } = read.task.status
    // A stream that answers a question may begin with the status that asked it.
    const isOldQuestion = isAnswering && !followed.hasBegun
    if (isTerminal(state) || (state === 'TASK_STATE_INPUT_REQUIRED' && !isOldQuestion)) over()
    return followed.addTask(read.task)
  })
}

/** The response of a peer that does not stream. */
function isBareTask(data: unknown): boolean {
  return isObject(data) && data.task === undefined && data.status !== undefined
}
