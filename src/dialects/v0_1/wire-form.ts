/** Differences between the published v0.1 and that of the community Go library, as data. */
import type { Struct } from '../../model/part.js'
import type { TaskState } from '../../model/task.js'
import { type Decoder, refuse } from '../decode.js'

/** The encoding of parts. */
export interface PartStyle {
  /** Whether parts have a `type`. If not, readers decide by the members. */
  readonly isTyped: boolean
  /** Whether `mimeType` is a member of the part, and not of `file`. */
  readonly hasMimeTypeBeside: boolean
}

export interface WireForm {
  readonly states: Readonly<Record<TaskState, string>>
  readonly messageParts: PartStyle
  readonly artifactParts: PartStyle
  /** Whether the server generates an id for a send without a task id or with an empty one. */
  readonly makesTaskIds: boolean
  /** Whether artifacts have an id beside their index. */
  readonly hasArtifactIds: boolean
  /** Whether tasks include their history on request. */
  readonly hasHistory: boolean
  /** Whether stream events have names and no JSON-RPC envelope, except for the first response. */
  readonly hasNamedEvents: boolean
  /** Whether responses have push configs without the id of their task. */
  readonly hasBarePushConfigs: boolean
  /** Whether the card has `iconUri`, always has `authentication`, and lacks `documentationUrl`. */
  readonly hasGoCard: boolean
}

const typed: PartStyle = { isTyped: true, hasMimeTypeBeside: false }

/** A2A v0.1.0. */
export const standard: WireForm = {
  states: {
    TASK_STATE_SUBMITTED: 'submitted',
    TASK_STATE_WORKING: 'working',
    TASK_STATE_COMPLETED: 'completed',
    TASK_STATE_FAILED: 'failed',
    TASK_STATE_CANCELED: 'canceled',
    TASK_STATE_INPUT_REQUIRED: 'input-required',
    TASK_STATE_REJECTED: 'failed',
    TASK_STATE_AUTH_REQUIRED: 'input-required',
  },
  messageParts: typed,
  artifactParts: typed,
  makesTaskIds: false,
  hasArtifactIds: false,
  hasHistory: true,
  hasNamedEvents: false,
  hasBarePushConfigs: false,
  hasGoCard: false,
}

/** The community Go library (RL-GO-1 to RL-GO-7). */
export const go: WireForm = {
  states: {
    TASK_STATE_SUBMITTED: 'pending',
    TASK_STATE_WORKING: 'processing',
    TASK_STATE_COMPLETED: 'completed',
    TASK_STATE_FAILED: 'failed',
    TASK_STATE_CANCELED: 'canceled',
    TASK_STATE_INPUT_REQUIRED: 'processing',
    TASK_STATE_REJECTED: 'failed',
    TASK_STATE_AUTH_REQUIRED: 'processing',
  },
  messageParts: { isTyped: true, hasMimeTypeBeside: true },
  artifactParts: { isTyped: false, hasMimeTypeBeside: true },
  makesTaskIds: true,
  hasArtifactIds: false,
  hasHistory: false,
  hasNamedEvents: true,
  hasBarePushConfigs: true,
  hasGoCard: true,
}

/** Every state name observed from servers of this family. `unknown` ends a task with an unknown outcome. */
const stateNames: ReadonlyMap<string, TaskState> = new Map([
  ['submitted', 'TASK_STATE_SUBMITTED'],
  ['pending', 'TASK_STATE_SUBMITTED'],
  ['working', 'TASK_STATE_WORKING'],
  ['processing', 'TASK_STATE_WORKING'],
  ['completed', 'TASK_STATE_COMPLETED'],
  ['failed', 'TASK_STATE_FAILED'],
  ['unknown', 'TASK_STATE_FAILED'],
  ['canceled', 'TASK_STATE_CANCELED'],
  ['cancelled', 'TASK_STATE_CANCELED'],
  ['input-required', 'TASK_STATE_INPUT_REQUIRED'],
  ['rejected', 'TASK_STATE_REJECTED'],
  ['auth-required', 'TASK_STATE_AUTH_REQUIRED'],
])

const maxNameLength = 40

/** Lower or upper case, with dashes or underscores, with or without v1.0's prefix. */
export const state: Decoder<TaskState> = (value, faults) => {
  const word =
    typeof value === 'string' && value.length <= maxNameLength
      ? value.toLowerCase().replaceAll('_', '-').replace('task-state-', '')
      : ''
  return stateNames.get(word) ?? refuse(faults, 'must be a state such as working or completed')
}

/** States that v0.1 has no name for, and the states that are sent instead. */
const substitutes: ReadonlyMap<TaskState, readonly TaskState[]> = new Map([
  ['TASK_STATE_REJECTED', ['TASK_STATE_FAILED']],
  ['TASK_STATE_AUTH_REQUIRED', ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_WORKING']],
  ['TASK_STATE_INPUT_REQUIRED', ['TASK_STATE_WORKING']],
])

/** Adds the actual state to the metadata when the name sent for `shown` is ambiguous. */
export function noteState(metadata: Struct | undefined, shown: TaskState, { states }: WireForm): Struct | undefined {
  const looksLike = substitutes.get(shown)
  if (!looksLike?.some((other) => states[other] === states[shown])) return metadata
  return { ...metadata, a2aState: shown }
}

/** The reverse of `noteState`: the actual state, and the metadata without the note. */
export function readState(
  shown: TaskState,
  metadata: Struct | undefined,
): { readonly state: TaskState; readonly metadata?: Struct } {
  if (!metadata) return { state: shown }
  if (metadata.a2aState === undefined) return { state: shown, metadata }
  const { a2aState, ...rest } = metadata
  const noted = a2aState as TaskState // only looked up, and used if it is a state
  return {
    state: substitutes.get(noted)?.includes(shown) ? noted : shown,
    ...(Object.keys(rest).length > 0 && { metadata: rest }),
  }
}

export const exampleMessage = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }
