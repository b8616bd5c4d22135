/** Decodes the body of a run: `RunAgentInput` of AG-UI, of which the last user message and the answers are used. */
import { invalidField } from '../../model/errors.js'
import { isStruct } from '../../model/json-schema.js'
import type { JsonValue, Part, Struct } from '../../model/part.js'
import { base64Part, linkedPart } from '../file-source.js'

/** An answer to an interrupt. */
export interface ResumeEntry {
  readonly interruptId: string
  readonly isCancelled: boolean
  readonly payload: JsonValue | undefined
}

/** A request to run an agent. */
export interface RunInput {
  readonly threadId: string
  readonly runId: string
  /** Absent before AG-UI 1.0. */
  readonly protocolVersion?: string
  /** All messages that the client has, as it sent them. */
  readonly messages: readonly JsonValue[]
  readonly state: JsonValue | undefined
  /** Members for the agent: `tools`, `context` and `forwardedProps`, unless they are empty. */
  readonly extras: Struct
  readonly resume: readonly ResumeEntry[]
}

const maxId = 255
const maxResume = 100

/** Reads the body of a run. Throws INVALID_PARAMS with the path of the member that is invalid. */
export function readRunInput(body: JsonValue): RunInput {
  if (!isStruct(body)) throw invalidField('body', 'must be an object: RunAgentInput of AG-UI')
  const { protocolVersion, messages = [], resume = [], state } = body
  if (!Array.isArray(messages)) throw invalidField('messages', 'must be a list')
  if (!Array.isArray(resume) || resume.length > maxResume)
    throw invalidField('resume', `must be a list of at most ${maxResume} entries`)
  const extras = Object.entries({ tools: body.tools, context: body.context, forwardedProps: body.forwardedProps })
  return {
    threadId: idIn(body, 'threadId'),
    runId: idIn(body, 'runId'),
    ...(typeof protocolVersion === 'string' && { protocolVersion }),
    messages,
    state: isEmpty(state) ? undefined : state,
    extras: Object.fromEntries(extras.filter(([, value]) => !isEmpty(value))) as Struct, // undefined is empty
    resume: resume.map(readEntry),
  }
}

function readEntry(entry: JsonValue, place: number): ResumeEntry {
  const field = `resume[${place}]`
  if (!isStruct(entry) || typeof entry.interruptId !== 'string')
    throw invalidField(`${field}.interruptId`, 'must be the id of an interrupt')
  const { interruptId, status, payload } = entry
  if (status !== 'resolved' && status !== 'cancelled')
    throw invalidField(`${field}.status`, 'must be resolved or cancelled')
  return { interruptId, isCancelled: status === 'cancelled', payload: payload ?? undefined }
}

function idIn(body: Struct, name: string): string {
  const value = body[name]
  if (typeof value !== 'string' || value === '' || value.length > maxId)
    throw invalidField(name, `must be a string of 1 to ${maxId} characters`)
  return value
}

function isEmpty(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

/** The id and the parts of the message that starts a run: the last one, which must be from the user. */
export function lastUserMessage({ messages }: RunInput): {
  readonly messageId: string
  readonly parts: readonly Part[]
} {
  const field = `messages[${messages.length - 1}]`
  const last = messages.at(-1)
  if (!isStruct(last)) throw invalidField('messages', 'must end with a message of the user')
  if (last.role === 'tool') throw invalidField(field, 'is the result of a tool of the client, which is not supported')
  if (last.role !== 'user') throw invalidField(`${field}.role`, 'must be user: the run answers the last message')
  const { content } = last
  const parts =
    typeof content === 'string'
      ? [{ text: content }]
      : Array.isArray(content)
        ? content.flatMap((part, place) => readPart(part, `${field}.content[${place}]`))
        : []
  if (parts.length === 0) throw invalidField(`${field}.content`, 'must be text or parts that the agent can read')
  return { messageId: idIn(last, 'id'), parts }
}

/** Parts that only a model provider can read are left out. */
function readPart(part: JsonValue, field: string): readonly Part[] {
  if (!isStruct(part)) throw invalidField(field, 'must be an object')
  if (part.type === 'text') {
    if (typeof part.text !== 'string') throw invalidField(`${field}.text`, 'must be a string')
    return [{ text: part.text }]
  }
  if (part.type === 'binary') {
    const { data, url, mimeType, filename } = part
    return readSource(data === undefined ? { type: 'url', value: url } : { type: 'data', value: data }, field, {
      mimeType,
      filename,
    })
  }
  if (!isStruct(part.source)) throw invalidField(`${field}.source`, 'must be an object')
  const { metadata } = part
  const filename = isStruct(metadata) ? metadata.filename : undefined
  return readSource(part.source, `${field}.source`, { mimeType: part.source.mimeType, filename })
}

function readSource(
  { type, value }: { readonly type?: JsonValue; readonly value?: JsonValue | undefined },
  field: string,
  { mimeType, filename }: { readonly mimeType: JsonValue | undefined; readonly filename: JsonValue | undefined },
): readonly Part[] {
  const more = {
    ...(typeof mimeType === 'string' && { mediaType: mimeType }),
    ...(typeof filename === 'string' && { filename }),
  }
  if (type !== 'data' && type !== 'url') return []
  if (typeof value !== 'string' || value === '') throw invalidField(`${field}.value`, 'must be a string')
  const read = type === 'url' ? linkedPart : base64Part
  return [{ ...read(value, (problem) => invalidField(`${field}.value`, problem)), ...more }]
}
