/** The extension `urn:dragoman:steps:v1`: tool calls and reasoning of an agent, as data parts of progress messages. */
import { copyJson, isJson } from './copy-json.js'
import type { Carrier, Extension } from './extension.js'
import { isObject } from './is-object.js'
import type { Message } from './message.js'
import { AuthorError } from './option-names.js'
import type { DataPart, JsonValue, Part, Struct } from './part.js'
import { sizeOf } from './size-of.js'

/** A step of an agent. The result of a tool has the `id` of its call; pieces of one reasoning share an `id`. */
export type AgentStep =
  | { readonly kind: 'tool-call'; readonly id: string; readonly name: string; readonly input?: JsonValue }
  | {
      readonly kind: 'tool-result'
      readonly id: string
      readonly name?: string
      readonly output?: JsonValue
      readonly isError?: boolean
    }
  | { readonly kind: 'reasoning'; readonly id: string; readonly text: string }

const uri = 'urn:dragoman:steps:v1'

/** Tool calls and reasoning: `step({ … })` writes them, `steps.read(message)` reads the first one of a message. */
export const steps: Omit<Extension<AgentStep>, 'with'> = {
  uri,
  key: uri,
  description: 'Tool calls and reasoning, as data parts of progress messages',
  read: (carrier) => (hasParts(carrier) ? stepsOf(carrier)[0] : undefined),
}

/** Tools may return megabytes: longer inputs, outputs and texts are cut. */
const maxCharacters = 32_000
const maxName = 255

/**
 * The step, with content cut to 32,000 characters, id and name to 255: models and gateways make ids of any length. Throws
 * for a step that is not valid.
 */
export function boundedStep(given: AgentStep): AgentStep {
  const step = isObject(given) ? { ...given, ...shortened(given, 'id'), ...shortened(given, 'name') } : given
  const fault = stepFault(step)
  if (fault !== undefined) throw new AuthorError(`Invalid step: ${fault}`)
  switch (step.kind) {
    case 'tool-call': {
      const { kind, id, name, input } = step
      return { kind, id, name, ...(input !== undefined && { input: bounded(input) }) }
    }
    case 'tool-result': {
      const { kind, id, name, output, isError } = step
      return {
        kind,
        id,
        ...(name !== undefined && { name }),
        ...(output !== undefined && { output: bounded(output) }),
        ...(isError !== undefined && { isError }),
      }
    }
    case 'reasoning':
      return { kind: step.kind, id: step.id, text: cut(step.text) }
  }
}

function shortened(step: { readonly [member: string]: unknown }, member: 'id' | 'name'): object {
  const value = step[member]
  return typeof value === 'string' ? { [member]: value.slice(0, maxName) } : {}
}

/** Text is cut; a larger value of another type becomes the beginning of its JSON. */
function bounded(value: JsonValue): JsonValue {
  if (typeof value === 'string') return cut(value)
  return sizeOf(value, maxCharacters) > maxCharacters ? cut(JSON.stringify(value)) : copyJson(value)
}

function cut(text: string): string {
  if (text.length <= maxCharacters) return text
  // Half of a surrogate pair is not valid text.
  const end = /[\uD800-\uDBFF]/.test(text.charAt(maxCharacters - 1)) ? maxCharacters - 1 : maxCharacters
  return `${text.slice(0, end)} … (cut, ${text.length} characters)`
}

/** The part that carries a step. */
export function stepPart(step: AgentStep): DataPart {
  return { data: step as Struct, mediaType: 'application/json', metadata: { [uri]: {} } }
}

/** The progress text of a step for callers that did not ask for the extension; undefined if there is none. */
export function stepText(step: AgentStep): string | undefined {
  return step.kind === 'tool-call' ? `Calling ${step.name}` : undefined
}

/** The steps in the parts of a message. */
export function stepsOf({ parts }: Pick<Message, 'parts'>): readonly AgentStep[] {
  return parts.flatMap((part) => {
    const step = 'data' in part && isStepPart(part) ? (part.data as unknown as AgentStep) : undefined
    return step && stepFault(step) === undefined ? [step] : []
  })
}

/** Whether a part carries a step. */
export function isStepPart(part: Part): boolean {
  return part.metadata !== undefined && Object.hasOwn(part.metadata, uri)
}

function hasParts(carrier: Carrier | undefined): carrier is Message {
  return isObject(carrier) && Array.isArray(carrier.parts)
}

function stepFault(step: unknown): string | undefined {
  if (!isObject(step)) return 'it must be an object'
  const { kind, id, name, text, input, output, isError } = step
  if (!isName(id)) return 'id must be a string of 1 to 255 characters'
  if (kind === 'reasoning') return typeof text === 'string' ? undefined : 'text must be a string'
  if (kind !== 'tool-call' && kind !== 'tool-result') return 'kind must be tool-call, tool-result or reasoning'
  if (!isName(name) && !(kind === 'tool-result' && name === undefined))
    return 'name must be a string of 1 to 255 characters'
  if (isError !== undefined && typeof isError !== 'boolean') return 'isError must be a boolean'
  const content = kind === 'tool-call' ? input : output
  return content === undefined || isJson(content, 0) ? undefined : 'input and output must be JSON'
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= maxName
}
