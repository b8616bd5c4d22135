/**
 * The stored state of a step: one checkpoint, which is replaced as the step progresses. A restarted run reads from these
 * which steps are completed, which are open and at which agent, and which question is open.
 *
 *   running ─┬─▶ completed
 *            ├─▶ asking ─▶ running      the agent asks, and gets the answer
 *            ├─▶ running, attempt + 1   the attempt failed
 *            ├─▶ failed
 *            └─▶ canceled               the run failed meanwhile
 *
 * Results are not stored here: the artifacts of a step are artifacts of the run, with ids that start with its name.
 */
import type { JsonValue, Part } from '../model/part.js'
import type { TaskStatus } from '../model/task.js'
import type { StepAgentName } from './step-agents.js'

/** The state of a step. `asking`: it waits for an answer of the caller. */
export type StepState = 'running' | 'asking' | 'completed' | 'failed' | 'canceled'

export interface StepRecord {
  readonly kind: 'step' | 'ask' | 'once' | 'undo'
  readonly state: StepState
  /** Times in milliseconds since 1970. */
  readonly startedAt: number
  readonly endedAt?: number
  /** Names of the steps that it depends on. */
  readonly after?: readonly string[]
  readonly agent?: string
  /** The reference to the agent, used to cancel the task. */
  readonly place?: StepAgentName
  readonly attempt: number
  /** Start of the attempt, or time of the last answer to its questions. */
  readonly attemptAt: number
  /** The id of the agent's task, when it is known. */
  readonly taskId?: string
  readonly status?: TaskStatus
  /** Ids of its artifacts at the agent. */
  readonly artifacts?: readonly string[]
  /** `ask`: the parts of the answer. `once`: the result. */
  readonly value?: JsonValue
  readonly error?: string
  /** Its compensation. */
  readonly undo?: { readonly agent: StepAgentName; readonly parts: readonly Part[] }
}

/** The question that the caller has to answer; there is at most one. */
export interface OpenQuestion {
  readonly step: string
  /** The turn that asked; the message of a later turn is the answer. */
  readonly askedIn: number
  /** Distinguishes it from other questions of the same step. */
  readonly fingerprint: string
}

const stepPrefix = 'step:'
const maxNameLength = 150

export function stepKey(name: string): string {
  if (name === '' || name.length > maxNameLength)
    throw new TypeError(
      `Invalid step name ${JSON.stringify(name.slice(0, 40))}: a name, with its loop prefixes, must have 1 to ${maxNameLength} characters`,
    )
  return `${stepPrefix}${name}`
}

/** The name of a compensation. */
export function undoName(name: string): string {
  return `undo ${name}`
}

/** Records by step name, in the order of their start. */
export function recordsIn(checkpoints: ReadonlyMap<string, JsonValue>): Map<string, StepRecord> {
  const records = new Map<string, StepRecord>()
  // Only steps write checkpoints with this prefix.
  for (const [key, value] of checkpoints)
    if (key.startsWith(stepPrefix)) records.set(key.slice(stepPrefix.length), value as unknown as StepRecord)
  return records
}
