/** Questions of agents as elicitation forms, and the answers as parts. Forms of MCP are flat. */
import type { ElicitRequestFormParams, PrimitiveSchemaDefinition } from '@modelcontextprotocol/server'
import { type Field, fieldsOf } from '../../client/question-form.js'
import { isStruct } from '../../model/json-schema.js'
import { data, type JsonValue, type Part, type Struct, text } from '../../model/part.js'

type FormSchema = ElicitRequestFormParams['requestedSchema']

/** A form of one text field, for questions without a schema and for schemas that MCP cannot express. */
const answerForm: FormSchema = {
  type: 'object',
  properties: { answer: { type: 'string', title: 'Answer' } },
  required: ['answer'],
}

/** A larger schema is not shown to the user. */
const maxShownSchema = 4000

/** A question as a form. `message` also describes the schema if the form cannot. */
export interface QuestionForm {
  readonly message: string
  readonly requestedSchema: FormSchema
}

export function formOf(question: string, schema: Struct | undefined): QuestionForm {
  const message = question || 'The agent needs an answer'
  if (!schema) return { message, requestedSchema: answerForm }
  const requestedSchema = flatForm(schema)
  if (requestedSchema) return { message, requestedSchema }
  const shown = describeSchema(schema)
  return { message: shown ? `${message}\n\n${shown}` : message, requestedSchema: answerForm }
}

/** Asks for JSON that fits the schema; empty if the schema is too large to show. */
export function describeSchema(schema: Struct): string {
  const shown = JSON.stringify(schema)
  return shown.length > maxShownSchema ? '' : `Answer with JSON that fits this JSON Schema: ${shown}`
}

/** The content of the message that answers, from the content of a form. */
export function answerParts(content: Struct, schema: Struct | undefined): readonly Part[] {
  if (schema && flatForm(schema)) return [data(content)]
  const { answer } = content
  return [text(typeof answer === 'string' ? answer : JSON.stringify(content))]
}

/** The content of the message that answers, from the argument of a tool. */
export function givenParts(answer: JsonValue): readonly Part[] {
  if (typeof answer === 'string') return [text(answer)]
  return typeof answer === 'object' && answer !== null ? [data(answer)] : [text(String(answer))]
}

/** A schema as a form of MCP; undefined if it is not an object of primitives, enumerations and lists of choices. */
function flatForm(schema: Struct): FormSchema | undefined {
  if (schema.type !== 'object' || !isStruct(schema.properties)) return undefined
  const fields = fieldsOf(schema)
  const properties: [string, PrimitiveSchemaDefinition][] = []
  for (const field of fields) {
    const property = primitiveOf(field)
    if (property) properties.push([field.name, property])
    else return undefined
  }
  const required = fields.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  return properties.length === 0
    ? undefined
    : { type: 'object', properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) }
}

const formats: ReadonlySet<unknown> = new Set(['email', 'uri', 'date', 'date-time'])

/** Keywords that forms have, by type; the agent checks the answer against the whole schema. */
function primitiveOf({
  kind,
  title,
  description,
  choices,
  initial,
  schema,
}: Field): PrimitiveSchemaDefinition | undefined {
  const common = { title, ...(description !== undefined && { description }) }
  switch (kind) {
    case 'boolean':
      return { type: 'boolean', ...common, ...(typeof initial === 'boolean' && { default: initial }) }
    case 'number':
    case 'integer':
      return {
        type: kind,
        ...common,
        ...numbers(schema, ['minimum', 'maximum']),
        ...(typeof initial === 'number' && { default: initial }),
      }
    case 'text': {
      if (schema.type !== 'string') return undefined
      return {
        type: 'string',
        ...common,
        ...numbers(schema, ['minLength', 'maxLength']),
        ...(formats.has(schema.format) && { format: schema.format as 'email' }), // one of the formats
        ...(typeof initial === 'string' && { default: initial }),
      }
    }
    case 'choice':
      if (!areTexts(choices)) return undefined
      return {
        type: 'string',
        ...common,
        enum: [...choices],
        ...(typeof initial === 'string' && choices.includes(initial) && { default: initial }),
      }
    case 'choices':
      if (!areTexts(choices)) return undefined
      return {
        type: 'array',
        ...common,
        ...numbers(schema, ['minItems', 'maxItems']),
        items: { type: 'string', enum: [...choices] },
      }
    default:
      return undefined
  }
}

function numbers<Name extends string>(schema: Struct, names: readonly Name[]): { [N in Name]?: number } {
  const found: { [N in Name]?: number } = {}
  for (const name of names) {
    const value = schema[name]
    if (typeof value === 'number') found[name] = value
  }
  return found
}

function areTexts(values: readonly JsonValue[]): values is readonly string[] {
  return values.length > 0 && values.every((value) => typeof value === 'string')
}
