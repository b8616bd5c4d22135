/**
 * Stores conversations in the browser: the ids of tasks and a limited amount of messages, without secrets. Answers
 * without a task are stored nowhere else.
 */
import type { Message, Part, Task } from 'dragoman/client'
import type { Protocol } from '../server/console-context.js'

export type StoredEntry =
  | { readonly said: Message }
  | { readonly answer: Message }
  /** A failed send. */
  | { readonly problem: string; readonly code?: string | undefined }
  | StoredTask

export interface StoredTask extends Protocol {
  /** The id; the agent has the task. */
  readonly task: string
  /** The task itself, for dialects that cannot read it again. */
  readonly told?: Task
  /** Started elsewhere. */
  readonly isOthers?: boolean
}

export interface StoredConversation extends Protocol {
  readonly id: string
  readonly ref: string
  /** In milliseconds since 1970. */
  readonly begunAt: number
  readonly contextId: string | undefined
  readonly entries: readonly StoredEntry[]
}

/** One storage key for each conversation, because tabs share the storage. */
const prefix = 'dragoman.conversation.'
const maxConversations = 20
const maxCharacters = 500_000
const maxTextLength = 20_000
let isOver = false

export function storeConversation(conversation: StoredConversation): void {
  if (isOver) return
  // Drop the oldest entries of a long conversation.
  const entries = newestWithin(conversation.entries.map(lightened), maxCharacters)
  try {
    localStorage.setItem(`${prefix}${conversation.id}`, JSON.stringify({ ...conversation, entries }))
    makeRoom()
  } catch {
    // The storage is full or disabled: conversations exist until the tab is closed.
  }
}

export function deleteConversation(id: string): void {
  localStorage.removeItem(`${prefix}${id}`)
}

/** Deletes all conversations at logout and stops storing further changes. */
export function deleteConversations(): void {
  isOver = true
  for (const key of keys()) localStorage.removeItem(key)
}

/** Oldest first. */
export function storedConversations(): readonly StoredConversation[] {
  return keys()
    .flatMap((key) => readKept(key) ?? [])
    .sort((one, other) => one.begunAt - other.begunAt)
}

/** Deletes the oldest conversations beyond the limits. */
function makeRoom(): void {
  let [count, room] = [maxConversations, maxCharacters]
  for (const conversation of storedConversations().toReversed()) {
    count -= 1
    room -= JSON.stringify(conversation.entries).length
    if (count < 0 || room < 0) deleteConversation(conversation.id)
  }
}

function keys(): string[] {
  return Array.from({ length: localStorage.length }, (_, place) => localStorage.key(place) ?? '').filter((key) =>
    key.startsWith(prefix),
  )
}

function readKept(key: string): StoredConversation | undefined {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? 'null') as StoredConversation | null
    const isWhole = typeof kept?.ref === 'string' && typeof kept.begunAt === 'number' && Array.isArray(kept.entries)
    return isWhole && `${prefix}${kept.id}` === key ? kept : undefined
  } catch {
    return undefined
  }
}

function newestWithin(entries: readonly StoredEntry[], room: number): readonly StoredEntry[] {
  let left = room
  const from = entries.findLastIndex((entry) => {
    left -= JSON.stringify(entry).length
    return left < 0
  })
  return entries.slice(from + 1)
}

function lightened(entry: StoredEntry): StoredEntry {
  if ('said' in entry) return { said: { ...entry.said, parts: entry.said.parts.map(light) } }
  if ('answer' in entry) return { answer: { ...entry.answer, parts: entry.answer.parts.map(light) } }
  if (!('told' in entry) || !entry.told) return entry
  const artifacts = entry.told.artifacts?.map((artifact) => ({ ...artifact, parts: artifact.parts.map(light) }))
  return { ...entry, told: { ...entry.told, ...(artifacts && { artifacts }) } }
}

/** Replaces files by their names, and cuts long texts. */
function light(part: Part): Part {
  if ('raw' in part) return { text: `📎 ${part.filename ?? part.mediaType ?? ''}` }
  if ('text' in part && part.text.length > maxTextLength)
    return { ...part, text: `${part.text.slice(0, maxTextLength)}…` }
  return part
}
