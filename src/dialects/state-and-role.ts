/** Decoders of states and roles that accept the names of every protocol version. */
import type { Role } from '../model/message.js'
import { type TaskState, taskStates } from '../model/task.js'
import { type Decoder, type Fault, refuse } from './decode.js'

const maxEnumLength = 40

const statesByText: ReadonlyMap<string, TaskState> = new Map([
  ...taskStates.map((state) => [normal(state, 'TASK_STATE_'), state] as const),
  ['CANCELLED', 'TASK_STATE_CANCELED'], // the protobuf's name, and a common mistake elsewhere (R3-DM-3)
])

const stateNames = taskStates.map((state) => normal(state, 'TASK_STATE_').toLowerCase().replaceAll('_', '-'))

/** Accepts `TASK_STATE_INPUT_REQUIRED`, `input-required`, `input_required` in any case, and the protobuf's number. */
export const taskState: Decoder<TaskState> = Object.assign(
  (value: unknown, faults: Fault[]) => {
    const state = typeof value === 'number' ? taskStates[value - 1] : statesByText.get(normal(value, 'TASK_STATE_'))
    return state ?? refuse(faults, `must be one of ${stateNames.join(', ')}`)
  },
  { isUnset: (value: unknown) => value === 0 || value === '' || value === 'TASK_STATE_UNSPECIFIED' },
)

/**
 * The state of a peer's task. `unknown` counts as absent. A name that no version has is refused: it may be a terminal
 * state that a caller waits for.
 */
export const lenientTaskState: Decoder<TaskState> = Object.assign(
  (value: unknown, faults: Fault[]) => taskState(value, faults),
  { isUnset: (value: unknown) => value === 0 || value === '' || isUnknown(value) },
)

function isUnknown(value: unknown): boolean {
  const text = normal(value, 'TASK_STATE_')
  return text === 'UNKNOWN' || text === 'UNSPECIFIED'
}

export const role: Decoder<Role> = Object.assign(
  (value: unknown, faults: Fault[]): Role | undefined => {
    if (value === 'user' || value === 'ROLE_USER') return 'ROLE_USER'
    const text = typeof value === 'number' ? roleNumbers[value - 1] : normal(value, 'ROLE_')
    if (text === 'USER') return 'ROLE_USER'
    return text === 'AGENT' ? 'ROLE_AGENT' : refuse(faults, 'must be user or agent')
  },
  { isUnset: (value: unknown) => value === 0 || value === '' || value === 'ROLE_UNSPECIFIED' },
)

const roleNumbers = ['USER', 'AGENT']

function normal(value: unknown, prefix: string): string {
  if (typeof value !== 'string' || value.length > maxEnumLength) return ''
  const text = value.toUpperCase().replaceAll('-', '_')
  return text.startsWith(prefix) ? text.slice(prefix.length) : text
}
