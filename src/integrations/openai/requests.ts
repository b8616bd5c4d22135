/** Reads the bodies of chat completions and responses. Parameters that steer a model, such as `temperature`, have no effect. */
import { isStruct } from '../../model/json-schema.js'
import type { JsonValue, Struct } from '../../model/part.js'
import { invalidParam, unsupportedParam } from './errors.js'
import { type Entry, readEntries } from './input.js'

interface CommonRequest {
  readonly entries: readonly Entry[]
  readonly metadata: { readonly [name: string]: string }
  readonly stream: boolean
}

/** The body of `POST /v1/chat/completions`. */
export interface ChatRequest extends CommonRequest {
  readonly model: string
  readonly includesUsage: boolean
}

/** The body of `POST /v1/responses`. */
export interface ResponseRequest extends CommonRequest {
  /** Default: the agent of the previous response. */
  readonly model?: string
  readonly instructions?: string
  readonly background: boolean
  readonly previousResponseId?: string
  readonly conversation?: string
}

const maxMetadata = { entries: 16, nameCharacters: 64, valueCharacters: 512 }
const maxConversationCharacters = 255

/** Reads the body of a chat completion. Throws with the name of the parameter that is invalid or not supported. */
export function readChatRequest(json: JsonValue): ChatRequest {
  const body = bodyOf(json)
  refuseTools(body)
  refuseIf(isSet(body.functions), 'functions', 'agents use their own tools')
  refuseIf(isSet(body.n) && body.n !== 1, 'n', 'an agent gives one answer')
  refuseFormat(body.response_format, 'response_format')
  refuseIf(isSet(body.audio), 'audio', 'the answer is text')
  refuseIf(
    Array.isArray(body.modalities) && body.modalities.some((each) => each !== 'text'),
    'modalities',
    'the answer is text',
  )
  const model = stringOf(body, 'model')
  if (model === undefined) throw missing('model')
  if (!isSet(body.messages)) throw missing('messages')
  const options = isStruct(body.stream_options) ? body.stream_options : {}
  return {
    model,
    entries: readEntries(body.messages, 'messages'),
    metadata: metadataOf(body),
    stream: booleanOf(body, 'stream'),
    includesUsage: options.include_usage === true,
  }
}

/** Reads the body of a response. Throws with the name of the parameter that is invalid or not supported. */
export function readResponseRequest(json: JsonValue): ResponseRequest {
  const body = bodyOf(json)
  refuseTools(body)
  refuseIf(isSet(body.prompt), 'prompt', 'there are no stored prompts')
  if (isStruct(body.text)) refuseFormat(body.text.format, 'text.format')
  const { input } = body
  if (!isSet(input) || input === '') throw missing('input')
  const model = stringOf(body, 'model')
  const instructions = stringOf(body, 'instructions')
  const previousResponseId = stringOf(body, 'previous_response_id')
  const conversation = conversationOf(body.conversation)
  if (previousResponseId !== undefined && conversation !== undefined)
    throw invalidParam('previous_response_id', 'cannot be used together with conversation')
  return {
    entries: typeof input === 'string' ? [{ role: 'user', parts: [{ text: input }] }] : readEntries(input, 'input'),
    metadata: metadataOf(body),
    stream: booleanOf(body, 'stream'),
    background: booleanOf(body, 'background'),
    ...(model !== undefined && { model }),
    ...(instructions !== undefined && { instructions }),
    ...(previousResponseId !== undefined && { previousResponseId }),
    ...(conversation !== undefined && { conversation }),
  }
}

/** The id of a conversation: that of the A2A context. */
export function conversationId(text: string, param: string): string {
  if (text === '' || text.length > maxConversationCharacters || /\p{Cc}/u.test(text))
    throw invalidParam(param, `must have from 1 to ${maxConversationCharacters} printable characters`)
  return text
}

function conversationOf(value: JsonValue | undefined): string | undefined {
  if (!isSet(value)) return undefined
  const id = isStruct(value) ? value.id : value
  if (typeof id !== 'string') throw invalidParam('conversation', 'must be an id, or an object with an id')
  return conversationId(id, 'conversation')
}

function bodyOf(json: JsonValue): Struct {
  if (!isStruct(json)) throw invalidParam('body', 'must be a JSON object')
  return json
}

/** Ignoring tools would mislead: the client waits for calls that never come. */
function refuseTools({ tools, tool_choice: choice }: Struct): void {
  refuseIf(Array.isArray(tools) && tools.length > 0 && choice !== 'none', 'tools', 'agents use their own tools')
}

function refuseFormat(format: JsonValue | undefined, param: string): void {
  refuseIf(isStruct(format) && format.type !== 'text', param, 'the agent decides the format of its answer')
}

function refuseIf(isRefused: boolean, param: string, advice: string): void {
  if (isRefused) throw unsupportedParam(param, advice)
}

function missing(param: string) {
  return invalidParam(param, 'is required', 'missing_required_parameter')
}

function isSet(value: JsonValue | undefined): value is Exclude<JsonValue, null> {
  return value !== undefined && value !== null
}

function stringOf(body: Struct, name: string): string | undefined {
  const value = body[name]
  if (!isSet(value)) return undefined
  if (typeof value !== 'string') throw invalidParam(name, 'must be a string')
  return value
}

function booleanOf(body: Struct, name: string): boolean {
  const value = body[name]
  if (isSet(value) && typeof value !== 'boolean') throw invalidParam(name, 'must be true or false')
  return value === true
}

function metadataOf({ metadata }: Struct): { readonly [name: string]: string } {
  if (!isSet(metadata)) return {}
  if (!isStruct(metadata)) throw invalidParam('metadata', 'must be an object')
  const entries = Object.entries(metadata)
  if (entries.length > maxMetadata.entries)
    throw invalidParam('metadata', `must not have more than ${maxMetadata.entries} members`)
  const texts = entries.map(([name, value]): [string, string] => {
    const isShort = name.length <= maxMetadata.nameCharacters
    if (typeof value !== 'string' || value.length > maxMetadata.valueCharacters || !isShort)
      throw invalidParam(
        'metadata',
        `must have names up to ${maxMetadata.nameCharacters} and strings up to ${maxMetadata.valueCharacters} characters`,
      )
    return [name, value]
  })
  return Object.fromEntries(texts)
}
