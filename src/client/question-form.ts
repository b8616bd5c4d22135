/** A JSON Schema as a form: which fields there are, and what was typed as a value of one. Pure. */
import { isStruct, SchemaTooComplex, violationsOf } from '../model/json-schema.js'
import type { JsonValue, Struct } from '../model/part.js'

/** The kind of input that a field takes. */
export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'choices' | 'list' | 'json'

/** One field of the form that a question asks for. */
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

/** The fields of a form, from its JSON Schema. A schema without properties is one field without a name. */
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

/** The value that a user entered, or the problem with it. Empty input is no value. */
export type FieldAnswer = { readonly value: JsonValue | undefined } | { readonly problem: string }

/** Reads what a user typed into a field: its value, or the problem with it. */
export function readField(field: Field, typed: string): FieldAnswer {
  const text = typed.trim()
  if (text === '') return field.isRequired ? { problem: 'is required' } : { value: undefined }
  const value = typedValue(field, text)
  return value === undefined ? { problem: 'must be JSON' } : checked(field, value)
}

/** Absent when the text has to be JSON and is not. */
function typedValue({ kind }: Field, text: string): JsonValue | undefined {
  switch (kind) {
    case 'number':
    case 'integer':
      return Number.isFinite(Number(text)) ? Number(text) : text
    case 'list':
      return text
        .split(',')
        .map((each) => each.trim())
        .filter(Boolean)
    case 'json':
      return parsed(text)
    default:
      return text
  }
}

function checked({ schema }: Field, value: JsonValue): FieldAnswer {
  try {
    const [first] = violationsOf(schema, value)
    return first ? { problem: `${first.path} ${first.problem}`.trim() } : { value }
  } catch (error) {
    // The agent checks the answer too.
    if (error instanceof SchemaTooComplex) return { value }
    throw error
  }
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue // parsing gives nothing else
  } catch {
    return undefined
  }
}

/** The answer to the whole form: the fields that have values, or the one value. */
export function formAnswer(fields: readonly Field[], values: ReadonlyMap<string, JsonValue>): JsonValue {
  const [only] = fields
  if (fields.length === 1 && only?.name === '') return values.get('') ?? null
  return Object.fromEntries(values)
}

/** An answer that shows the shape of the form: its required properties, or all of them if none is. */
export function exampleAnswer(schema: Struct): JsonValue {
  return exampleOf(schema, 0)
}

const maxExampleDepth = 4
const maxExampleMembers = 20

function exampleOf(schema: Struct, depth: number): JsonValue {
  const [choice] = choicesOf(schema)
  if (choice !== undefined) return choice
  if (schema.default !== undefined) return schema.default
  const { minimum, properties, items } = schema
  if (isStruct(properties) && depth < maxExampleDepth) {
    const fields = fieldsOf(schema)
    const needed = fields.filter(({ isRequired }) => isRequired)
    const shown = (needed.length > 0 ? needed : fields).slice(0, maxExampleMembers)
    return Object.fromEntries(shown.map((field) => [field.name, exampleOf(field.schema, depth + 1)]))
  }
  switch (kindOf(schema)) {
    case 'boolean':
      return true
    case 'number':
    case 'integer':
      return typeof minimum === 'number' ? minimum : 1
    case 'list':
    case 'choices':
      return [isStruct(items) && depth < maxExampleDepth ? exampleOf(items, depth + 1) : '…']
    case 'json':
      return schema.type === 'array' ? [] : {}
    default:
      return '…'
  }
}
