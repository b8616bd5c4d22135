/** Turns the JSON Schema of a question into a form, and typed text into values. */
import { isStruct, SchemaTooComplex, violationsOf } from '../model/json-schema.js'
import type { JsonValue, Struct } from '../model/part.js'

/** Kind of input for a field. `choice` and `choices` pick from `choices`; `list` is a list of texts; `json` is free JSON. */
export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'choices' | 'list' | 'json'

/** A field of a form. */
export interface Field {
  /** Name of the property. Empty if the schema is not an object: the answer is then this one value. */
  readonly name: string
  readonly title: string
  readonly description?: string
  readonly kind: FieldKind
  readonly isRequired: boolean
  /** Allowed values. Empty if any value is allowed. */
  readonly choices: readonly JsonValue[]
  /** Default value of the schema. */
  readonly initial?: JsonValue
  readonly schema: Struct
}

/** Returns the fields of a schema: one for each property, or a single one without a name. */
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
  return constants.every((each) => each !== undefined) ? (constants as JsonValue[]) : [] // checked in the condition
}

/** The value of a field, undefined if it was left empty, or the problem with the text. */
export type FieldAnswer = { readonly value: JsonValue | undefined } | { readonly problem: string }

/** Converts typed text to a value of the field and checks it against the schema. */
export function readField(field: Field, typed: string): FieldAnswer {
  const text = typed.trim()
  if (text === '') return field.isRequired ? { problem: 'is required' } : { value: undefined }
  const value = typedValue(field, text)
  return value === undefined ? { problem: 'must be JSON' } : checked(field, value)
}

/** Returns undefined if the text must be JSON and is not. */
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
    // The agent checks the answer again.
    if (error instanceof SchemaTooComplex) return { value }
    throw error
  }
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue // JSON.parse returns JSON values only
  } catch {
    return undefined
  }
}

/** Combines the values into the answer: an object, or the value of the field without a name. */
export function formAnswer(fields: readonly Field[], values: ReadonlyMap<string, JsonValue>): JsonValue {
  const [only] = fields
  if (fields.length === 1 && only?.name === '') return values.get('') ?? null
  return Object.fromEntries(values)
}

/** Returns an example answer with the required properties, or with all properties if none is required. */
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
