/**
 * What the browser keeps of conversations, so that they are there again when the tab was closed: which tasks they had,
 * and what was said. Agents remember tasks; an answer that is no task nobody else remembers. No secrets, and not much.
 */
import type { Message, Part } from 'dragoman/client'
import type { Speech } from '../link/link.js'

export type KeptEntry =
  | { readonly said: Message }
  | { readonly answer: Message }
  /** Its id: the agent knows the rest. */
  | { readonly task: string }

export interface KeptConversation extends Speech {
  readonly id: string
  readonly ref: string
  readonly contextId: string | undefined
  readonly entries: readonly KeptEntry[]
}

const storageKey = 'dragoman.conversations'
const mostConversations = 20
const mostCharacters = 500_000
const longestText = 20_000

export function keepConversations(conversations: readonly KeptConversation[]): void {
  const kept: KeptConversation[] = []
  let room = mostCharacters
  // The newest matter most; one that is too long loses its beginning.
  for (const conversation of conversations.slice(-mostConversations).toReversed()) {
    const entries = newestWithin(conversation.entries.map(lightened), room)
    room -= JSON.stringify(entries).length
    kept.unshift({ ...conversation, entries })
  }
  try {
    localStorage.setItem(storageKey, JSON.stringify(kept))
  } catch {
    // The browser has no room, or wants to keep nothing: what is open stays open until it is closed.
  }
}

export function keptConversations(): readonly KeptConversation[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]')
    return Array.isArray(kept)
      ? kept.filter((each: KeptConversation) => typeof each?.ref === 'string' && Array.isArray(each.entries))
      : []
  } catch {
    return []
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
  return entry
}

/** Files are too large to keep: their names stand for them. */
function light(part: Part): Part {
  if ('raw' in part) return { text: `📎 ${part.filename ?? part.mediaType ?? ''}` }
  if ('text' in part && part.text.length > longestText) return { ...part, text: `${part.text.slice(0, longestText)}…` }
  return part
}
