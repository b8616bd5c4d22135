/**
 * The events of a task, in order. Each task has one log and one sequence (E-4). Public events are v1.0's four stream
 * responses; private events are the engine's state and are never sent.
 */
import type { Artifact } from './artifact.js'
import type { ErrorCode, ErrorDetails } from './errors.js'
import type { Message } from './message.js'
import type { JsonValue, Struct } from './part.js'
import type { Task, TaskStatus } from './task.js'
import type { TraceContext } from './trace-context.js'

/** A stream element: the status of a task changed. */
export interface TaskStatusUpdateEvent {
  readonly taskId: string
  readonly contextId: string
  readonly status: TaskStatus
  /** In the log of a task: the whole metadata of the task at this moment, written by extensions (R11-EXT-2). */
  readonly metadata?: Struct
}

/** A stream element: an artifact was created, replaced or extended. */
export interface TaskArtifactUpdateEvent {
  readonly taskId: string
  readonly contextId: string
  readonly artifact: Artifact
  /** True: add the parts to the artifact of the same id. False or absent: create or replace it. */
  readonly append?: boolean
  readonly lastChunk?: boolean
  readonly metadata?: Struct
}

/** One element of a stream, as v1.0 encodes it: exactly one member is present. */
export type StreamResponse =
  | { readonly task: Task }
  | { readonly message: Message }
  | { readonly statusUpdate: TaskStatusUpdateEvent }
  | { readonly artifactUpdate: TaskArtifactUpdateEvent }

/**
 * The part of a request that a later turn needs. It carries the trace context, so that traces continue across
 * processes.
 */
export interface TurnRequest extends TraceContext {
  readonly metadata?: Struct
  readonly acceptedOutputModes?: readonly string[]
  readonly extensions?: readonly string[]
  /** The part of the caller that the log keeps; without an id it is the owner of the task. */
  readonly caller?: { readonly id?: string; readonly scheme?: string; readonly scopes?: readonly string[] }
}

/** Events that are never sent to callers. */
export type PrivateEvent =
  /** A message entered the task's queue; turns are numbered from 1 in that order. */
  | { readonly accepted: { readonly turn: number; readonly message: Message; readonly request?: TurnRequest } }
  /** A turn began to run, for the first time or again after a crash. */
  | { readonly started: { readonly turn: number; readonly attempt: number } }
  /** The agent refused the send before a task existed; kept for the idempotency key. */
  | { readonly refused: { readonly code: ErrorCode; readonly message: string; readonly details?: ErrorDetails } }
  /** A caller requested cancellation of the task. */
  | { readonly cancelAsked: { readonly metadata?: Struct } }
  /** A value that the handler stored for later attempts and turns; the newest value of a key counts. */
  | { readonly checkpoint: { readonly key: string; readonly value: JsonValue } }

/** The content of an event: a public stream element, or a private event of the engine. */
export type EventBody = StreamResponse | PrivateEvent

/** An event with its position in the log. `task` bodies are stored without history: the log holds the messages. */
export interface TaskEvent {
  readonly seq: number
  /** When it was committed, in milliseconds since 1970. */
  readonly time: number
  readonly body: EventBody
  /** See `EventJson`. */
  json?: string
}

export function isPublic(body: EventBody): body is StreamResponse {
  return 'statusUpdate' in body || 'artifactUpdate' in body || 'task' in body || 'message' in body
}
