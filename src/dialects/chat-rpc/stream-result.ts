/** The envelope of this dialect's streams, read: each `result` is a list of events of one task. */
import type { StreamResponse } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import type { Part, Struct } from '../../model/part.js'
import type { TaskState } from '../../model/task.js'
import { array, boolean, decodeOrThrow, object, optional, required, string, struct } from '../decode.js'
import { part } from '../v0_3/parts.js'
import { jsonSpelling, taskState } from '../v0_3/spelling.js'
import { decodeArtifact } from '../v0_3/tasks.js'
import { decodeMessage } from './messages.js'

interface Short {
  readonly id: string
  readonly state?: TaskState
  readonly contextId?: string
}

interface Delta {
  readonly messageId?: string
  readonly parts: readonly Part[]
}

interface WireEvent {
  readonly state?: TaskState
  readonly messageDelta?: Delta
  readonly append?: boolean
  readonly lastChunk?: boolean
}

const result = object<{ readonly task: Short; readonly events?: readonly Struct[] }>({
  task: required(object<Short>({ id: required(string), state: optional(taskState), contextId: optional(string) })),
  events: optional(array(struct)),
})

const wireEvent = object<WireEvent>({
  state: optional(taskState),
  messageDelta: optional(object<Delta>({ messageId: optional(string), parts: required(array(part.json)) })),
  append: optional(boolean),
  lastChunk: optional(boolean),
})

/** Whether this is the envelope of chat-rpc and not an event of 0.3, whose servers have the same card and methods. */
export function isStreamResult(wire: unknown): boolean {
  return isObject(wire) && Array.isArray(wire.events) && isObject(wire.task) && wire.task.status === undefined
}

/** What happened, and whether it is a piece of the answer. */
export interface Happened {
  readonly event: StreamResponse
  readonly isDelta: boolean
}

interface Known {
  newId(): string
  /** Where the envelope does not tell. */
  readonly contextId?: string
}

/** One `result` as events: deltas are chunks of an artifact that is called like their message. */
export function decodeStreamResult(wire: unknown, known: Known): readonly StreamResponse[] {
  return readStreamResult(wire, known).map(({ event }) => event)
}

export function readStreamResult(wire: unknown, known: Known): readonly Happened[] {
  const { task, events = [] } = decodeOrThrow(result, wire)
  return events.map((event) => readEvent(event, task, known))
}

/** A delta without text only names the task. */
function isEmptyText(part: Part): boolean {
  return 'text' in part && part.text === ''
}

function readEvent(wire: Struct, task: Short, known: Known): Happened {
  const { state = task.state, messageDelta, append, lastChunk } = decodeOrThrow(wireEvent, wire)
  const about = { taskId: task.id, contextId: task.contextId ?? known.contextId ?? task.id }
  if (wire.artifact !== undefined) {
    const chunk = { ...(append !== undefined && { append }), ...(lastChunk !== undefined && { lastChunk }) }
    const artifact = decodeArtifact(wire.artifact, jsonSpelling)
    return { event: { artifactUpdate: { ...about, artifact, ...chunk } }, isDelta: false }
  }
  if (messageDelta && !messageDelta.parts.every(isEmptyText)) {
    const { messageId: artifactId = 'answer', parts } = messageDelta
    return { event: { artifactUpdate: { ...about, artifact: { artifactId, parts }, append: true } }, isDelta: true }
  }
  const message: Message | undefined = isObject(wire.message) ? decodeMessage(wire.message, known) : undefined
  // There was no task: see the encoder.
  if (message && message.messageId === task.id) return { event: { message }, isDelta: false }
  const status = { state: state ?? 'TASK_STATE_WORKING', ...(message && { message }) }
  return { event: { statusUpdate: { ...about, status } }, isDelta: false }
}
