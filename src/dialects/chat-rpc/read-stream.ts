/** Streams of this dialect, read (RM-STR-2). */
import type { StreamResponse } from '../../model/event.js'
import type { Message } from '../../model/message.js'
import type { Part, Struct } from '../../model/part.js'
import type { TaskState } from '../../model/task.js'
import { array, boolean, decodeOrThrow, isObject, object, optional, required, string, struct } from '../decode.js'
import type { CallFacts } from '../dialect.js'
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
  readonly messageId: string
  readonly parts: readonly Part[]
}

interface Happened {
  readonly state?: TaskState
  readonly messageDelta?: Delta
  readonly append?: boolean
  readonly lastChunk?: boolean
}

const result = object<{ readonly task: Short; readonly events?: readonly Struct[] }>({
  task: required(object<Short>({ id: required(string), state: optional(taskState), contextId: optional(string) })),
  events: optional(array(struct)),
})

const happened = object<Happened>({
  state: optional(taskState),
  messageDelta: optional(object<Delta>({ messageId: required(string), parts: required(array(part.json)) })),
  append: optional(boolean),
  lastChunk: optional(boolean),
})

/** One `result` as events: deltas are chunks of an artifact that is called like their message. */
export function decodeStreamResult(wire: unknown, facts: Pick<CallFacts, 'newId'>): readonly StreamResponse[] {
  const { task, events = [] } = decodeOrThrow(result, wire)
  return events.map((event) => decodeEvent(event, task, facts))
}

function decodeEvent(
  wire: Struct,
  { id: taskId, contextId = '', state: stateOfTask }: Short,
  facts: Pick<CallFacts, 'newId'>,
): StreamResponse {
  const { state = stateOfTask, messageDelta, append, lastChunk } = decodeOrThrow(happened, wire)
  const about = { taskId, contextId }
  const chunk = { ...(append !== undefined && { append }), ...(lastChunk !== undefined && { lastChunk }) }
  if (wire.artifact !== undefined)
    return { artifactUpdate: { ...about, artifact: decodeArtifact(wire.artifact, jsonSpelling), ...chunk } }
  if (messageDelta) {
    const { messageId: artifactId, parts } = messageDelta
    return { artifactUpdate: { ...about, artifact: { artifactId, parts }, append: true } }
  }
  const message: Message | undefined = isObject(wire.message) ? decodeMessage(wire.message, facts) : undefined
  // There was no task: see the encoder.
  if (message && message.messageId === taskId) return { message }
  return { statusUpdate: { ...about, status: { state: state ?? 'TASK_STATE_WORKING', ...(message && { message }) } } }
}
