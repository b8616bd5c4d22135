import { describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import type { EventBody, TaskEvent } from './event.js'
import { isTerminal, type Task, type TaskState, taskStates } from './task.js'
import { foldEvents, TaskFold } from './task-fold.js'

const task: Task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }

function numbered(bodies: readonly EventBody[]): TaskEvent[] {
  return bodies.map((body, place) => ({ seq: place + 1, time: 0, body }))
}

function status(state: TaskState, text?: string): EventBody {
  const message = text && { messageId: text, role: 'ROLE_AGENT' as const, parts: [{ text }] }
  return { statusUpdate: { taskId: 't', contextId: 'c', status: { state, ...(message && { message }) } } }
}

function chunk(text: string, append: boolean, lastChunk = false): EventBody {
  const artifact = { artifactId: 'a', parts: [{ text }] }
  return { artifactUpdate: { taskId: 't', contextId: 'c', artifact, append, lastChunk } }
}

/** Returns the task after one more event. */
function applyEvent(before: Task, event: TaskEvent): Task {
  return TaskFold.from(before, event.seq - 1)
    .apply(event)
    .snapshot() as Task // `from` was given a task, so there is one
}

describe('TaskFold', () => {
  it(proves('R-TASK-2', 'rejects every change of a terminal task'), () => {
    for (const state of taskStates.filter(isTerminal)) {
      const ended = { ...task, status: { state } }
      for (const body of [status('TASK_STATE_WORKING'), chunk('x', false)]) {
        expect(() => applyEvent(ended, { seq: 1, time: 0, body })).toThrow('does not change')
      }
    }
  })

  it(proves('R-TASK-6', 'allows any change between open states, except back to SUBMITTED'), () => {
    for (const from of taskStates.filter((state) => !isTerminal(state))) {
      for (const to of taskStates) {
        const apply = () => applyEvent({ ...task, status: { state: from } }, { seq: 1, time: 0, body: status(to) })
        if (to === 'TASK_STATE_SUBMITTED' && from !== to) expect(apply).toThrow('does not go')
        else expect(apply().status.state).toBe(to)
      }
    }
  })

  it(proves('R-STRM-8', 'appends, replaces and creates artifacts, and drops the empty final chunk'), () => {
    const bodies = [chunk('old', false), chunk('a', false), chunk('b', true), chunk('', true, true)]
    const after = bodies.reduce((now, body) => applyEvent(now, { seq: 1, time: 0, body }), task)
    expect(after.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'a' }, { text: 'b' }] }])
    const unknown = applyEvent(task, { seq: 1, time: 0, body: chunk('x', true) })
    expect(unknown.artifacts?.[0]?.parts).toEqual([{ text: 'x' }])
  })

  it('does not change the given task', () => {
    const before = applyEvent(task, { seq: 1, time: 0, body: chunk('a', false) })
    const copy = structuredClone(before)
    applyEvent(before, { seq: 2, time: 0, body: chunk('b', true) })
    expect(before).toEqual(copy)
  })
})

describe('TaskFold', () => {
  const message = { messageId: 'm', role: 'ROLE_USER' as const, parts: [{ text: 'hi' }] }
  const begun = [{ accepted: { turn: 1, message } }, { started: { turn: 1, attempt: 1 } }, { task }]

  it('returns snapshots that later events do not change', () => {
    const fold = foldEvents(numbered([...begun, chunk('a', false)]))
    const early = fold.snapshot()
    fold.apply({ seq: 5, time: 0, body: chunk('b', true) })
    expect(early?.artifacts?.[0]?.parts).toEqual([{ text: 'a' }])
    expect(fold.snapshot()?.artifacts?.[0]?.parts).toHaveLength(2)
  })

  it('keeps questions and final messages in the history, without progress', () => {
    const events = [
      status('TASK_STATE_WORKING', 'busy'),
      status('TASK_STATE_INPUT_REQUIRED', 'which?'),
      status('TASK_STATE_COMPLETED', 'done'),
    ]
    const { history } = foldEvents(numbered([...begun, ...events])).snapshot() ?? {}
    expect(history?.map(({ messageId }) => messageId)).toEqual(['m', 'which?', 'done'])
  })

  it('rejects a log with a gap', () => {
    expect(() => new TaskFold().apply({ seq: 2, time: 0, body: { cancelAsked: {} } })).toThrow('does not follow')
  })
})
