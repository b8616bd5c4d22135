/** Tasks, their status and artifacts. Artifacts have no ids: their index in the task identifies them. */
import type { Artifact } from '../../model/artifact.js'
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import type { Part, Struct } from '../../model/part.js'
import type { SendMessageResponse } from '../../model/service.js'
import type { Task, TaskState, TaskStatus } from '../../model/task.js'
import {
  array,
  boolean,
  decodeOrThrow,
  int32,
  object,
  optional,
  required,
  string,
  struct,
  utcTimestamp,
} from '../decode.js'
import { encodeMessage, isStrings, type ReadMessage, readMessage, toMessage, type WireMessage } from './messages.js'
import { encodePart, part, type WirePart } from './parts.js'
import { noteState, readState, state, type WireForm } from './wire-form.js'

interface WireStatus {
  readonly state: string
  readonly message?: WireMessage | undefined
  readonly timestamp?: string | undefined
}

interface WireArtifact {
  readonly artifactId?: string | undefined
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly parts: readonly WirePart[]
  readonly index: number
  readonly append?: true | undefined
  readonly lastChunk?: true | undefined
  readonly metadata?: Struct | undefined
}

export interface ReadStatus {
  readonly state: TaskState
  readonly message?: ReadMessage
  readonly timestamp?: string
}

export const readStatus = object<ReadStatus>({
  state: required(state),
  message: optional(readMessage),
  timestamp: optional(utcTimestamp),
})

export function toStatus({ message, timestamp }: ReadStatus, state: TaskState, newId: () => string): TaskStatus {
  return {
    state,
    ...(message && { message: toMessage(message, newId) }),
    ...(timestamp !== undefined && { timestamp }),
  }
}

export function encodeStatus({ state, message, timestamp }: TaskStatus, wireForm: WireForm): WireStatus {
  return { state: wireForm.states[state], message: message && encodeMessage(message, wireForm), timestamp }
}

export interface ReadArtifact {
  readonly artifactId?: string
  readonly name?: string
  readonly description?: string
  readonly parts?: readonly Part[]
  readonly index?: number
  readonly append?: boolean
  readonly lastChunk?: boolean
  readonly metadata?: Struct
}

export const readArtifact = object<ReadArtifact>({
  artifactId: optional(string),
  name: optional(string),
  description: optional(string),
  parts: optional(array(part)),
  index: optional(int32),
  append: optional(boolean),
  lastChunk: optional(boolean),
  metadata: optional(struct),
})

export function toArtifact({ artifactId, index, metadata, ...read }: ReadArtifact): Artifact {
  const { a2aExtensions, ...rest } = metadata ?? {}
  return {
    artifactId: artifactId ?? `artifact-${index ?? 0}`,
    ...(read.name !== undefined && { name: read.name }),
    ...(read.description !== undefined && { description: read.description }),
    parts: read.parts ?? [],
    ...(metadata && (a2aExtensions === undefined || Object.keys(rest).length > 0) && { metadata: rest }),
    ...(isStrings(a2aExtensions) && { extensions: a2aExtensions }),
  }
}

interface Chunk {
  readonly append?: boolean | undefined
  readonly lastChunk?: boolean | undefined
}

export function encodeArtifact(
  { artifactId, name, description, parts, metadata, extensions }: Artifact,
  index: number,
  { artifactParts, hasArtifactIds }: WireForm,
  { append, lastChunk }: Chunk = {},
): WireArtifact {
  return {
    artifactId: hasArtifactIds ? artifactId : undefined,
    name,
    description,
    parts: parts.map((each) => encodePart(each, artifactParts)),
    index,
    append: append || undefined,
    lastChunk: lastChunk || undefined,
    metadata: metadata && extensions ? { ...metadata, a2aExtensions: extensions } : metadata,
  }
}

interface ReadTask {
  readonly id: string
  readonly sessionId?: string
  readonly status: ReadStatus
  readonly artifacts?: readonly ReadArtifact[]
  readonly history?: readonly ReadMessage[]
  readonly metadata?: Struct
}

export const readTask = object<ReadTask>({
  id: required(string),
  sessionId: optional(string),
  status: required(readStatus),
  artifacts: optional(array(readArtifact)),
  history: optional(array(readMessage)),
  metadata: optional(struct),
})

/** A task without a session gets a context of its own, with the task's id. */
export function toTask({ id, sessionId, status, artifacts, history, metadata }: ReadTask, newId: () => string): Task {
  const { state, ...rest } = readState(status.state, metadata)
  return {
    id,
    contextId: sessionId ?? id,
    status: toStatus(status, state, newId),
    ...(artifacts && {
      artifacts: artifacts.map((each, place) => toArtifact({ ...each, index: each.index ?? place })),
    }),
    ...(history && { history: history.map((each) => toMessage(each, newId)) }),
    ...rest,
  }
}

/** Decodes a task from a server. `contextId` is the requested session, used if the response names none. */
export function decodeTask(
  answer: unknown,
  { contextId, newId }: { readonly contextId?: string; newId(): string },
): Task {
  const read = decodeOrThrow(readTask, answer)
  return toTask(contextId === undefined ? read : { sessionId: contextId, ...read }, newId)
}

export function encodeTask(task: Task, wireForm: WireForm, isHistoryWanted: boolean): object {
  return {
    id: task.id,
    sessionId: task.contextId,
    status: encodeStatus(task.status, wireForm),
    artifacts: task.artifacts?.map((each, place) => encodeArtifact(each, place, wireForm)),
    history: isHistoryWanted ? task.history?.map((each) => encodeMessage(each, wireForm)) : undefined,
    metadata: noteState(task.metadata, task.status.state, wireForm),
  }
}

/** Responses are always tasks: a message is sent as a completed task (RM-STR-3). */
export function taskIn(result: SendMessageResponse, params: unknown): Task {
  return 'task' in result ? result.task : taskOf(result.message, params)
}

export function taskOf(message: Message, params: unknown): Task {
  const wanted = isObject(params) && typeof params.id === 'string' ? params.id : ''
  const id = message.taskId ?? (wanted || message.messageId)
  return { id, contextId: message.contextId ?? id, status: { state: 'TASK_STATE_COMPLETED', message } }
}
