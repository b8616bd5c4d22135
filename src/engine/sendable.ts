/** What a handler yields, checked: types do not hold in JavaScript, and a store must never hold what no reader can be sent (R-TASK-7). */
import { clip } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type OptionNames } from '../model/option-names.js'
import type { JsonValue } from '../model/part.js'
import { isForm } from '../model/question-schema.js'
import { schemaFault } from '../model/schema-faults.js'
import type { ArtifactDraft, Draft, StatusDraft } from './yields.js'

/** A handler yields a value that no event can carry. The log and the caller get the message, so it quotes no content. */
export class UnsendableError extends Error {}

/** `ask` or `artifact` was called wrongly. The log and the caller get the message, so it quotes names only. */
export class DraftError extends TypeError {}

/** As `assertOptions`, for the functions whose results handlers yield. */
export function assertDraftOptions(owner: string, options: unknown, names: OptionNames): void {
  try {
    assertOptions(owner, options, names)
  } catch (error) {
    throw new DraftError((error as Error).message) // a `TypeError`
  }
}

/** Throws for a schema that `ask` cannot publish, or that would accept answers that its author did not mean. */
export function assertFormSchema(schema: JsonValue): void {
  if (!isForm(schema))
    throw new DraftError(
      'The schema of `ask` must be an object of at most 100,000 characters, nested at most 64 levels',
    )
  const fault = schemaFault(schema)
  if (fault !== undefined) throw new DraftError(`The schema of \`ask\` is not valid: ${fault}`)
}

const states: ReadonlySet<unknown> = new Set<StatusDraft['state']>([
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
])
const contents = ['text', 'raw', 'url', 'data'] as const
const deepestValue = 64

export function assertDraft(value: unknown): asserts value is Draft {
  const draft = isObject(value) ? (value as Partial<Draft>) : undefined
  switch (draft?.kind) {
    case 'artifact':
      assertParts(draft.parts)
      assertArtifact(draft as ArtifactDraft)
      return
    case 'reply':
      assertParts(draft.parts)
      return
    case 'status':
      if (!states.has(draft.state))
        throw new UnsendableError(`A handler cannot yield the state ${clip(String(draft.state))}`)
      if (draft.parts !== undefined) assertParts(draft.parts)
      return
    default:
      throw new UnsendableError(
        'A handler yields strings, artifact(), working(), reply(), completed(), failed(), rejected(), ask() or askAuth()',
      )
  }
}

function assertArtifact({ name, options }: ArtifactDraft): void {
  if (typeof name !== 'string' || !isObject(options))
    throw new UnsendableError('artifact() takes a name, content and options')
  const { id, description, extensions, metadata } = options
  assertText(id, 'The id of an artifact')
  assertText(description, 'The description of an artifact')
  if (metadata !== undefined && !(isObject(metadata) && isJson(metadata, 0)))
    throw new UnsendableError('Metadata is a JSON object')
  if (extensions !== undefined && !(Array.isArray(extensions) && extensions.every((uri) => typeof uri === 'string'))) {
    throw new UnsendableError('Extensions are a list of URIs')
  }
}

function assertParts(parts: unknown): void {
  if (!Array.isArray(parts) || parts.length === 0)
    throw new UnsendableError('An artifact or message needs at least one part')
  for (const part of parts as unknown[]) {
    if (!isObject(part)) throw new UnsendableError('A part is an object')
    const kind = contentOf(part)
    if (kind === 'data' ? !isJson(part.data, 0) : typeof part[kind] !== 'string')
      throw new UnsendableError(`The ${kind} of a part cannot be sent`)
    assertText(part.mediaType, 'A media type')
    assertText(part.filename, 'A file name')
    if (part.metadata !== undefined && !(isObject(part.metadata) && isJson(part.metadata, 0)))
      throw new UnsendableError('Metadata is a JSON object')
  }
}

function contentOf(part: Record<string, unknown>): (typeof contents)[number] {
  let found: (typeof contents)[number] | undefined
  let isOne = true
  for (const kind of contents) {
    if (part[kind] === undefined) continue
    isOne = found === undefined
    found ??= kind
  }
  if (!found || !isOne) throw new UnsendableError('A part has exactly one of text, raw, url and data')
  return found
}

function assertText(value: unknown, what: string): void {
  if (value !== undefined && typeof value !== 'string') throw new UnsendableError(`${what} is a string`)
}

/** Plain objects, arrays and finite values: what comes out of JSON as it went in. */
export function isJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth >= deepestValue) return false
  if (Array.isArray(value)) return value.every((each) => isJson(each, depth + 1))
  const prototype = Object.getPrototypeOf(value) as unknown
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((each) => each === undefined || isJson(each, depth + 1))
}
