/**
 * The members of LangGraph that this integration relies on, so that no type of `@langchain/langgraph` is needed. Compiled
 * graphs and functional entrypoints fit `Graph`.
 */
import { createHash } from 'node:crypto'
import type { TaskScope } from '../../engine/agent.js'
import { isObject } from '../../model/is-object.js'
import type { Part } from '../../model/part.js'

/** A compiled graph of LangGraph. */
export interface Graph {
  /** Absent or `false` in graphs without memory. */
  readonly checkpointer?: unknown
  stream(input: unknown, options?: unknown): Promise<AsyncIterable<unknown>>
  getState(config: GraphConfig): Promise<GraphState>
}

/** The part of LangGraph's configuration that names a thread. */
export interface GraphConfig {
  readonly configurable: { readonly thread_id: string }
}

/** The state of a thread. */
export interface GraphState {
  readonly values: unknown
  /** The nodes that run next. Empty if the run has finished. */
  readonly next: readonly string[]
  readonly tasks: readonly { readonly interrupts?: readonly Interrupt[] }[]
  readonly config?: { readonly configurable?: { readonly checkpoint_id?: string } }
}

/** A question of a node: the value that it passed to `interrupt`. */
export interface Interrupt {
  readonly id?: string
  readonly value?: unknown
  /** The JSON Schema of the answer. */
  readonly response_schema?: unknown
}

/** The questions that are open in a thread. */
export function openInterrupts({ tasks }: GraphState): readonly Interrupt[] {
  return tasks.flatMap(({ interrupts = [] }) => interrupts)
}

/**
 * The id of a conversation's thread. Callers choose contextIds, so it depends on the owner and the tenant too: else one
 * caller could read the messages of another. A hash, because ids of owners may be of any length and should not be stored.
 */
export function threadIdOf({ agent, tenant, owner }: TaskScope, contextId: string): string {
  return digest('thread', agent, tenant, owner, contextId)
}

/** A digest of texts. Lists that differ have different digests. */
export function digest(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 40)
}

/** The content of a message for a chat model: text, or a list of blocks if there is more than text. */
export function contentOf(parts: readonly Part[]): string | readonly object[] {
  const texts = parts.flatMap((part) => ('text' in part ? [part.text] : []))
  if (texts.length === parts.length) return texts.join('')
  return parts.map((part) => {
    if ('text' in part) return { type: 'text', text: part.text }
    if ('data' in part) return { type: 'text', text: JSON.stringify(part.data) }
    const mimeType = part.mediaType ?? 'application/octet-stream'
    const [kind = ''] = mimeType.split('/', 1)
    const type = ['image', 'audio', 'video'].includes(kind) ? kind : 'file'
    return { type, mimeType, ...('url' in part ? { url: part.url } : { data: part.raw }) }
  })
}

/** The text of a message's content. */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((block: unknown) => (isObject(block) && typeof block.text === 'string' ? block.text : '')).join('')
}
