/** The JSON Schema of a question whose answer is a form. */
import { isStruct, schemaTypes } from './json-schema.js'
import type { Message } from './message.js'
import type { JsonValue, Struct } from './part.js'
import { sizeOf } from './size-of.js'

export const schemaMediaType = 'application/schema+json'

/** Questions may come from peers: a larger or deeper schema is not a form. */
const maxCharacters = 100_000
const maxDepth = 64

/** The schema of a question's form; undefined if there is none, or if it exceeds the bounds. */
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

/** Keywords by the shape of their value: one schema, a list of schemas, schemas by name. */
const single = ['additionalProperties', 'propertyNames', 'items', 'contains', 'not', 'if', 'then', 'else'] as const
const listed = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const
const named = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'] as const

/**
 * The first mistake, with its position: `.properties.approve.type: Invalid type; …`. Quotes names of properties, never
 * values. Undefined if there is none.
 */
export function schemaFault(schema: JsonValue, path = ''): string | undefined {
  if (typeof schema === 'boolean') return undefined
  if (!isStruct(schema)) return `${path || 'the schema'}: a schema must be an object or a boolean`
  return keywordFault(schema, path) ?? childFault(schema, path)
}

function keywordFault({ type, required, enum: choices }: Struct, path: string): string | undefined {
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type]
  if (!types.every((each) => typeof each === 'string' && schemaTypes.includes(each)))
    return `${path}.type: Invalid type; choose from ${schemaTypes.join(', ')}`
  if (required !== undefined && !(Array.isArray(required) && required.every((each) => typeof each === 'string')))
    return `${path}.required: must be a list of property names, beside \`properties\``
  if (choices !== undefined && !Array.isArray(choices)) return `${path}.enum: must be a list of values`
  return undefined
}

function childFault(schema: Struct, path: string): string | undefined {
  for (const keyword of single) {
    const value = schema[keyword]
    // Before draft 2020-12, `items` was also a list.
    const children = keyword === 'items' && Array.isArray(value) ? value : value === undefined ? [] : [value]
    for (const child of children) {
      const fault = schemaFault(child, `${path}.${keyword}`)
      if (fault !== undefined) return fault
    }
  }
  for (const keyword of listed) {
    const value = schema[keyword] ?? []
    if (!Array.isArray(value)) return `${path}.${keyword}: must be a list of schemas`
    for (const [place, child] of value.entries()) {
      const fault = schemaFault(child, `${path}.${keyword}[${place}]`)
      if (fault !== undefined) return fault
    }
  }
  for (const keyword of named) {
    const value = schema[keyword] ?? {}
    if (!isStruct(value)) return `${path}.${keyword}: must be an object of schemas`
    for (const [name, child] of Object.entries(value)) {
      const fault = schemaFault(child, `${path}.${keyword}.${name.slice(0, 50)}`)
      if (fault !== undefined) return fault
    }
  }
  return undefined
}
