/**
 * Checks messages against what the agent declares: capabilities and media types of its card (R-ERR-8, R-ERR-9), schemas of
 * its skills, and forms of its questions.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { approvalIds, type Decisions, decisionsInForm, decisionsInText, readResponse } from '../model/approvals.js'
import { A2AError, clip, type FieldViolation } from '../model/errors.js'
import { isStruct, SchemaTooComplex, type SchemaViolation, violationsOf } from '../model/json-schema.js'
import type { Message } from '../model/message.js'
import { type JsonValue, type Part, type Struct, textOf } from '../model/part.js'
import { schemaOf } from '../model/question-schema.js'
import type { Agent } from './agent.js'

export function assertStreaming({ card }: Agent): void {
  if (card.capabilities?.streaming !== false) return
  throw new A2AError('UNSUPPORTED_OPERATION', 'This agent does not stream', { metadata: { capability: 'streaming' } })
}

export function assertPush({ card }: Agent): void {
  if (card.capabilities?.pushNotifications === true) return
  throw new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'This agent sends no push notifications')
}

/** Throws for a part whose media type is not one of the accepted ones. */
export function assertInputModes(modes: readonly string[] | undefined, { parts }: Message): void {
  if (!modes) return
  for (let place = 0; place < parts.length; place++) {
    const mediaType = parts[place]?.mediaType
    if (mediaType === undefined || modes.some((mode) => fits(mediaType, mode))) continue
    const text = `message.parts[${place}]: ${clip(mediaType)} is not accepted here`
    const metadata = { mediaType: clip(mediaType), accepted: modes.join(', ') }
    throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', text, { metadata })
  }
}

/** The media types that an agent accepts. Undefined when all media types are accepted: none are declared, or another agent checks them. */
export function acceptedModesOf({ card, enforcesInputModes = true }: Agent): readonly string[] | undefined {
  if (!card.defaultInputModes || !enforcesInputModes) return undefined
  return [...card.defaultInputModes, ...(card.skills ?? []).flatMap(({ inputModes }) => inputModes ?? [])]
}

function fits(mediaType: string, mode: string): boolean {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const accepted = mode.trim().toLowerCase()
  if (accepted === '*/*' || accepted === type) return true
  return accepted.endsWith('/*') && type.startsWith(accepted.slice(0, -1))
}

/** Checks data parts against the Standard Schemas of an agent's skills. */
export interface SkillSchemas {
  /** Returns the first data part as its schema outputs it. Throws `INVALID_PARAMS` for a data part that fits no skill. */
  input(message: Message): Promise<unknown>
  /** Throws when the data of an artifact fits no declared output. */
  output(parts: readonly Part[]): Promise<void>
}

/** Undefined when no skill declares a schema. */
export function skillSchemasOf({ card }: Agent): SkillSchemas | undefined {
  const skills = card.skills ?? []
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
          throw new Error(`Output does not fit the declared schema: ${faults.map(violationText).join('; ')}`)
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
  return new A2AError('INVALID_PARAMS', violations.map(violationText).join('; '), { violations })
}

function violationText({ field, description }: FieldViolation): string {
  return `${field}: ${description}`
}

/** An answer as the handler sees it, or the reasons why it does not fit the question. */
export type Answer =
  /** With `decisions`, if the question was an approval. */
  { readonly message: Message; readonly decisions?: Decisions } | { readonly violations: readonly FieldViolation[] }

/** Longer text is not parsed as JSON. */
const maxTextCharacters = 1_000_000
/** Deeper text is not parsed as JSON. Requests have the same limit. */
const maxDepth = 128

/** Throws `INVALID_PARAMS` with field paths for a message that does not answer the question. */
export function assertAnswer(question: Message | undefined, message: Message): void {
  const answer = readAnswer(question, message)
  if ('message' in answer) return
  const { violations } = answer
  const faults = violations.map(violationText).join('; ')
  throw new A2AError('INVALID_PARAMS', `The answer does not fit the form of the question: ${faults}`, { violations })
}

/**
 * Checks the answer to a question with a form. Every data part must fit the form's schema. Without a data part, text counts
 * as data if it is JSON that fits, or the bare value of a form with one property, because chat clients can only send text.
 * Such text is returned as an additional data part; the history keeps the message as it was sent.
 */
export function readAnswer(question: Message | undefined, message: Message): Answer {
  const ids = approvalIds(question)
  return ids ? readApprovalAnswer(ids, question, message) : readForm(question, message)
}

/** Reads the answer to an approval, in the metadata of the message, in the form or as a word (R11-EXT-4). */
function readApprovalAnswer(ids: readonly string[], question: Message | undefined, message: Message): Answer {
  const response = readResponse(ids, message)
  if (response) return 'decisions' in response ? { message, decisions: response.decisions } : response
  const hasData = message.parts.some((part) => 'data' in part)
  const decisions = hasData ? undefined : decisionsInText(ids, message)
  if (decisions) return { message, decisions }
  const answer = readForm(question, message)
  if ('violations' in answer) return answer
  const data = answer.message.parts.find((part) => 'data' in part)
  if (!data) return { violations: [{ field: 'message.parts', description: 'must decide the tool calls' }] }
  return { message: answer.message, decisions: decisionsInForm(ids, data.data) }
}

function readForm(question: Message | undefined, message: Message): Answer {
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
    const value = JSON.parse(text) as JsonValue // the result of JSON.parse
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
