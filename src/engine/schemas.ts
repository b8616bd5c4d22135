/** Checks data parts against the Standard Schemas that skills declare. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { A2AError, type FieldViolation } from '../model/errors.js'
import type { Message } from '../model/message.js'
import type { JsonValue, Part } from '../model/part.js'
import type { Agent } from './agent.js'

export interface SchemaCheck {
  /** The first data part, as a turn sees it. Throws `INVALID_PARAMS` with paths for a data part that no skill takes. */
  input(message: Message): Promise<unknown>
  /** Throws when an artifact's data fits no declared output. */
  output(parts: readonly Part[]): Promise<void>
}

/** Absent when no skill declares a schema, so that agents without them pay nothing. */
export function schemaCheckOf(agent: Agent): SchemaCheck | undefined {
  const skills = agent.card.skills ?? []
  const inputs = skills.flatMap(({ input }) => (input ? [input] : []))
  const outputs = skills.flatMap(({ output }) => (output ? [output] : []))
  if (inputs.length === 0 && outputs.length === 0) return undefined
  const isDataNeeded = inputs.length > 0 && inputs.length === skills.length
  return {
    async input(message) {
      let first: { readonly value: unknown } | undefined
      for (const [place, part] of message.parts.entries()) {
        if (!('data' in part)) continue
        const result = await firstFit(inputs, part.data)
        if (result.issues) throw invalid(result.issues.map((issue) => violation(`message.parts[${place}].data`, issue)))
        first ??= result
      }
      if (!first && isDataNeeded) throw invalid([{ field: 'message.parts', description: 'needs a data part' }])
      return first?.value
    },
    async output(parts) {
      if (outputs.length === 0) return
      for (const part of parts) {
        if (!('data' in part)) continue
        const result = await firstFit(outputs, part.data)
        if (result.issues) {
          const faults = result.issues.map((issue) => violation('data', issue))
          throw new Error(`Output does not fit the declared schema: ${faults.map(spell).join('; ')}`)
        }
      }
    },
  }
}

async function firstFit(
  schemas: readonly StandardSchemaV1[],
  value: JsonValue,
): Promise<StandardSchemaV1.Result<unknown>> {
  let refused: StandardSchemaV1.FailureResult | undefined
  for (const schema of schemas) {
    const result = await schema['~standard'].validate(value)
    if (!result.issues) return result
    refused ??= result
  }
  return refused ?? { value }
}

function violation(field: string, issue: StandardSchemaV1.Issue): FieldViolation {
  let path = field
  for (const segment of issue.path ?? []) {
    const name = typeof segment === 'object' ? segment.key : segment
    path += typeof name === 'number' ? `[${name}]` : `.${String(name)}`
  }
  return { field: path, description: issue.message }
}

function invalid(violations: readonly FieldViolation[]): A2AError {
  return new A2AError('INVALID_PARAMS', violations.map(spell).join('; '), { violations })
}

function spell({ field, description }: FieldViolation): string {
  return `${field}: ${description}`
}
