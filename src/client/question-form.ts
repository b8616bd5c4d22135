/** A JSON Schema as a form: which fields there are, and what was typed as a value of one. Pure. */
import type { Message } from '../model/message.js'
import type { JsonValue, Struct } from '../model/part.js'

export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'choices' | 'list' | 'json'

export interface Field {
  /** Empty when the schema is not of an object: the answer is the one value. */
  readonly name: string
  readonly title: string
  readonly description?: string
  readonly kind: FieldKind
  readonly isRequired: boolean
  readonly choices: readonly JsonValue[]
  readonly initial?: JsonValue
  readonly schema: Struct
}

/** The schema of the form that a question carries. */
export function schemaOf(question: Message | undefined): Struct | undefined {
  for (const part of question?.parts ?? [])
    if ('data' in part && part.mediaType === 'application/schema+json' && isStruct(part.data)) return part.data
  return undefined
}

export function fieldsOf(schema: Struct): Field[] {
  if (!isStruct(schema.properties)) return [toField('', schema, true)]
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  return Object.entries(schema.properties)
    .filter(([name]) => name !== '__proto__')
    .map(([name, property]) => toField(name, isStruct(property) ? property : {}, required.has(name)))
}

function toField(name: string, schema: Struct, isRequired: boolean): Field {
  const kind = kindOf(schema)
  const listed = kind === 'choices' && isStruct(schema.items) ? schema.items : schema
  return {
    name,
    title: typeof schema.title === 'string' ? schema.title : name,
    ...(typeof schema.description === 'string' && { description: schema.description }),
    kind,
    isRequired,
    choices: choicesOf(listed),
    ...(schema.default !== undefined && { initial: schema.default }),
    schema,
  }
}

function kindOf(schema: Struct): FieldKind {
  if (choicesOf(schema).length > 0) return 'choice'
  const type = Array.isArray(schema.type) ? schema.type.find((each) => each !== 'null') : schema.type
  if (type === 'number' || type === 'integer' || type === 'boolean') return type
  if (type === 'array') {
    const items = isStruct(schema.items) ? schema.items : {}
    if (choicesOf(items).length > 0) return 'choices'
    return items.type === 'string' ? 'list' : 'json'
  }
  return type === 'object' ? 'json' : 'text'
}

function choicesOf(schema: Struct): readonly JsonValue[] {
  if (schema.const !== undefined) return [schema.const]
  if (Array.isArray(schema.enum)) return schema.enum
  const alternatives = schema.oneOf ?? schema.anyOf
  if (!Array.isArray(alternatives)) return []
  const constants = alternatives.map((each) => (isStruct(each) ? each.const : undefined))
  return constants.every((each) => each !== undefined) ? (constants as JsonValue[]) : [] // just looked
}

/** What was typed, as a value; nothing typed is no value; a problem is a sentence. */
export type FieldAnswer = { readonly value: JsonValue | undefined } | { readonly problem: string }

export function readField(field: Field, typed: string): FieldAnswer {
  const text = typed.trim()
  if (text === '') return field.isRequired ? { problem: 'This is needed' } : { value: undefined }
  if (field.kind === 'number' || field.kind === 'integer') return readNumber(field, text)
  if (field.kind === 'list')
    return {
      value: text
        .split(',')
        .map((each) => each.trim())
        .filter(Boolean),
    }
  if (field.kind === 'json') return readJsonText(text)
  return readText(field, text)
}

function readNumber({ kind, schema }: Field, text: string): FieldAnswer {
  const value = Number(text)
  const { minimum, maximum } = schema
  if (!Number.isFinite(value)) return { problem: 'Write a number' }
  if (kind === 'integer' && !Number.isInteger(value)) return { problem: 'Write a whole number' }
  if (typeof minimum === 'number' && value < minimum) return { problem: `At least ${minimum}` }
  if (typeof maximum === 'number' && value > maximum) return { problem: `At most ${maximum}` }
  return { value }
}

/** Patterns are a stranger's programs and may run for ever: the agent checks those itself. */
function readText({ schema }: Field, text: string): FieldAnswer {
  const { minLength, maxLength } = schema
  if (typeof minLength === 'number' && text.length < minLength) return { problem: `At least ${minLength} characters` }
  if (typeof maxLength === 'number' && text.length > maxLength) return { problem: `At most ${maxLength} characters` }
  return { value: text }
}

function readJsonText(text: string): FieldAnswer {
  try {
    return { value: JSON.parse(text) as JsonValue } // parsing gives nothing else
  } catch {
    return { problem: 'Write JSON' }
  }
}

/** The answer to the whole form: the fields that have values, or the one value. */
export function formAnswer(fields: readonly Field[], values: ReadonlyMap<string, JsonValue>): JsonValue {
  const [only] = fields
  if (fields.length === 1 && only?.name === '') return values.get('') ?? null
  return Object.fromEntries(values)
}

function isStruct(value: JsonValue | undefined): value is Struct {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
