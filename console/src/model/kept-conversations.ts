/**
 * What the browser keeps of conversations, so that they are there again when the tab was closed: which tasks they had,
 * and what was said. Agents remember tasks; an answer that is no task nobody else remembers. No secrets, and not much.
 */
import type { Message, Part, Task } from 'dragoman/client'
import type { Speech } from '../link/link.js'

export type KeptEntry =
  | { readonly said: Message }
  | { readonly answer: Message }
  /** A send that failed. */
  | { readonly problem: string; readonly code?: string | undefined }
  | KeptTask

export interface KeptTask extends Speech {
  /** Its id: the agent knows the rest. */
  readonly task: string
  /** Where the way it was spoken in has no words to ask for it again. */
  readonly told?: Task
  /** Somebody else began it. */
  readonly isOthers?: boolean
}

export interface KeptConversation extends Speech {
  readonly id: string
  readonly ref: string
  /** In milliseconds since 1970. */
  readonly begunAt: number
  readonly contextId: string | undefined
  readonly entries: readonly KeptEntry[]
}

/** Each under a name of its own: tabs have conversations beside each other. */
const prefix = 'dragoman.conversation.'
const mostConversations = 20
const mostCharacters = 500_000
const longestText = 20_000
let isOver = false

export function keepConversation(conversation: KeptConversation): void {
  if (isOver) return
  // One that is too long loses its beginning.
  const entries = newestWithin(conversation.entries.map(lightened), mostCharacters)
  try {
    localStorage.setItem(`${prefix}${conversation.id}`, JSON.stringify({ ...conversation, entries }))
    makeRoom()
  } catch {
    // The browser has no room, or wants to keep nothing: what is open stays open until it is closed.
  }
}

export function forgetConversation(id: string): void {
  localStorage.removeItem(`${prefix}${id}`)
}

/** Whoever used this page has left, and what is still going on here says nothing more of it. */
export function forgetConversations(): void {
  isOver = true
  for (const key of keys()) localStorage.removeItem(key)
}

/** In the order they were begun in. */
export function keptConversations(): readonly KeptConversation[] {
  return keys()
    .flatMap((key) => readKept(key) ?? [])
    .sort((one, other) => one.begunAt - other.begunAt)
}

/** The newest matter most. */
function makeRoom(): void {
  let [count, room] = [mostConversations, mostCharacters]
  for (const conversation of keptConversations().toReversed()) {
    count -= 1
    room -= JSON.stringify(conversation.entries).length
    if (count < 0 || room < 0) forgetConversation(conversation.id)
  }
}

function keys(): string[] {
  return Array.from({ length: localStorage.length }, (_, place) => localStorage.key(place) ?? '').filter((key) =>
    key.startsWith(prefix),
  )
}

function readKept(key: string): KeptConversation | undefined {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? 'null') as KeptConversation | null
    const isWhole = typeof kept?.ref === 'string' && typeof kept.begunAt === 'number' && Array.isArray(kept.entries)
    return isWhole && `${prefix}${kept.id}` === key ? kept : undefined
  } catch {
    return undefined
  }
}

function newestWithin(entries: readonly KeptEntry[], room: number): readonly KeptEntry[] {
  let left = room
  const from = entries.findLastIndex((entry) => {
    left -= JSON.stringify(entry).length
    return left < 0
  })
  return entries.slice(from + 1)
}

function lightened(entry: KeptEntry): KeptEntry {
  if ('said' in entry) return { said: { ...entry.said, parts: entry.said.parts.map(light) } }
  if ('answer' in entry) return { answer: { ...entry.answer, parts: entry.answer.parts.map(light) } }
  if (!('told' in entry) || !entry.told) return entry
  const artifacts = entry.told.artifacts?.map((artifact) => ({ ...artifact, parts: artifact.parts.map(light) }))
  return { ...entry, told: { ...entry.told, ...(artifacts && { artifacts }) } }
}

/** Files are too large to keep: their names stand for them. */
function light(part: Part): Part {
  if ('raw' in part) return { text: `📎 ${part.filename ?? part.mediaType ?? ''}` }
  if ('text' in part && part.text.length > longestText) return { ...part, text: `${part.text.slice(0, longestText)}…` }
  return part
}
