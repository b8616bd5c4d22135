/** Tasks and what happens to them, both ways (mapping 4.3, 4.4). */
import type { Artifact } from '../../model/artifact.js'
import type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../../model/event.js'
import type { Message } from '../../model/message.js'
import type { Part } from '../../model/part.js'
import { isTerminal, type Task, type TaskState, type TaskStatus } from '../../model/task.js'
import {
  array,
  boolean,
  converted,
  type Decoder,
  decodeOrThrow,
  isObject,
  object,
  optional,
  refuse,
  required,
  string,
  struct,
  utcTimestamp,
} from '../decode.js'
import { encodeMessage, message } from './messages.js'
import { encodePart, part } from './parts.js'
import { inBothShapes, type Shape, type Spelling, taskState, type Wire } from './spelling.js'

const artifact = inBothShapes((shape) =>
  converted(
    object<Omit<Artifact, 'parts'> & { readonly parts?: readonly Part[] }>({
      artifactId: required(string),
      name: optional(string),
      description: optional(string),
      parts: optional(array(part[shape])),
      metadata: optional(struct),
      extensions: optional(array(string)),
    }),
    ({ parts = [], ...rest }): Artifact => ({ ...rest, parts }),
  ),
)

const status = inBothShapes((shape) =>
  object<TaskStatus>(
    { state: required(taskState), message: optional(message[shape]), timestamp: optional(utcTimestamp) },
    { aliases: { message: ['update'] } },
  ),
)

const task = inBothShapes((shape) =>
  object<Task>({
    id: required(string),
    contextId: required(string),
    status: required(status[shape]),
    artifacts: optional(array(artifact[shape])),
    history: optional(array(message[shape])),
    metadata: optional(struct),
  }),
)

const statusUpdate = inBothShapes((shape) =>
  object<TaskStatusUpdateEvent>({
    taskId: required(string),
    contextId: required(string),
    status: required(status[shape]),
    metadata: optional(struct),
  }),
)

const artifactUpdate = inBothShapes((shape) =>
  object<TaskArtifactUpdateEvent>({
    taskId: required(string),
    contextId: required(string),
    artifact: required(artifact[shape]),
    append: optional(boolean),
    lastChunk: optional(boolean),
    metadata: optional(struct),
  }),
)

interface AnyEvent {
  readonly task?: Task
  readonly message?: Message
  readonly statusUpdate?: TaskStatusUpdateEvent
  readonly artifactUpdate?: TaskArtifactUpdateEvent
}

/** JSON-RPC tells events apart by `kind`, the protobuf by the member that is present. */
const event: Readonly<Record<Shape, Decoder<StreamResponse>>> = {
  json: (value, faults) => {
    if (!isObject(value)) return refuse(faults, 'must be an object')
    switch (value.kind ?? likelyKind(value)) {
      case 'task':
        return wrapped('task', task.json(value, faults))
      case 'message':
        return wrapped('message', message.json(value, faults))
      case 'status-update':
        return wrapped('statusUpdate', statusUpdate.json(value, faults))
      case 'artifact-update':
        return wrapped('artifactUpdate', artifactUpdate.json(value, faults))
      default:
        return refuse(faults, 'must be one of task, message, status-update, artifact-update', 'kind')
    }
  },
  proto: object<AnyEvent>(
    {
      task: optional(task.proto),
      message: optional(message.proto),
      statusUpdate: optional(statusUpdate.proto),
      artifactUpdate: optional(artifactUpdate.proto),
    },
    { oneof: ['task', 'message', 'statusUpdate', 'artifactUpdate'], aliases: { message: ['msg'] } },
  ) as Decoder<StreamResponse>, // exactly one member is present
}

/** Samples leave `kind` out (R3-DM-1). */
function likelyKind(value: Wire): string | undefined {
  if ('artifact' in value) return 'artifact-update'
  if ('status' in value) return 'id' in value ? 'task' : 'status-update'
  return 'parts' in value || 'messageId' in value ? 'message' : undefined
}

