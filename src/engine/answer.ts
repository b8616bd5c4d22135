/**
 * Answers to questions that carry a form. Every data part must fit the form's schema. Without a data part, text counts as
 * data if it is JSON that fits, or the bare value of a form with one property: chat clients can send text only.
 */
import { A2AError, type FieldViolation } from '../model/errors.js'
import { isStruct, SchemaTooComplex, type SchemaViolation, violationsOf } from '../model/json-schema.js'
import type { Message } from '../model/message.js'
import { type JsonValue, type Struct, textOf } from '../model/part.js'
import { schemaOf } from '../model/question-schema.js'

/** The answer as the handler sees it, or the reasons why it is none. */
export type Answer = { readonly message: Message } | { readonly violations: readonly FieldViolation[] }

/** Longer text is not read as JSON. */
const maxTextCharacters = 1_000_000
/** Text that is nested deeper is not read as JSON: requests have the same limit. */
const maxDepth = 128

/** Throws `INVALID_PARAMS` with field paths for a message that does not answer the question. */
export function assertAnswer(question: Message | undefined, message: Message): void {
  const answer = readAnswer(question, message)
  if ('message' in answer) return
  const { violations } = answer
  const faults = violations.map(({ field, description }) => `${field}: ${description}`).join('; ')
  throw new A2AError('INVALID_PARAMS', `The answer does not fit the form of the question: ${faults}`, { violations })
}

/** A message whose text counts as data gets a data part behind its other parts; the history keeps it as it was sent. */
export function readAnswer(question: Message | undefined, message: Message): Answer {
  const schema = schemaOf(question)
  if (!schema) return { message }
  try {
    return message.parts.some((part) => 'data' in part) ? readData(schema, message) : readText(schema, message)
  } catch (error) {
    if (!(error instanceof SchemaTooComplex)) throw error
    return {
      violations: [{ field: 'message.parts', description: 'cannot be checked: the form or the answer is too large' }],
    }
  }
}

function readData(schema: Struct, message: Message): Answer {
  const violations = message.parts.flatMap((part, place) =>
    'data' in part ? placed(`message.parts[${place}].data`, violationsOf(schema, part.data)) : [],
  )
  return violations.length > 0 ? { violations } : { message }
}

function readText(schema: Struct, message: Message): Answer {
  const place = message.parts.findIndex((part) => 'text' in part)
  const text = textOf(message).trim()
  if (place < 0 || text === '' || text.length > maxTextCharacters)
    return { violations: [{ field: 'message.parts', description: 'needs a data part that fits the form' }] }
  let closest: readonly SchemaViolation[] = [{ path: '', problem: 'must be JSON that fits the form' }]
  for (const value of valuesIn(text, schema)) {
    const violations = violationsOf(schema, value)
    if (violations.length === 0) return { message: { ...message, parts: [...message.parts, { data: value }] } }
    closest = violations
  }
  return { violations: placed(`message.parts[${place}].text`, closest) }
}

/** The values that a text can stand for, the most literal first. */
function* valuesIn(text: string, schema: Struct): Generator<JsonValue, void, void> {
  const parsed = parse(text)
  const { properties } = schema
  if (!isStruct(properties)) {
    if (parsed !== undefined) yield parsed
    yield text
    return
  }
  if (isStruct(parsed)) {
    yield parsed
    return
  }
  const [only, ...others] = Object.keys(properties)
  if (only === undefined || others.length > 0) return
  yield { [only]: text }
  if (parsed !== undefined) yield { [only]: parsed }
}

function parse(text: string): JsonValue | undefined {
  try {
    const value = JSON.parse(text) as JsonValue // parsing gives nothing else
    return isDeeperThan(value, maxDepth) ? undefined : value
  } catch {
    return undefined
  }
}

function isDeeperThan(value: JsonValue, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((each: JsonValue) => isDeeperThan(each, levels - 1))
}

function placed(field: string, violations: readonly SchemaViolation[]): readonly FieldViolation[] {
  return violations.map(({ path, problem }) => ({ field: field + path, description: problem }))
}
