import type { StreamResponse, TaskState } from 'dragoman/client'
import { describe, expect, it } from 'vitest'
import { diffJson } from './diff-json.js'
import { idOfEvent, placeOfEvent, TaskView, taskAfter } from './task-view.js'

const status = (state: TaskState): StreamResponse => ({
  statusUpdate: { taskId: 't', contextId: 'c', status: { state } },
})
const chunk = (text: string, append: boolean): StreamResponse => ({
  artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text }] }, append },
})
const begun: StreamResponse = { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } } }

describe('TaskView', () => {
  it('joins adjacent text parts and keeps other parts separate', () => {
    const view = new TaskView()
    for (const event of [begun, chunk('one ', false), chunk('two ', true)]) view.fold(event)
    const data: StreamResponse = {
      artifactUpdate: {
        taskId: 't',
        contextId: 'c',
        artifact: { artifactId: 'a', parts: [{ data: 1 }, { text: 'three' }] },
        append: true,
      },
    }
    view.fold(data)
    expect(view.artifacts.get('a')?.blocks).toEqual(['one two ', { data: 1 }, 'three'])
  })

  it('resets with a task, and replaces an artifact without `append`', () => {
    const view = new TaskView()
    for (const event of [begun, chunk('old', false), chunk('new', false)]) view.fold(event)
    expect(view.artifacts.get('a')?.blocks).toEqual(['new'])
    view.fold(begun)
    expect([view.artifacts.size, view.state]).toEqual([0, 'TASK_STATE_SUBMITTED'])
  })

  it('rebuilds the task at any position of its log', () => {
    const events = [begun, status('TASK_STATE_WORKING'), chunk('one', false), status('TASK_STATE_COMPLETED')]
    const log = events.map((event, place) => ({ event, seq: place + 1, at: undefined }))
    expect(taskAfter(log, 2).state).toBe('TASK_STATE_WORKING')
    expect(taskAfter(log, 2).artifacts.size).toBe(0)
    expect(taskAfter(log, 4).state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('the id of an event in a URL', () => {
  it('is its position in the agent’s log, and resolves to an index of the shown events', () => {
    const log = [3, 4, 7].map((seq) => ({ event: begun, seq, at: undefined }))
    expect([1, 2, 3].map((point) => idOfEvent(log, point))).toEqual([3, 4, 7])
    expect([3, 4, 7].map((id) => placeOfEvent(log, id))).toEqual([1, 2, 3])
    // A missing event resolves to the one before it; invalid ids resolve to the first.
    expect([6, 99, 0, Number.NaN].map((id) => placeOfEvent(log, id))).toEqual([2, 3, 1, 1])
  })

  it('is a count if the agent sends no positions', () => {
    const log = [begun, begun].map((event) => ({ event, seq: undefined, at: undefined }))
    expect(placeOfEvent(log, idOfEvent(log, 2))).toBe(2)
  })
})

describe('diffJson', () => {
  it('lists added, removed and changed members by path', () => {
    expect(diffJson({ a: 1, list: [{ b: 1 }], gone: 1 }, { a: 2, list: [{ b: 1 }, 5], new: 1 })).toEqual([
      { path: 'a', before: 1, after: 2 },
      { path: 'list[1]', after: 5 },
      { path: 'gone', before: 1 },
      { path: 'new', after: 1 },
    ])
  })
})
