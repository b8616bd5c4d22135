/** What an agent refuses before any work starts (R-ERR-8), and what it cannot do (R-ERR-9). */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { A2AError, clip, type FieldViolation } from '../model/errors.js'
import { isStruct, SchemaTooComplex, type SchemaViolation, violationsOf } from '../model/json-schema.js'
import type { Message } from '../model/message.js'
import type { JsonValue, Part } from '../model/part.js'
import { type Struct, textOf } from '../model/part.js'
import { schemaOf } from '../model/question-schema.js'
import type { SendMessageRequest } from '../model/service.js'
import { assertWebhook } from './admission/push-configs.js'
import type { Agent } from './agent.js'

/** Where a webhook stands in a request to send a message. */
export const inlineConfig = 'configuration.taskPushNotificationConfig'

export function assertAcceptable(agent: Agent, { message, configuration }: SendMessageRequest): void {
  const push = configuration?.taskPushNotificationConfig
  if (push) {
    assertPush(agent)
    assertWebhook(push, `${inlineConfig}.`)
  }
  const modes = acceptedModes(agent)
  if (!modes) return
  for (const [place, { mediaType }] of message.parts.entries()) {
    if (mediaType === undefined || modes.some((mode) => fits(mediaType, mode))) continue
    throw new A2AError(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `message.parts[${place}]: ${clip(mediaType)} is not accepted here`,
      {
        metadata: { mediaType: clip(mediaType), accepted: modes.join(', ') },
      },
    )
  }
}

export function assertStreaming(agent: Agent): void {
  if (agent.card.capabilities?.streaming !== false) return
  throw new A2AError('UNSUPPORTED_OPERATION', 'This agent does not stream', { metadata: { capability: 'streaming' } })
}

export function assertPush(agent: Agent): void {
  if (agent.card.capabilities?.pushNotifications === true) return
  throw new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'This agent sends no push notifications')
}

/** Absent when the author declared no input modes, or leaves the check to another agent: then everything is welcome. */
function acceptedModes({ card, enforcesInputModes = true }: Agent): readonly string[] | undefined {
  if (!card.defaultInputModes || !enforcesInputModes) return undefined
  return [...card.defaultInputModes, ...(card.skills ?? []).flatMap(({ inputModes }) => inputModes ?? [])]
}

function fits(mediaType: string, mode: string): boolean {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const accepted = mode.trim().toLowerCase()
  if (accepted === '*/*' || accepted === type) return true
  return accepted.endsWith('/*') && type.startsWith(accepted.slice(0, -1))
}

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
