/**
 * A stream begins with a status, never with a task (RL-01-5). Artifacts are numbered by their place in
 * the task, which the snapshot at the beginning of the stream settles for those that were there before.
 */
import type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import type { Struct } from '../../model/part.js'
import { isTerminal, type Task, type TaskState } from '../../model/task.js'
import type { IncomingFrame, StreamDecoder, StreamRequest } from '../client-dialect.js'
import { converted, type Decoder, decodeOrThrow, object, optional, required, string, struct } from '../decode.js'
import type { Frame, StreamCall, StreamEncoder } from '../dialect.js'
import { FollowedTask, nothing, untilOver } from '../followed-task.js'
import type { Spelling } from './spelling.js'
import { noteState, readState } from './spelling.js'
import {
  decodeTask,
  encodeArtifact,
  encodeStatus,
  encodeTask,
  type ReadArtifact,
  type ReadStatus,
  readArtifact,
  readStatus,
  taskOf,
  toArtifact,
  toStatus,
} from './tasks.js'

export function createStreamEncoder({ operation, params }: StreamCall, spelling: Spelling): StreamEncoder {
  const isJoining = operation === 'subscribeToTask'
  const places = new Map<string, number>()
  let hasBegun = false

  function artifactFrame(update: TaskArtifactUpdateEvent): Frame {
    const { artifactId } = update.artifact
    let place = places.get(artifactId)
    if (place === undefined) {
      place = places.size
      places.set(artifactId, place)
    }
    return frame('task_artifact_update', encodeArtifactEvent(update, place, spelling))
  }

  function statusFrame(update: TaskStatusUpdateEvent, isFinal: boolean): Frame {
    return frame('task_status_update', encodeStatusEvent(update, isFinal, spelling))
  }

  function frame(event: string, body: object): Frame {
    const data = JSON.stringify(body)
    return spelling.hasNamedEvents ? { data, event, isBare: true } : { data }
  }

  /** Comes first; again when the reader was too slow and starts over. */
  function snapshotFrames(task: Task): readonly Frame[] {
    const isFirst = !hasBegun
    hasBegun = true
    places.clear()
    for (const { artifactId } of task.artifacts ?? []) places.set(artifactId, places.size)
    const hasEnded = isTerminal(task.status.state)
    const about = { taskId: task.id, contextId: task.contextId }
    const update = { ...about, status: task.status }
    if (isFirst && !isJoining && spelling.hasNamedEvents) {
      const answer = rpcResult(encodeTask(task, spelling, false))
      return hasEnded ? [answer, statusFrame(update, true)] : [answer]
    }
    // Who sent a message knows what was there before; who joins, or is told nothing else, does not.
    const artifacts = isJoining || !isFirst || hasEnded ? (task.artifacts ?? []) : []
    // Readers leave at the final status, so it stands last. Where a stream begins with one, the end is told twice.
    const isLate = hasEnded && artifacts.length > 0
    const isTold = !isLate || (isFirst && !spelling.hasNamedEvents)
    return [
      ...(isFirst && spelling.hasNamedEvents ? [rpcResult({ status: 'resubscription initiated' })] : []),
      ...(isTold ? [statusFrame(update, hasEnded && !isLate)] : []),
      ...artifacts.map((artifact) => artifactFrame({ ...about, artifact })),
      ...(isLate ? [statusFrame(update, true)] : []),
    ]
  }

  /** One frame in the ordinary envelope is a text. */
  function spelled(only: Frame): string | readonly Frame[] {
    return spelling.hasNamedEvents ? [only] : only.data
  }

  return {
    encode({ event }) {
      if ('artifactUpdate' in event) return spelled(artifactFrame(event.artifactUpdate))
      if ('statusUpdate' in event) {
        const { statusUpdate } = event
        return spelled(statusFrame(statusUpdate, isLast(statusUpdate.status.state, spelling)))
      }
      return snapshotFrames('task' in event ? event.task : taskOf(event.message, params))
    },
  }
}

function rpcResult(result: object): Frame {
  return { event: 'rpc_result', data: JSON.stringify(result) }
}

/** Interruptions end a stream in the profiles that have a state for them. */
function isLast(state: TaskState, { states }: Spelling): boolean {
  return isTerminal(state) || states[state] === 'input-required'
}

