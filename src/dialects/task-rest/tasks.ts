/** Tasks are always sent whole: context, all artifacts, full history. */
import type { StreamResponse, TaskArtifactUpdateEvent } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import type { Struct } from '../../model/part.js'
import { isTerminal, type Task, type TaskState, type TaskStatus } from '../../model/task.js'
import { array, converted, type Decoder, object, optional, required, string, struct, utcTimestamp } from '../decode.js'
import { encodeArtifact, type ReadArtifact, readArtifact, toArtifact } from '../v0_1/tasks.js'
import { noteState, readState, standard, state, type WireForm } from '../v0_1/wire-form.js'
import { encodeMessage, type ReadMessage, readMessage, toMessage } from './messages.js'

export const wireForm: WireForm = { ...standard, hasArtifactIds: true }

interface ReadStatus {
  readonly state: TaskState
  readonly message?: ReadMessage
  readonly timestamp?: string
}

export const readStatus = object<ReadStatus>({
  state: required(state),
  message: optional(readMessage),
  timestamp: optional(utcTimestamp),
})

export function toStatus({ message, ...rest }: ReadStatus, newId: () => string): TaskStatus {
  return { ...rest, ...(message && { message: toMessage(message, newId) }) }
}

export function encodeStatus({ state, message, timestamp }: TaskStatus): object {
  return { state: wireForm.states[state], message: message && encodeMessage(message), timestamp }
}

interface ReadTask {
  readonly id: string
  readonly contextId?: string
  readonly status: ReadStatus
  readonly artifacts?: readonly ReadArtifact[]
  readonly history?: readonly ReadMessage[]
  readonly metadata?: Struct
}

export const readTask = object<ReadTask>({
  id: required(string),
  contextId: optional(string),
  status: required(readStatus),
  artifacts: optional(array(readArtifact)),
  history: optional(array(readMessage)),
  metadata: optional(struct),
})

/** task-rest sends empty lists for a task without artifacts or messages; the model omits them. */
export function toTask({ id, contextId, status, artifacts, history, metadata }: ReadTask, newId: () => string): Task {
  const { state, ...rest } = readState(status.state, metadata)
  return {
    id,
    contextId: contextId ?? id,
    status: toStatus({ ...status, state }, newId),
    ...(artifacts?.length && {
      artifacts: artifacts.map((each, place) => toArtifact({ ...each, index: each.index ?? place })),
    }),
    ...(history?.length && { history: history.map((each) => toMessage(each, newId)) }),
    ...rest,
  }
}

/** All artifacts of an ended task are closed. For a running task, `isClosed` decides. */
export function encodeTask(task: Task, isClosed?: (artifactId: string) => boolean): object {
  const { artifacts = [], history = [] } = task
  const hasEnded = isTerminal(task.status.state)
  return {
    id: task.id,
    contextId: task.contextId,
    status: encodeStatus(task.status),
    // `index` counts the chunks of a stream; a whole artifact is one chunk.
    artifacts: artifacts.map((each) =>
      encodeArtifact(each, 0, wireForm, { lastChunk: hasEnded || isClosed?.(each.artifactId) }),
    ),
    history: history.map(encodeMessage),
    metadata: noteState(task.metadata, task.status.state, wireForm),
  }
}

interface ReadArtifactEvent {
  readonly taskId: string
  readonly contextId?: string
  readonly artifact: ReadArtifact
}

const readArtifactEvent = object<ReadArtifactEvent>({
  taskId: required(string),
  contextId: optional(string),
  artifact: required(readArtifact),
})

const readTaskEvent = object<{ readonly task: ReadTask }>({ task: required(readTask) })

const artifactEvent = converted(readArtifactEvent, ({ taskId, contextId, artifact }) => ({
  artifactUpdate: {
    taskId,
    contextId: contextId ?? taskId,
    artifact: toArtifact(artifact),
    ...(artifact.append !== undefined && { append: artifact.append }),
    ...(artifact.lastChunk !== undefined && { lastChunk: artifact.lastChunk }),
  },
}))

/** Decodes one event of a stream: an artifact chunk, or the updated task. */
export function readEvent(newId: () => string): Decoder<StreamResponse> {
  const taskEvent = converted(readTaskEvent, ({ task }) => ({ task: toTask(task, newId) }))
  return (value, faults) =>
    isObject(value) && value.artifact !== undefined ? artifactEvent(value, faults) : taskEvent(value, faults)
}

export function encodeArtifactEvent(update: TaskArtifactUpdateEvent, index: number): object {
  return {
    taskId: update.taskId,
    contextId: update.contextId,
    artifact: encodeArtifact(update.artifact, index, wireForm, update),
  }
}
