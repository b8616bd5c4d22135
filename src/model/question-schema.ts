/** The JSON Schema that a question carries, when the answer is to be a form. */
import { isStruct } from './json-schema.js'
import type { Message } from './message.js'
import type { JsonValue, Struct } from './part.js'
import { sizeOf } from './size-of.js'

export const schemaMediaType = 'application/schema+json'

/** Questions come from peers as well: a larger or deeper schema is no form. */
const maxCharacters = 100_000
const maxDepth = 64

/** The schema of the form that a question carries; absent when there is none, or one beyond the bounds. */
export function schemaOf(question: Message | undefined): Struct | undefined {
  for (const part of question?.parts ?? [])
    if ('data' in part && part.mediaType === schemaMediaType && isForm(part.data)) return part.data
  return undefined
}

/** Whether a value can be the schema of a form: an object of at most 100,000 characters, nested at most 64 levels. */
export function isForm(schema: JsonValue): schema is Struct {
  return isStruct(schema) && sizeOf(schema, maxCharacters) <= maxCharacters && isWithinDepth(schema, maxDepth)
}

function isWithinDepth(value: JsonValue, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((each) => each === undefined || isWithinDepth(each, levels - 1))
}
