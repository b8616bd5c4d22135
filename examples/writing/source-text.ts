// Finds the text to summarise in a message.

import { type Message, textOf } from 'dragoman'
import type { JsonValue } from 'dragoman/model'

/** Members of a data part that hold the text, best first. */
const members = ['document', 'text', 'content', 'body']

/**
 * Returns the text to summarise: of the data parts if the message has any, else of the text parts. Text beside data is an
 * instruction. Returns an empty text if there is none.
 */
export function sourceText({ parts }: Pick<Message, 'parts'>): string {
  const values = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  if (values.length === 0) return textOf(parts).trim()
  return values.map(textIn).filter(Boolean).join('\n\n')
}

function textIn(value: JsonValue): string {
  if (typeof value === 'string') return value.trim()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ''
  for (const name of members) {
    const member = (value as Readonly<Record<string, unknown>>)[name]
    if (typeof member === 'string' && member.trim() !== '') return member.trim()
  }
  return ''
}
