import type { Artifact } from './artifact.js'
import type { Message } from './message.js'
import type { Struct } from './part.js'

export const taskStates = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
] as const

/** The states a task may be in. The protocol's `TASK_STATE_UNSPECIFIED` is never sent (R-TASK-6). */
export type TaskState = (typeof taskStates)[number]

/** The state of a task, the time of the change, and the agent's message about it. */
export interface TaskStatus {
  readonly state: TaskState
  readonly message?: Message
  readonly timestamp?: string
}

/** A unit of work that outlives the call that created it. */
export interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly artifacts?: readonly Artifact[]
  readonly history?: readonly Message[]
  readonly metadata?: Struct
}

/** Terminal tasks never change again (R-TASK-2). */
export function isTerminal(state: TaskState): boolean {
  return (
    state === 'TASK_STATE_COMPLETED' ||
    state === 'TASK_STATE_FAILED' ||
    state === 'TASK_STATE_CANCELED' ||
    state === 'TASK_STATE_REJECTED'
  )
}

/** Interrupted tasks wait for the caller. */
export function isInterrupted(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED'
}

/** The messages of the caller, one for each turn. */
export function sentMessages({ history = [] }: Pick<Task, 'history'>): readonly Message[] {
  return history.filter(({ role }) => role === 'ROLE_USER')
}
