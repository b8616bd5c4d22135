/** JSON Schema as a Standard Schema, for libraries and skills that take one. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { copyJson } from './copy-json.js'
import { isStruct, SchemaTooComplex, type SchemaViolation, violationsOf } from './json-schema.js'
import { AuthorError } from './option-names.js'
import type { JsonValue, Struct } from './part.js'
import { isForm, schemaFault } from './question-schema.js'

/** A schema that validates, and that exports its JSON Schema. */
export interface JsonSchema<Value = unknown> {
  readonly '~standard': StandardSchemaV1.Props<unknown, Value> & StandardJSONSchemaV1.Props<unknown, Value>
}

const targets: ReadonlySet<string> = new Set(['draft-2020-12', 'draft-07'])

/**
 * Returns a schema in JSON Schema as a Standard Schema, for skills, the AI SDK, MCP servers and other libraries. The type of
 * valid values is not inferred; give it as `fromJsonSchema<Order>(…)`. `pattern`, `format` and references to other documents
 * are not checked. Throws a `TypeError` for an invalid schema.
 *
 * ```ts
 * const order = fromJsonSchema<{ size: number }>({ type: 'object', properties: { size: { type: 'number' } } })
 * ```
 */
export function fromJsonSchema<Value = unknown>(schema: Struct): JsonSchema<Value> {
  if (!isStruct(schema) || !isForm(schema))
    throw new AuthorError('A JSON Schema must be an object of at most 100,000 characters, nested at most 64 levels')
  const fault = schemaFault(schema)
  if (fault !== undefined) throw new AuthorError(`The JSON Schema is not valid: ${fault}`)
  const own = copyJson(schema)
  // A copy for each reader: the AI SDK changes the schema that it gets.
  const convert = ({ target }: { readonly target: string }): Record<string, unknown> => {
    if (!targets.has(target)) throw new TypeError(`JSON Schema of the version ${target} is not supported`)
    return copyJson(own)
  }
  return {
    '~standard': {
      version: 1,
      vendor: 'dragoman',
      validate: (value) => check<Value>(own, value),
      jsonSchema: { input: convert, output: convert },
    },
  }
}

function check<Value>(schema: Struct, value: unknown): StandardSchemaV1.Result<Value> {
  try {
    const issues = violationsOf(schema, value as JsonValue).map(issueOf) // values of other types fit no type of JSON
    return issues.length > 0 ? { issues } : { value: value as Value } // its author states the type of valid values
  } catch (error) {
    if (error instanceof SchemaTooComplex) return { issues: [{ message: 'is too large to be checked' }] }
    throw error
  }
}

/** A path with quoted names is part of the message: the names may be cut. */
function issueOf({ path, problem }: SchemaViolation): StandardSchemaV1.Issue {
  const names = path.includes('"') ? undefined : path.match(/[\w$]+/g)
  if (!names) return { message: `${path} ${problem}`.trim() }
  return { message: problem, path: names.map((name) => (/^\d/.test(name) ? Number(name) : name)) }
}
