/** Requests: one `input`, a conversation id, and further members of the caller (RL-L1-1, RL-L1-2). */
import { A2AError, clip, invalidField } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import { type JsonValue, type Part, type Struct, textOf } from '../../model/part.js'
import type { SendMessageRequest } from '../../model/service.js'
import { type Decoder, decodeOrThrow, json, object, optional, required, string, struct } from '../decode.js'
import type { CallFacts } from '../dialect.js'

/** A string becomes a text part; every other JSON value becomes a data part. */
const input: Decoder<Part> = Object.assign(readInput, {
  isUnset: (value: unknown) =>
    value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0),
})

function readInput(...[value, faults]: Parameters<Decoder<Part>>): Part | undefined {
  if (typeof value === 'string') return { text: value }
  const data = json(value, faults)
  return data === undefined ? undefined : { data }
}

interface Body {
  readonly input: Part
  readonly chat_id?: string
  readonly task_id?: string
}

const ownMembers = object<Body>({ input: required(input), chat_id: optional(string), task_id: optional(string) })
const ownNames: ReadonlySet<string> = new Set(['input', 'chat_id', 'task_id'])

const body: Decoder<Body & { readonly metadata: Struct }> = (value, faults) => {
  const own = ownMembers(value, faults)
  if (!isObject(value)) return undefined // `ownMembers` has reported it
  const { input: _input, chat_id: _chatId, task_id: _taskId, ...others } = value
  const metadata = struct(others, faults)
  return own && metadata && { ...own, metadata }
}

export function decodeSendParams(params: unknown, facts: CallFacts): SendMessageRequest {
  assertVersion(facts.header('X-A2A-Version'))
  const { input: part, chat_id: contextId, task_id: taskId, metadata: others } = decodeOrThrow(body, params)
  // Labels only: authentication identifies the caller (RL-L1-2, RL-L1-7).
  const agentName = facts.header('X-Agent-Name')
  const metadata = agentName ? { ...others, agentName } : others
  return {
    message: {
      messageId: facts.newId(),
      ...(contextId !== undefined && { contextId }),
      ...(taskId !== undefined && { taskId }),
      role: 'ROLE_USER',
      parts: [part],
    },
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** The header states the version of invoke; it is unrelated to `A2A-Version` (RL-L1-8). */
function assertVersion(version: string | null): void {
  if (!version?.trim() || version.trim() === '1.0') return
  throw invalidField('X-A2A-Version', `is ${clip(version)}, only 1.0 is served here`)
}

/** Values that invoke cannot express are refused: without them, the agent would answer a different question. */
export function encodeSendParams({ message, metadata = {} }: SendMessageRequest): object {
  const { parts } = message
  const value = jsonOf(parts)
  if (parts.some((part) => 'raw' in part || 'url' in part))
    throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', 'The dialect invoke cannot send files, only text or JSON')
  if (typeof value === 'string' && value === textOf(parts) && parts.some((part) => 'data' in part))
    throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', 'The dialect invoke cannot send text and JSON in one message')
  if (value === undefined) throw invalidField('message.parts', 'must contain text or data')
  return {
    ...Object.fromEntries(Object.entries(metadata).filter(([name]) => !ownNames.has(name))),
    input: value,
    ...(message.contextId !== undefined && { chat_id: message.contextId }),
    ...(message.taskId !== undefined && { task_id: message.taskId }),
  }
}

/** Content as one JSON value: its text, or its data if it has no text (RL-L1-3). Absent if it has neither. */
export function jsonOf(parts: readonly Part[]): JsonValue | undefined {
  const text = textOf(parts)
  if (text !== '') return text
  const values: JsonValue[] = []
  for (const part of parts) if ('data' in part) values.push(part.data)
  return values.length > 1 ? values : values[0]
}

/** A JSON value as a part. */
export function partOf(value: JsonValue): Part {
  return typeof value === 'string' ? { text: value } : { data: value }
}
