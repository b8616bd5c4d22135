/**
 * A stream begins with a status, never with a task (RL-01-5). Artifacts are numbered by their index in the task; the
 * snapshot at the beginning of the stream gives the indexes of existing artifacts.
 */
import type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../../model/event.js'
import { TextChunks } from '../../model/event-json.js'
import { isObject } from '../../model/is-object.js'
import type { Struct } from '../../model/part.js'
import { isTerminal, type Task, type TaskState } from '../../model/task.js'
import type { IncomingFrame, StreamDecoder, StreamRequest } from '../client-dialect.js'
import { converted, type Decoder, decodeOrThrow, object, optional, required, string, struct } from '../decode.js'
import type { Frame, StreamCall, StreamEncoder } from '../dialect.js'
import { FollowedTask, nothing, untilOver } from '../followed-task.js'
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
import type { WireForm } from './wire-form.js'
import { noteState, readState } from './wire-form.js'

export function createStreamEncoder({ operation, params }: StreamCall, wireForm: WireForm): StreamEncoder {
  const isJoining = operation === 'subscribeToTask'
  const places = new Map<string, number>()
  const chunks = new TextChunks((update, place) => encodeArtifactEvent(update, place, wireForm))
  let hasBegun = false

  function artifactFrame(update: TaskArtifactUpdateEvent): Frame {
    const { artifactId } = update.artifact
    let place = places.get(artifactId)
    if (place === undefined) {
      place = places.size
      places.set(artifactId, place)
    }
    return frame('task_artifact_update', chunks.encode(update, place))
  }

  function statusFrame(update: TaskStatusUpdateEvent, isFinal: boolean): Frame {
    return frame('task_status_update', JSON.stringify(encodeStatusEvent(update, isFinal, wireForm)))
  }

  function frame(event: string, data: string): Frame {
    return wireForm.hasNamedEvents ? { data, event, isBare: true } : { data }
  }

  /** Encodes the snapshot, which comes first and again after a slow reader lost events. */
  function snapshotFrames(task: Task): readonly Frame[] {
    const isFirst = !hasBegun
    hasBegun = true
    places.clear()
    for (const { artifactId } of task.artifacts ?? []) places.set(artifactId, places.size)
    const hasEnded = isTerminal(task.status.state)
    const about = { taskId: task.id, contextId: task.contextId }
    const update = { ...about, status: task.status }
    if (isFirst && !isJoining && wireForm.hasNamedEvents) {
      const answer = rpcResult(encodeTask(task, wireForm, false))
      return hasEnded ? [answer, statusFrame(update, true)] : [answer]
    }
    // The caller of a send knows the earlier artifacts. Subscribers, readers that lost events and readers of an ended task do not.
    const artifacts = isJoining || !isFirst || hasEnded ? (task.artifacts ?? []) : []
    // Readers stop at the final status, so it is sent last. A stream that begins with a final status sends it twice.
    const isLate = hasEnded && artifacts.length > 0
    const isStatusFirst = !isLate || (isFirst && !wireForm.hasNamedEvents)
    return [
      ...(isFirst && wireForm.hasNamedEvents ? [rpcResult({ status: 'resubscription initiated' })] : []),
      ...(isStatusFirst ? [statusFrame(update, hasEnded && !isLate)] : []),
      ...artifacts.map((artifact) => artifactFrame({ ...about, artifact })),
      ...(isLate ? [statusFrame(update, true)] : []),
    ]
  }

  /** Returns a single frame in the default envelope as text. */
  function framesOf(only: Frame): string | readonly Frame[] {
    return wireForm.hasNamedEvents ? [only] : only.data
  }

  return {
    encode({ event }) {
      if ('artifactUpdate' in event) return framesOf(artifactFrame(event.artifactUpdate))
      if ('statusUpdate' in event) {
        const { statusUpdate } = event
        return framesOf(statusFrame(statusUpdate, isLast(statusUpdate.status.state, wireForm)))
      }
      return snapshotFrames('task' in event ? event.task : taskOf(event.message, params))
    },
  }
}

function rpcResult(result: object): Frame {
  return { event: 'rpc_result', data: JSON.stringify(result) }
}

/** Interruptions end a stream in the profiles that have a state for them. */
function isLast(state: TaskState, { states }: WireForm): boolean {
  return isTerminal(state) || states[state] === 'input-required'
}

export function createStreamDecoder({ sent, facts: { newId } }: StreamRequest): StreamDecoder {
  // Events never name the session, and some peers omit the task, whose id the client generated.
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
    if (!('statusUpdate' in read)) return nothing // `readEvent` returns no other kind
    const { statusUpdate } = read
    const hasEnded = isTerminal(statusUpdate.status.state)
    const final = isObject(data) ? data.final : undefined
    const isLast = final === true || (hasEnded && final !== false)
    if (isLast) over()
    // A terminal state that is not marked as final: later artifacts belong before it.
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

/** Status events have no session, artifacts or history; the Go library names its first frame as a task. */
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

/** Values that the events of a stream do not carry. */
interface EventFacts {
  readonly contextId?: string
  newId(): string
}

/** Decodes one event of a stream. `final` is ignored: the state decides. */
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
  wireForm: WireForm,
): object {
  return {
    id: taskId,
    status: encodeStatus(status, wireForm),
    // The Go library omits `false`.
    final: isFinal || !wireForm.hasNamedEvents ? isFinal : undefined,
    metadata: noteState(metadata, status.state, wireForm),
  }
}

export function encodeArtifactEvent(update: TaskArtifactUpdateEvent, index: number, wireForm: WireForm): object {
  return {
    id: update.taskId,
    artifact: encodeArtifact(update.artifact, index, wireForm, update),
    // The Go library marks an artifact's last chunk with `final` too (RL-GO-2).
    final: wireForm.hasNamedEvents && update.lastChunk ? true : undefined,
    metadata: update.metadata,
  }
}