function wrapped(name: keyof AnyEvent, value: object | undefined): StreamResponse | undefined {
  return value && ({ [name]: value } as unknown as StreamResponse) // each name comes with the value of its type
}

export function decodeArtifact(wire: unknown, { shape }: Spelling): Artifact {
  return decodeOrThrow(artifact[shape], wire)
}

export function decodeStatus(wire: unknown, { shape }: Spelling): TaskStatus {
  return decodeOrThrow(status[shape], wire)
}

export function decodeTask(wire: unknown, { shape }: Spelling): Task {
  return decodeOrThrow(task[shape], wire)
}

/** An element of a stream; the answer to a send is read alike. */
export function decodeEvent(wire: unknown, { shape }: Spelling): StreamResponse {
  return decodeOrThrow(event[shape], wire)
}

export function encodeArtifact(content: Artifact, as: Spelling): Wire {
  const { artifactId, name, description, parts, metadata, extensions } = content
  const wire: Wire = { artifactId }
  if (name !== undefined) wire.name = name
  if (description !== undefined) wire.description = description
  wire.parts = parts.map((each) => encodePart(each, as))
  if (metadata) wire.metadata = metadata
  if (extensions) wire.extensions = extensions
  return wire
}

export function encodeStatus({ state, message: said, timestamp }: TaskStatus, as: Spelling): Wire {
  const wire: Wire = { state: as.states[state] }
  if (said) wire[as.statusMessage] = encodeMessage(said, as)
  if (timestamp !== undefined) wire.timestamp = timestamp
  return wire
}

export function encodeTask({ id, contextId, status: now, artifacts, history, metadata }: Task, as: Spelling): Wire {
  const wire: Wire = as.shape === 'json' ? { kind: 'task', id, contextId } : { id, contextId }
  wire.status = encodeStatus(now, as)
  if (artifacts) wire.artifacts = artifacts.map((each) => encodeArtifact(each, as))
  if (history) wire.history = history.map((each) => encodeMessage(each, as))
  if (metadata) wire.metadata = metadata
  return wire
}

/** `kind` inside in JSON-RPC (R3-SEND-1, R3-STRM-2), a member around in the protobuf (R3-PB-7). */
export function encodeEvent(happened: StreamResponse, as: Spelling): Wire {
  const isBare = as.shape === 'json'
  if ('artifactUpdate' in happened) {
    const wire = encodeArtifactUpdate(happened.artifactUpdate, as)
    return isBare ? wire : { artifactUpdate: wire }
  }
  if ('statusUpdate' in happened) {
    const wire = encodeStatusUpdate(happened.statusUpdate, as)
    return isBare ? wire : { statusUpdate: wire }
  }
  if ('task' in happened) {
    const wire = encodeTask(happened.task, as)
    return isBare ? wire : { task: wire }
  }
  const wire = encodeMessage(happened.message, as)
  return isBare ? wire : { [as.answerMessage]: wire }
}

function encodeStatusUpdate({ taskId, contextId, status: now, metadata }: TaskStatusUpdateEvent, as: Spelling): Wire {
  const wire: Wire = as.shape === 'json' ? { kind: 'status-update', taskId, contextId } : { taskId, contextId }
  wire.status = encodeStatus(now, as)
  wire.final = isFinal(now.state)
  if (metadata) wire.metadata = metadata
  return wire
}

/** Streams end at these states; they stay open while a task waits for credentials (R3-STRM-4). */
function isFinal(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED' || isTerminal(state)
}

function encodeArtifactUpdate(update: TaskArtifactUpdateEvent, as: Spelling): Wire {
  const { taskId, contextId, append, lastChunk, metadata } = update
  const wire: Wire = as.shape === 'json' ? { kind: 'artifact-update', taskId, contextId } : { taskId, contextId }
  wire.artifact = encodeArtifact(update.artifact, as)
  if (append !== undefined) wire.append = append
  if (lastChunk !== undefined) wire.lastChunk = lastChunk
  if (metadata) wire.metadata = metadata
  return wire
}
