/** What differs between v0.1 as published and as the community Go library speaks it, as data. */
import type { Struct } from '../../model/part.js'
import type { TaskState } from '../../model/task.js'
import { type Decoder, refuse } from '../decode.js'

/** How parts are written. */
export interface PartStyle {
  /** Parts say what they are; else it is seen from their members. */
  readonly isTyped: boolean
  /** `mimeType` stands beside `file` and `data`, not inside `file`. */
  readonly hasMimeTypeBeside: boolean
}

export interface Spelling {
  readonly states: Readonly<Record<TaskState, string>>
  readonly messageParts: PartStyle
  readonly artifactParts: PartStyle
  /** A send without a task id, or with an empty one, gets an id from the server. */
  readonly makesTaskIds: boolean
  /** Artifacts say their ids beside their places. */
  readonly hasArtifactIds: boolean
  /** Tasks show their history to those who ask for it. */
  readonly hasHistory: boolean
  /** Events stand in the stream by themselves, under names; only the first answer is JSON-RPC. */
  readonly hasNamedEvents: boolean
  /** Push configs are answered without the id of their task. */
  readonly hasBarePushConfigs: boolean
  /** The card has `iconUri` and always `authentication`, but no `documentationUrl`. */
  readonly hasGoCard: boolean
}

const typed: PartStyle = { isTyped: true, hasMimeTypeBeside: false }

/** A2A v0.1.0. */
export const standard: Spelling = {
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
export const go: Spelling = {
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

/** Every word that servers of this family were seen to use; `unknown` ends a task, nobody knows how. */
const words: ReadonlyMap<string, TaskState> = new Map([
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

const longestWord = 40

/** Lower or upper case, with dashes or underscores, with or without v1.0's prefix. */
export const state: Decoder<TaskState> = (value, faults) => {
  const word =
    typeof value === 'string' && value.length <= longestWord
      ? value.toLowerCase().replaceAll('_', '-').replace('task-state-', '')
      : ''
  return words.get(word) ?? refuse(faults, 'must be a state such as working or completed')
}

/** States that have no word of their own, and what they look like. */
const disguises: ReadonlyMap<TaskState, readonly TaskState[]> = new Map([
  ['TASK_STATE_REJECTED', ['TASK_STATE_FAILED']],
  ['TASK_STATE_AUTH_REQUIRED', ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_WORKING']],
  ['TASK_STATE_INPUT_REQUIRED', ['TASK_STATE_WORKING']],
])

/** The metadata of what shows `shown`, with its true name when the word does not tell it. */
export function noteState(metadata: Struct | undefined, shown: TaskState, { states }: Spelling): Struct | undefined {
  const looksLike = disguises.get(shown)
  if (!looksLike?.some((other) => states[other] === states[shown])) return metadata
  return { ...metadata, a2aState: shown }
}

/** The reverse: the true state, and the metadata without its note. */
export function readState(
  shown: TaskState,
  metadata: Struct | undefined,
): { readonly state: TaskState; readonly metadata?: Struct } {
  if (!metadata) return { state: shown }
  if (metadata.a2aState === undefined) return { state: shown, metadata }
  const { a2aState, ...rest } = metadata
  const noted = a2aState as TaskState // only looked up, and used when it is one
  return {
    state: disguises.get(noted)?.includes(shown) ? noted : shown,
    ...(Object.keys(rest).length > 0 && { metadata: rest }),
  }
}

export const exampleMessage = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }
