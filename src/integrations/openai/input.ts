/** Reads the messages and content parts of both APIs as parts of one A2A message. */
import type { AgentCard } from '../../model/agent-card.js'
import { isJson } from '../../model/copy-json.js'
import { clip } from '../../model/errors.js'
import { isStruct } from '../../model/json-schema.js'
import type { JsonValue, Part, RawPart, Struct } from '../../model/part.js'
import { inputSchemaOf } from '../../model/skill-schemas.js'
import { base64Part, linkedPart } from '../file-source.js'
import { parseJson } from '../json.js'
import { invalidParam, unsupportedParam } from './errors.js'

type EntryRole = 'system' | 'user' | 'assistant' | 'tool'

/** A message of the conversation that the client sends. */
export interface Entry {
  readonly role: EntryRole
  readonly parts: readonly Part[]
}

/** The content of the message for the agent. */
export interface Input {
  readonly parts: readonly Part[]
  /** The texts of system and developer messages. */
  readonly instructions?: string
}

const roles: Readonly<Record<string, EntryRole>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
}

const labels: Readonly<Record<EntryRole, string>> = {
  system: 'System',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool',
}

/** Characters of a transcript, files included. Older messages are left out; the newest one never is. */
const maxTranscriptCharacters = 1_000_000

/** Reads a list of messages: `messages`, or `input` of a response. */
export function readEntries(list: JsonValue | undefined, param: string): readonly Entry[] {
  if (!Array.isArray(list) || list.length === 0) throw invalidParam(param, 'must be a list with at least one message')
  return list.flatMap((item: JsonValue, place) => readEntry(item, `${param}[${place}]`))
}

function readEntry(item: JsonValue, param: string): readonly Entry[] {
  if (!isStruct(item)) throw invalidParam(param, 'must be an object')
  const type = item.type ?? 'message'
  // The reasoning of other models is not for agents.
  if (type === 'reasoning') return []
  if (type === 'item_reference')
    throw unsupportedParam(
      `${param}.type`,
      'send the message itself, or name the last response in previous_response_id',
    )
  if (type !== 'message') throw unsupportedParam(`${param}.type`, 'only messages can be sent to an agent')
  const role = typeof item.role === 'string' && Object.hasOwn(roles, item.role) ? roles[item.role] : undefined
  if (!role) throw invalidParam(`${param}.role`, `must be one of ${Object.keys(roles).join(', ')}`)
  const parts = readContent(item.content, `${param}.content`, role)
  return parts.length === 0 ? [] : [{ role, parts }]
}

function readContent(content: JsonValue | undefined, param: string, role: EntryRole): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }]
  // Assistant messages with nothing but tool calls have no content.
  if ((content === undefined || content === null) && role === 'assistant') return []
  if (!Array.isArray(content)) throw invalidParam(param, 'must be a string or a list of content parts')
  return content.map((part: JsonValue, place) => readPart(part, `${param}[${place}]`))
}

function readPart(part: JsonValue, param: string): Part {
  if (!isStruct(part)) throw invalidParam(param, 'must be an object')
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { text: stringIn(part, 'text', param) }
    case 'refusal':
      return { text: stringIn(part, 'refusal', param) }
    case 'image_url':
      return imagePart(isStruct(part.image_url) ? part.image_url.url : part.image_url, `${param}.image_url.url`)
    case 'input_image':
      refuseFileId(part, param)
      return imagePart(part.image_url, `${param}.image_url`)
    case 'input_audio':
      return audioPart(structIn(part, 'input_audio', param), `${param}.input_audio`)
    case 'file':
      return filePart(structIn(part, 'file', param), `${param}.file`)
    case 'input_file':
      return filePart(part, param)
    default:
      throw unsupportedParam(`${param}.type`, 'agents take text, images, audio and files')
  }
}

function imagePart(url: JsonValue | undefined, param: string): Part {
  if (typeof url !== 'string') throw invalidParam(param, 'must be a URL')
  return linkedPart(url, refuser(param))
}

function audioPart(audio: Struct, param: string): RawPart {
  const format = stringIn(audio, 'format', param)
  if (!/^[a-z0-9]{1,16}$/.test(format))
    throw invalidParam(`${param}.format`, 'must be the name of a format, such as wav')
  const mediaType = format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
  return { ...base64Part(stringIn(audio, 'data', param), refuser(`${param}.data`)), mediaType }
}

