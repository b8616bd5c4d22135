/** Collects the events of a turn and encodes them as the result of a tool. */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'
import type { TurnEvent } from '../../client/read-turn.js'
import { A2AError } from '../../model/errors.js'
import { isStruct } from '../../model/json-schema.js'
import type { JsonValue, Part, RawPart, UrlPart } from '../../model/part.js'
import { sizeOf } from '../../model/size-of.js'
import type { Task } from '../../model/task.js'
import { endText } from '../agent-tools.js'
import { describeSchema } from './form.js'
import { replyTool, taskTool } from './tools.js'

type Of<Kind extends TurnEvent['kind']> = Extract<TurnEvent, { kind: Kind }>

/** Messages over stdio have 10 MB at most: a longer line ends the connection. */
const maxSize = 8_000_000

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'data'; readonly value: JsonValue }
  | { readonly kind: 'file'; readonly part: RawPart | UrlPart; readonly id: string }

function sizeOfPiece(piece: Piece): number {
  if (piece.kind === 'text') return piece.text.length
  // Data is sent twice: as text and as structured content.
  if (piece.kind === 'data') return 2 * sizeOf(piece.value, maxSize)
  return 'raw' in piece.part ? piece.part.raw.length : piece.part.url.length
}

/** The output of a turn so far, or of a whole task. */
export class TurnOutput {
  /** In the order of their first event. */
  readonly #pieces = new Map<string, Piece>()
  #size = 0
  #files = 0

  /** The output of all turns of a task. */
  static of({ artifacts = [], status }: Task): TurnOutput {
    const output = new TurnOutput()
    for (const { artifactId, parts } of artifacts) output.#addParts(artifactId, parts)
    // The message of any other state is not output: it is a question, or the reason of a failure.
    if (status.state === 'TASK_STATE_COMPLETED' && status.message)
      output.#addParts(status.message.messageId, status.message.parts)
    return output
  }

  /** Adds an event; ignores events without output. Throws PAYLOAD_TOO_LARGE if the result cannot be sent. */
  add(event: TurnEvent): void {
    switch (event.kind) {
      case 'text': {
        const key = `text:${event.id}`
        const before = this.#pieces.get(key)
        this.#set(key, { kind: 'text', text: before?.kind === 'text' ? before.text + event.text : event.text })
        break
      }
      case 'data':
        this.#set(`data:${event.id}:${event.index}`, { kind: 'data', value: event.value })
        break
      case 'file':
        this.#set(`file:${this.#files++}`, { kind: 'file', part: event.part, id: event.id })
        break
      case 'question':
        // Files and data of a question are shown before its text.
        this.#addParts(
          'question',
          event.parts.filter((part) => !('text' in part)),
        )
        break
      case 'reset':
        this.#pieces.clear()
        this.#size = 0
        break
      default:
    }
  }

  #addParts(id: string, parts: readonly Part[]): void {
    for (const [index, part] of parts.entries()) {
      if ('text' in part) this.add({ kind: 'text', id, text: part.text })
      else if ('data' in part) this.add({ kind: 'data', id, index, value: part.data })
      else this.add({ kind: 'file', id, part })
    }
  }

  #set(key: string, piece: Piece): void {
    const before = this.#pieces.get(key)
    this.#size += sizeOfPiece(piece) - (before ? sizeOfPiece(before) : 0)
    if (this.#size > maxSize)
      throw new A2AError('PAYLOAD_TOO_LARGE', `The output of the agent exceeds ${maxSize / 1_000_000} MB`)
    this.#pieces.set(key, piece)
  }

  /** The text so far. */
  get text(): string {
    return [...this.#pieces.values()].flatMap((piece) => (piece.kind === 'text' ? [piece.text] : [])).join('\n\n')
  }

  /** The content, with data also as text: older clients ignore `structuredContent`. */
  content(): ContentBlock[] {
    return [...this.#pieces.values()].flatMap((piece): ContentBlock[] => {
      if (piece.kind === 'file') return [fileContent(piece.part, piece.id)]
      const text = piece.kind === 'text' ? piece.text : JSON.stringify(piece.value)
      return text === '' ? [] : [{ type: 'text', text }]
    })
  }

  /** The data parts as one object; undefined if there are none. */
  structured(): { readonly [name: string]: JsonValue } | undefined {
    const values = [...this.#pieces.values()].flatMap((piece) => (piece.kind === 'data' ? [piece.value] : []))
    const [only] = values
    if (only === undefined) return undefined
    if (values.length > 1) return { results: values }
    return isStruct(only) ? only : { result: only }
  }
}