export function createStreamDecoder({ sent, facts: { newId } }: StreamRequest): StreamDecoder {
  // What events do not say: the session never, and some peers leave out the task, whose id was made here.
  const { id: taskId, sessionId } = isObject(sent) ? sent : {}
  const ids = { ...(typeof sessionId === 'string' && { contextId: sessionId }), newId }
  const event = readEvent(ids)
  const followed = new FollowedTask()

  function decodeWhole(data: unknown, over: () => void): readonly StreamResponse[] {
    const task = decodeTask(data, ids)
    if (isTerminal(task.status.state)) over()
    return followed.addTask(task)
  }

  function decodeEvent(data: unknown, over: () => void): readonly StreamResponse[] {
    const isNameless = isObject(data) && data.id === undefined && typeof taskId === 'string'
    const read = decodeOrThrow(event, isNameless ? { ...data, id: taskId } : data)
    if ('artifactUpdate' in read) return followed.addArtifact(read.artifactUpdate)
    if (!('statusUpdate' in read)) return nothing // `readEvent` gives no other
    const { statusUpdate } = read
    const hasEnded = isTerminal(statusUpdate.status.state)
    const final = isObject(data) ? data.final : undefined
    const isLast = final === true || (hasEnded && final !== false)
    if (isLast) over()
    // An end that is said not to be the last word: what is still to come belongs before it.
    if (!hasEnded || isLast) return followed.addStatus(statusUpdate)
    if (followed.hasBegun) return nothing
    return followed.addStatus({ ...statusUpdate, status: { state: 'TASK_STATE_WORKING' } })
  }

  return untilOver((frame, over) => {
    if (isGreeting(frame)) return nothing
    return isWhole(frame) ? decodeWhole(frame.data, over) : decodeEvent(frame.data, over)
  })
}

/** The Go library answers a resubscription with `{"status":"resubscription initiated"}` (RL-GO-2). */
function isGreeting({ data }: IncomingFrame): boolean {
  return isObject(data) && data.id === undefined && typeof data.status === 'string'
}

/** Status events have no session, artifacts or history; the Go library's first frame is a task by its name. */
function isWhole({ event, data }: IncomingFrame): boolean {
  if (!isObject(data) || !isObject(data.status)) return false
  return event === 'rpc_result' || ['sessionId', 'artifacts', 'history'].some((member) => member in data)
}

interface ReadStatusEvent {
  readonly id: string
  readonly status: ReadStatus
  readonly metadata?: Struct
}

const readStatusEvent = object<ReadStatusEvent>({
  id: required(string),
  status: required(readStatus),
  metadata: optional(struct),
})

interface ReadArtifactEvent {
  readonly id: string
  readonly artifact: ReadArtifact
  readonly metadata?: Struct
}

const readArtifactEvent = object<ReadArtifactEvent>({
  id: required(string),
  artifact: required(readArtifact),
  metadata: optional(struct),
})

/** What a stream's events do not say of themselves. */
export interface EventFacts {
  readonly contextId?: string
  newId(): string
}

/** One event of a stream; `final` says nothing that the state does not. */
export function readEvent({ contextId, newId }: EventFacts): Decoder<StreamResponse> {
  const statusEvent = converted(readStatusEvent, ({ id, status, metadata }) => {
    const { state, ...rest } = readState(status.state, metadata)
    return {
      statusUpdate: { taskId: id, contextId: contextId ?? id, status: toStatus(status, state, newId), ...rest },
    }
  })
  const artifactEvent = converted(readArtifactEvent, ({ id, artifact, metadata }) => ({
    artifactUpdate: {
      taskId: id,
      contextId: contextId ?? id,
      artifact: toArtifact(artifact),
      ...(artifact.append !== undefined && { append: artifact.append }),
      ...(artifact.lastChunk !== undefined && { lastChunk: artifact.lastChunk }),
      ...(metadata && { metadata }),
    },
  }))
  return (value, faults) =>
    isObject(value) && value.artifact !== undefined ? artifactEvent(value, faults) : statusEvent(value, faults)
}

export function encodeStatusEvent(
  { taskId, status, metadata }: TaskStatusUpdateEvent,
  isFinal: boolean,
  spelling: Spelling,
): object {
  return {
    id: taskId,
    status: encodeStatus(status, spelling),
    // The Go library leaves out what is false.
    final: isFinal || !spelling.hasNamedEvents ? isFinal : undefined,
    metadata: noteState(metadata, status.state, spelling),
  }
}

export function encodeArtifactEvent(update: TaskArtifactUpdateEvent, index: number, spelling: Spelling): object {
  return {
    id: update.taskId,
    artifact: encodeArtifact(update.artifact, index, spelling, update),
    // There, an artifact's last chunk is marked twice (RL-GO-2).
    final: spelling.hasNamedEvents && update.lastChunk ? true : undefined,
    metadata: update.metadata,
  }
}