function filePart(file: Struct, param: string): Part {
  refuseFileId(file, param)
  const { file_data: content, file_url: url, filename } = file
  const named = typeof filename === 'string' && filename !== '' ? { filename: clip(filename) } : {}
  if (typeof url === 'string') return { ...linkedPart(url, refuser(`${param}.file_url`)), ...named }
  if (typeof content !== 'string') throw invalidParam(`${param}.file_data`, 'must be a data URL or base64')
  const read = content.startsWith('data:') ? linkedPart : base64Part
  return { ...read(content, refuser(`${param}.file_data`)), ...named }
}

function refuser(param: string) {
  return (problem: string) => invalidParam(param, problem)
}

function refuseFileId({ file_id: id }: Struct, param: string): void {
  if (id !== undefined && id !== null)
    throw unsupportedParam(`${param}.file_id`, 'there are no uploads, send the content or a URL')
}

function stringIn(struct: Struct, name: string, param: string): string {
  const value = struct[name]
  if (typeof value !== 'string') throw invalidParam(`${param}.${name}`, 'must be a string')
  return value
}

function structIn(struct: Struct, name: string, param: string): Struct {
  const value = struct[name]
  if (!isStruct(value)) throw invalidParam(`${param}.${name}`, 'must be an object')
  return value
}

/**
 * The message for the agent. In a conversation that the server knows (`isContinued`), it is the text since the last answer.
 * Otherwise it is the only user message, or a transcript in which roles are marked.
 */
export function inputOf(entries: readonly Entry[], param: string, isContinued: boolean): Input {
  const spoken = entries.filter(({ role }) => role !== 'system')
  const answered = spoken.findLastIndex(({ role }) => role === 'assistant')
  const newest = spoken.slice(answered + 1)
  if (newest.length === 0) throw invalidParam(param, 'must end with a message that the agent can answer')
  const isTranscript = !isContinued && (answered >= 0 || newest.some(({ role }) => role !== 'user'))
  const parts = isTranscript ? transcriptOf(spoken) : joined(newest.map((entry) => entry.parts))
  const instructions = textsOf(entries.filter(({ role }) => role === 'system'))
  return { parts, ...(instructions !== '' && { instructions }) }
}

/** Longer text is not parsed as JSON. */
const maxJsonCharacters = 1_000_000

/** Adds JSON text as data for agents whose skills take data, because the API has no other form for it. */
export function withData(parts: readonly Part[], card: AgentCard): readonly Part[] {
  const [only, ...others] = parts
  if (!only || !('text' in only) || others.length > 0 || only.text.length > maxJsonCharacters) return parts
  if (!card.skills.some(({ id }) => inputSchemaOf(card, id))) return parts
  const value = parseJson(only.text, undefined)
  return isStruct(value) && isJson(value, 0) ? [only, { data: value }] : parts
}

function transcriptOf(entries: readonly Entry[]): readonly Part[] {
  let room = maxTranscriptCharacters
  let from = entries.length
  while (from > 0) {
    room -= sizeOf(entries[from - 1])
    if (room < 0 && from < entries.length) break
    from -= 1
  }
  const kept = entries.slice(from).map(({ role, parts }) => joined([[{ text: `${labels[role]}:` }, ...parts]], ' '))
  return joined(from > 0 ? [[{ text: '[Earlier messages are left out]' }], ...kept] : kept)
}

function sizeOf(entry: Entry | undefined): number {
  let size = 0
  for (const part of entry?.parts ?? [])
    size += 'text' in part ? part.text.length : 'raw' in part ? part.raw.length : 'url' in part ? part.url.length : 0
  return size
}

/** Joins texts that follow each other, so that many messages make few parts. */
function joined(groups: readonly (readonly Part[])[], within = '\n'): readonly Part[] {
  const parts: Part[] = []
  let texts: string[] = []
  const flush = () => {
    if (texts.length > 0) parts.push({ text: texts.join('') })
    texts = []
  }
  for (const group of groups)
    for (const [place, part] of group.entries()) {
      if ('text' in part) texts.push(texts.length === 0 ? '' : place === 0 ? '\n\n' : within, part.text)
      else {
        flush()
        parts.push(part)
      }
    }
  flush()
  return parts
}

function textsOf(entries: readonly Entry[]): string {
  return entries.flatMap(({ parts }) => parts.flatMap((part) => ('text' in part ? [part.text] : []))).join('\n\n')
}