function fileContent(part: RawPart | UrlPart, id: string): ContentBlock {
  const { filename, mediaType = 'application/octet-stream' } = part
  if ('url' in part)
    return {
      type: 'resource_link',
      uri: part.url,
      name: filename ?? 'file',
      ...(part.mediaType && { mimeType: mediaType }),
    }
  if (mediaType.startsWith('image/')) return { type: 'image', data: part.raw, mimeType: mediaType }
  if (mediaType.startsWith('audio/')) return { type: 'audio', data: part.raw, mimeType: mediaType }
  const uri = `a2a://artifacts/${encodeURIComponent(id)}/${encodeURIComponent(filename ?? 'file')}`
  return { type: 'resource', resource: { uri, blob: part.raw, mimeType: mediaType } }
}

/** The task of a result, as the model names it in later calls. */
export interface TaskRef {
  /** The key of the agent and the id of the task: `Tailor/0193…`. Absent if the agent answered without a task. */
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
}

/** The result of a turn that has ended. `canContinue`: a tool takes the id of the conversation. */
export function endResult(end: Of<'end'>, output: TurnOutput, ref: TaskRef, canContinue: boolean): CallToolResult {
  const { state } = end
  const isError = state !== 'TASK_STATE_COMPLETED'
  const content = output.content()
  if (isError) content.push({ type: 'text', text: endText(end) })
  if (canContinue)
    content.push(...hint(ref, 'contextId', (id) => `To continue this conversation, pass context_id ${id}`))
  const structured = output.structured()
  return {
    content,
    ...(structured && { structuredContent: structured }),
    ...(isError && { isError }),
    ...metaOf(ref, state),
  }
}

/** A question as text, for clients that cannot ask their user. */
export function questionResult({ text, schema }: Of<'question'>, output: TurnOutput, ref: TaskRef): CallToolResult {
  const shown = schema ? describeSchema(schema) : ''
  return {
    content: [
      ...output.content(),
      { type: 'text', text: [`The agent asks: ${text}`, shown].filter(Boolean).join('\n\n') },
      ...hint(ref, 'taskId', (id) => `To answer, call ${replyTool} with task_id ${id}`),
    ],
    ...metaOf(ref, 'TASK_STATE_INPUT_REQUIRED'),
  }
}

/** A request for a credential as text. */
export function authResult({ text }: Pick<Of<'auth'>, 'text'>, output: TurnOutput, ref: TaskRef): CallToolResult {
  return {
    content: [
      ...output.content(),
      { type: 'text', text: `The agent needs the user to sign in: ${text || 'it did not say where'}` },
      ...hint(ref, 'taskId', (id) => `When the user has signed in, call ${taskTool} with task_id ${id}`),
    ],
    ...metaOf(ref, 'TASK_STATE_AUTH_REQUIRED'),
  }
}

/** The answer about a task that runs longer than the client waits. */
export function runningResult(output: TurnOutput, ref: TaskRef): CallToolResult {
  return {
    content: [
      ...output.content(),
      { type: 'text', text: 'The task is still running' },
      ...hint(ref, 'taskId', (id) => `To wait for its result, call ${taskTool} with task_id ${id}`),
    ],
    ...metaOf(ref, 'TASK_STATE_WORKING'),
  }
}

export function errorResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** A text for the model that names an id; none without the id. */
function hint(ref: TaskRef, name: keyof TaskRef, say: (id: string) => string): ContentBlock[] {
  const id = ref[name]
  return id === undefined
    ? []
    : [{ type: 'text', text: say(JSON.stringify(id)), annotations: { audience: ['assistant'] } }]
}

/** The ids and the state, for programs. */
function metaOf({ taskId, contextId }: TaskRef, state: string): Pick<CallToolResult, '_meta'> {
  return {
    _meta: {
      'dragoman/state': state,
      ...(taskId !== undefined && { 'dragoman/taskId': taskId }),
      ...(contextId !== undefined && { 'dragoman/contextId': contextId }),
    },
  }
}
