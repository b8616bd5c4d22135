/** What a stream says of a task: its status, or a piece of an artifact with its place inside. */
import type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import type { Struct } from '../../model/part.js'
import { converted, type Decoder, object, optional, required, string, struct } from '../decode.js'
import { noteState, readState, type Spelling } from './spelling.js'
import {
  encodeArtifact,
  encodeStatus,
  type ReadArtifact,
  type ReadStatus,
  readArtifact,
  readStatus,
  toArtifact,
  toStatus,
} from './tasks.js'

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
