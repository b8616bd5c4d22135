/**
 * States and roles in every spelling: v1.0's and the protobuf's names, 0.x's words, numbers. A v1.0 peer
 * may have learnt 0.3's words from a draft, so answers are read with these in both dialects.
 */
import type { Role } from '../model/message.js'
import { type TaskState, taskStates } from '../model/task.js'
import { type Decoder, type Fault, refuse } from './decode.js'

const longestEnumText = 40

const statesByText: ReadonlyMap<string, TaskState> = new Map([
  ...taskStates.map((state) => [normal(state, 'TASK_STATE_'), state] as const),
  ['CANCELLED', 'TASK_STATE_CANCELED'], // the protobuf's spelling, and a common slip elsewhere (R3-DM-3)
])

const words = taskStates.map((state) => normal(state, 'TASK_STATE_').toLowerCase().replaceAll('_', '-'))

/** `TASK_STATE_INPUT_REQUIRED`, `input-required`, `input_required` and the protobuf's number, whatever the case. */
export const taskState: Decoder<TaskState> = Object.assign(
  (value: unknown, faults: Fault[]) => {
    const state = typeof value === 'number' ? taskStates[value - 1] : statesByText.get(normal(value, 'TASK_STATE_'))
    return state ?? refuse(faults, `must be one of ${words.join(', ')}`)
  },
  { isUnset: (value: unknown) => value === 0 || value === '' || value === 'TASK_STATE_UNSPECIFIED' },
)

/**
 * The state a peer's task is in. Saying that it is `unknown` is saying nothing about it; a word that no
 * version has is refused all the same, because it may be an end that somebody waits for.
 */
export const toldState: Decoder<TaskState> = Object.assign(
  (value: unknown, faults: Fault[]) => taskState(value, faults),
  { isUnset: (value: unknown) => value === 0 || value === '' || isUnknown(value) },
)

function isUnknown(value: unknown): boolean {
  const text = normal(value, 'TASK_STATE_')
  return text === 'UNKNOWN' || text === 'UNSPECIFIED'
}

export const role: Decoder<Role> = Object.assign(
  (value: unknown, faults: Fault[]): Role | undefined => {
    const text = typeof value === 'number' ? roleNumbers[value - 1] : normal(value, 'ROLE_')
    if (text === 'USER') return 'ROLE_USER'
    return text === 'AGENT' ? 'ROLE_AGENT' : refuse(faults, 'must be user or agent')
  },
  { isUnset: (value: unknown) => value === 0 || value === '' || value === 'ROLE_UNSPECIFIED' },
)

const roleNumbers = ['USER', 'AGENT']

function normal(value: unknown, prefix: string): string {
  if (typeof value !== 'string' || value.length > longestEnumText) return ''
  const text = value.toUpperCase().replaceAll('-', '_')
  return text.startsWith(prefix) ? text.slice(prefix.length) : text
}
