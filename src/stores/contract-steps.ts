/** Shared by the suites of stores: types of a suite, and steps that create, continue and end a task. */
import type { EventBody, TaskEvent } from '../model/event.js'
import type { Message } from '../model/message.js'
import type { Task, TaskState } from '../model/task.js'
import type { OptionalMember } from './complete-store.js'
import type { Append, CompleteStore, Store, TaskKey } from './store.js'

/** The functions of a test runner that suites use, such as those of vitest or `node:test`. */
export interface TestRunner {
  describe(name: string, body: () => void): void
  it(name: string, body: () => Promise<void>): void
}

/** Opens an empty store that reads its time from `now`. */
export type OpenStore = (options: { readonly now: () => number }) => Promise<Store>

/**
 * Registers one case, on a new store with a clock that the case can move. The suite leaves it out if the store has
 * none of a member in `needs`.
 */
export type Check = (
  name: string,
  body: (store: CompleteStore, clock: { ms: number }) => Promise<void>,
  needs?: readonly OptionalMember[],
) => void

export function key(id: string): TaskKey {
  return { agent: 'a', id }
}

export function message(text: string): Message {
  return { messageId: `m-${text}`, role: 'ROLE_USER', parts: [{ text }] }
}

export function chunk(taskId: string, text: string): EventBody {
  return { artifactUpdate: { taskId, contextId: 'c1', artifact: { artifactId: 'x', parts: [{ text }] }, append: true } }
}

export function status(taskId: string, state: TaskState): EventBody {
  return { statusUpdate: { taskId, contextId: 'c1', status: { state } } }
}

function numbered(after: number, bodies: readonly EventBody[]): TaskEvent[] {
  return bodies.map((body, place) => ({ seq: after + place + 1, time: 1, body }))
}

export function append(id: string, expect: number, bodies: readonly EventBody[]): Append {
  return { key: key(id), expect, events: numbered(expect, bodies) }
}

interface Created {
  readonly state: TaskState
  readonly timeMs: number
  readonly contextId?: string
}

export function creation(
  id: string,
  created: Created = { state: 'TASK_STATE_SUBMITTED', timeMs: 1 },
  owner = 'ann',
): Append {
  const contextId = created.contextId ?? 'c1'
  const task: Task = { id, contextId, status: { state: created.state } }
  const first: EventBody[] = [
    { accepted: { turn: 1, message: message('hello') } },
    { started: { turn: 1, attempt: 1 } },
    { task },
  ]
  return {
    key: key(id),
    expect: 0,
    create: { tenant: '', owner, contextId, dialect: '1.0' },
    events: numbered(0, first),
    visibility: 'task',
    status: { state: created.state, timeMs: created.timeMs },
  }
}

export function ending(id: string, expect: number, timeMs = 2): Append {
  const state = 'TASK_STATE_COMPLETED'
  const artifacts = [{ artifactId: 'x', parts: [{ text: 'done' }] }]
  return {
    ...append(id, expect, [chunk(id, 'done'), status(id, state)]),
    status: { state, timeMs },
    isRunnable: false,
    snapshot: { id, contextId: 'c1', status: { state }, artifacts },
  }
}
