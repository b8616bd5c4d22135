/** Yields for the stream of a graph: text of chat models, tool calls, and progress that nodes write. */
import type { Turn } from '../../engine/agent.js'
import { artifact, step, working, type Yield } from '../../engine/yields.js'
import { isObject } from '../../model/is-object.js'
import { data, type JsonValue } from '../../model/part.js'
import { parseJson, toJson } from '../json.js'
import { textIn } from './graph.js'

/** The stream modes that are read. */
export const streamModes = ['messages', 'tools', 'custom', 'values']

/** Reads the elements of one run's stream. */
export class GraphOutput {
  /** The state after the last step. */
  values: unknown
  readonly #turn: Turn
  /** Ids of messages that were yielded, or are older than the turn; undefined until these are known. */
  #known: Set<string> | undefined
  #unnamed = 0

  /** `known` are the ids of messages that are older than the turn; undefined if the graph has no memory. */
  constructor(turn: Turn, known: readonly string[] | undefined) {
    this.#turn = turn
    this.#known = known && new Set(known)
  }

  *read(element: unknown): Generator<Yield, void, void> {
    if (!Array.isArray(element)) return
    const [mode, chunk] = element as readonly unknown[]
    if (mode === 'messages' && Array.isArray(chunk)) yield* this.#message((chunk as readonly unknown[])[0])
    else if (mode === 'tools' && isObject(chunk)) yield* this.#tool(chunk)
    else if (mode === 'custom') yield* progressOf(chunk)
    else if (mode === 'values') yield* this.state(chunk)
  }

  /** Yields messages that only the state has: those that a node returned as plain objects, or an attempt that died. */
  *state(values: unknown): Generator<Yield, void, void> {
    this.values = values
    // Without memory the first state is the input.
    this.#known ??= new Set(messageIds(values))
    for (const message of messagesIn(values)) {
      const id = idOf(message)
      // A message without an id may have been yielded before.
      if (id !== '' && !this.#known.has(id)) yield* this.#message(message)
    }
  }

  /** A whole message, or a piece of one: pieces have the id of their message. */
  *#message(message: unknown): Generator<Yield, void, void> {
    if (!isObject(message) || message.type !== 'ai') return
    const id = idOf(message) || `message-${this.#unnamed++}`
    this.#known?.add(id)
    this.#addUsage(message.usage_metadata)
    for (const text of reasoningIn(message.content)) yield step({ kind: 'reasoning', id, text })
    const text = textIn(message.content)
    if (text !== '') yield artifact('', text, { id, append: true })
  }

  #addUsage(counted: unknown): void {
    if (!isObject(counted)) return
    const details = isObject(counted.input_token_details) ? counted.input_token_details : {}
    this.#turn.usage.add({
      ...tokens('inputTokens', counted.input_tokens),
      ...tokens('outputTokens', counted.output_tokens),
      ...tokens('totalTokens', counted.total_tokens),
      ...tokens('cachedTokens', details.cache_read),
    })
  }

  *#tool(chunk: Record<string, unknown>): Generator<Yield, void, void> {
    const name = typeof chunk.name === 'string' && chunk.name !== '' ? chunk.name : 'tool'
    // Tools that nodes call themselves have no id.
    const id = typeof chunk.toolCallId === 'string' && chunk.toolCallId !== '' ? chunk.toolCallId : name
    if (chunk.event === 'on_tool_start') {
      yield step({ kind: 'tool-call', id, name, ...optional('input', inputOf(chunk.input)) })
    } else if (chunk.event === 'on_tool_end') {
      yield step({ kind: 'tool-result', id, name, ...optional('output', outputOf(chunk.output)) })
    } else if (chunk.event === 'on_tool_error') {
      // The text of an unknown error is not sent to callers.
      yield step({ kind: 'tool-result', id, name, isError: true })
    }
  }
}

function messagesIn(values: unknown): readonly unknown[] {
  return isObject(values) && Array.isArray(values.messages) ? (values.messages as unknown[]) : []
}

/** The ids of the messages in a state, up to the message `last` if it is given and still there. */
export function messageIds(values: unknown, last?: string): readonly string[] {
  const ids = messagesIn(values).map(idOf)
  if (last === undefined) return ids
  const place = ids.lastIndexOf(last)
  return last === '' ? [] : place === -1 ? ids : ids.slice(0, place + 1)
}

function idOf(message: unknown): string {
  return isObject(message) && typeof message.id === 'string' ? message.id : ''
}

function* progressOf(chunk: unknown): Generator<Yield, void, void> {
  if (typeof chunk === 'string') {
    if (chunk !== '') yield working(chunk)
    return
  }
  const value = toJson(chunk)
  if (value !== undefined) yield working(data(value))
}

/** Reasoning, as chat models return it in content blocks. */
function reasoningIn(content: unknown): readonly string[] {
  if (!Array.isArray(content)) return []
  return (content as unknown[]).flatMap((block) => {
    if (!isObject(block)) return []
    const text = block.type === 'reasoning' ? block.reasoning : block.type === 'thinking' ? block.thinking : undefined
    return typeof text === 'string' && text !== '' ? [text] : []
  })
}

function tokens(name: string, count: unknown): object {
  return Number.isSafeInteger(count) && (count as number) > 0 ? { [name]: count } : {}
}

/** Inputs of tools are streamed as the text of their JSON. */
function inputOf(input: unknown): JsonValue | undefined {
  return typeof input === 'string' ? parseJson(input, input) : toJson(input)
}

/** Results of tools are messages, whose content the model reads. */
function outputOf(output: unknown): JsonValue | undefined {
  if (!isObject(output) || output.content === undefined) return toJson(output)
  return textIn(output.content) || toJson(output.content)
}

function optional(name: string, value: JsonValue | undefined): object {
  return value === undefined ? {} : { [name]: value }
}
