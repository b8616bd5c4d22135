/**
 * What is written down of a step: one checkpoint each, replaced as the step goes on. A run that starts again
 * knows from these what is done, what is under way and where, and what was asked.
 *
 *   running ─┬─▶ completed
 *            ├─▶ asking ─▶ running      the agent has a question, and its answer
 *            ├─▶ running, attempt + 1   it failed, and is tried again or elsewhere
 *            ├─▶ failed
 *            └─▶ canceled               the run failed meanwhile
 *
 * Results are not in here: the artifacts of a step are artifacts of the run, under ids that begin with its name.
 */
import type { JsonValue, Part } from '../model/part.js'
import type { TaskStatus } from '../model/task.js'
import type { StepAgentName } from './step-agents.js'

export type StepState = 'running' | 'asking' | 'completed' | 'failed' | 'canceled'

export interface StepRecord {
  readonly kind: 'step' | 'ask' | 'once' | 'undo'
  readonly state: StepState
  /** Times in milliseconds since 1970. */
  readonly startedAt: number
  readonly endedAt?: number
  /** Names of the steps it builds on. */
  readonly after?: readonly string[]
  readonly agent?: string
  /** Where it is found again, for those who have to cancel it: a name, an address or a skill. */
  readonly place?: StepAgentName
  readonly attempt: number
  /** When this attempt began, or its last question was answered. */
  readonly attemptAt: number
  /** The agent's task, as soon as it is known. */
  readonly taskId?: string
  readonly status?: TaskStatus
  /** Ids of its artifacts, as the agent calls them. */
  readonly artifacts?: readonly string[]
  /** Of `ask`, the parts of the answer; of `once`, the value. */
  readonly value?: JsonValue
  readonly error?: string
  /** What undoes it. */
  readonly undo?: { readonly agent: StepAgentName; readonly parts: readonly Part[] }
}

/** The question that whoever started the run has to answer; there is one at a time. */
export interface OpenQuestion {
  readonly step: string
  /** The turn that asked; the message of a later one is the answer. */
  readonly askedIn: number
  /** What tells it from the next question of the same agent. */
  readonly fingerprint: string
}

const stepPrefix = 'step:'
const maxNameLength = 150

export function stepKey(name: string): string {
  if (name === '' || name.length > maxNameLength)
    throw new TypeError(
      `The name of a step has 1 to ${maxNameLength} characters, those of the rounds around it included`,
    )
  return `${stepPrefix}${name}`
}

/** The step that undoes another one. */
export function undoName(name: string): string {
  return `undo ${name}`
}

/** By name, in the order in which they were begun. */
export function recordsIn(checkpoints: ReadonlyMap<string, JsonValue>): Map<string, StepRecord> {
  const records = new Map<string, StepRecord>()
  // Only this file's users write under this prefix.
  for (const [key, value] of checkpoints)
    if (key.startsWith(stepPrefix)) records.set(key.slice(stepPrefix.length), value as unknown as StepRecord)
  return records
}
