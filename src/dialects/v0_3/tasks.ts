/** Encoding and decoding of tasks and their events. */
import type { Artifact } from '../../model/artifact.js'
import type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../../model/event.js'
import { isInterrupted, isTerminal, type Task, type TaskState, type TaskStatus } from '../../model/task.js'
import { type Decoder, decodeOrThrow } from '../decode.js'
import { type LenientDecoders, lenientDecoders, lenientEvent } from '../lenient-decoders.js'
import { encodeMessage, message } from './messages.js'
import { encodeParts, part } from './parts.js'
import { inEveryPartForm, type Wire, type WireForm } from './wire-form.js'

const decoders = inEveryPartForm((form): LenientDecoders => lenientDecoders(part[form], message[form]))

/** A task in a response. */
export const task = inEveryPartForm((form): Decoder<Task> => decoders[form].task)

const event = inEveryPartForm(
  (form): Decoder<StreamResponse> => lenientEvent(message[form], decoders[form], { hasKinds: form === 'json' }),
)

export function decodeArtifact(wire: unknown, { partForm }: WireForm): Artifact {
  return decodeOrThrow(decoders[partForm].artifact, wire)
}

export function decodeStatus(wire: unknown, { partForm }: WireForm): TaskStatus {
  return decodeOrThrow(decoders[partForm].status, wire)
}

export function decodeTask(wire: unknown, { partForm }: WireForm): Task {
  return decodeOrThrow(task[partForm], wire)
}

/** Decodes an element of a stream or the response to a send. */
export function decodeEvent(wire: unknown, { partForm }: WireForm): StreamResponse {
  return decodeOrThrow(event[partForm], wire)
}

export function encodeArtifact(content: Artifact, as: WireForm): Wire {
  const { artifactId, name, description, parts, metadata, extensions } = content
  const wire: Wire = { artifactId }
  if (name !== undefined) wire.name = name
  if (description !== undefined) wire.description = description
  wire.parts = encodeParts(parts, as)
  if (metadata) wire.metadata = metadata
  if (extensions) wire.extensions = extensions
  return wire
}

export function encodeStatus({ state, message, timestamp }: TaskStatus, as: WireForm): Wire {
  const wire: Wire = { state: as.states[state] }
  if (message && as.hasFieldNames) wire.update = encodeMessage(message, as)
  else if (message) wire.message = encodeMessage(message, as)
  if (timestamp !== undefined) wire.timestamp = timestamp
  return wire
}

export function encodeTask({ id, contextId, status: now, artifacts, history, metadata }: Task, as: WireForm): Wire {
  const status = encodeStatus(now, as)
  const wire: Wire = as.shape === 'json' ? { kind: 'task', id, contextId, status } : { id, contextId, status }
  if (artifacts) wire.artifacts = artifacts.map((each) => encodeArtifact(each, as))
  if (history) wire.history = history.map((each) => encodeMessage(each, as))
  if (metadata) wire.metadata = metadata
  return wire
}

/** JSON-RPC has `kind` inside the object (R3-SEND-1, R3-STRM-2), the protobuf a member around it (R3-PB-7). */
export function encodeEvent(event: StreamResponse, as: WireForm): Wire {
  const isBare = as.shape === 'json'
  if ('artifactUpdate' in event) {
    const wire = encodeArtifactUpdate(event.artifactUpdate, as)
    return isBare ? wire : { artifactUpdate: wire }
  }
  if ('statusUpdate' in event) {
    const wire = encodeStatusUpdate(event.statusUpdate, as)
    return isBare ? wire : { statusUpdate: wire }
  }
  if ('task' in event) {
    const wire = encodeTask(event.task, as)
    return isBare ? wire : { task: wire }
  }
  const wire = encodeMessage(event.message, as)
  if (isBare) return wire
  return as.hasFieldNames ? { msg: wire } : { message: wire }
}

function encodeStatusUpdate({ taskId, contextId, status: now, metadata }: TaskStatusUpdateEvent, as: WireForm): Wire {
  const status = encodeStatus(now, as)
  const final = isFinal(now.state)
  const wire: Wire =
    as.shape === 'json'
      ? { kind: 'status-update', taskId, contextId, status, final }
      : { taskId, contextId, status, final }
  if (metadata) wire.metadata = metadata
  return wire
}

/** Streams end at these states (R3-STRM-4). */
function isFinal(state: TaskState): boolean {
  return isInterrupted(state) || isTerminal(state)
}

function encodeArtifactUpdate(update: TaskArtifactUpdateEvent, as: WireForm): Wire {
  const { taskId, contextId, append, lastChunk, metadata } = update
  const artifact = encodeArtifact(update.artifact, as)
  const wire: Wire =
    as.shape === 'json' ? { kind: 'artifact-update', taskId, contextId, artifact } : { taskId, contextId, artifact }
  if (append !== undefined) wire.append = append
  if (lastChunk !== undefined) wire.lastChunk = lastChunk
  if (metadata) wire.metadata = metadata
  return wire
}
