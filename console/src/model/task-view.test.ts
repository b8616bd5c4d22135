import type { StreamResponse, TaskState } from 'dragoman/client'
import { describe, expect, it } from 'vitest'
import { diffJson } from './diff-json.js'
import { TaskView, taskAfter } from './task-view.js'

const status = (state: TaskState): StreamResponse => ({
  statusUpdate: { taskId: 't', contextId: 'c', status: { state } },
})
const chunk = (text: string, append: boolean): StreamResponse => ({
  artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text }] }, append },
})
const begun: StreamResponse = { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } } }

describe('TaskView', () => {
  it('joins chunks of text, and keeps other parts between them', () => {
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

  it('begins anew with a task, and replaces an artifact that is not appended to', () => {
    const view = new TaskView()
    for (const event of [begun, chunk('old', false), chunk('new', false)]) view.fold(event)
    expect(view.artifacts.get('a')?.blocks).toEqual(['new'])
    view.fold(begun)
    expect([view.artifacts.size, view.state]).toEqual([0, 'TASK_STATE_SUBMITTED'])
  })

  it('is what it was at any point of its log', () => {
    const events = [begun, status('TASK_STATE_WORKING'), chunk('one', false), status('TASK_STATE_COMPLETED')]
    const log = events.map((event, place) => ({ event, seq: place + 1, at: undefined }))
    expect(taskAfter(log, 2).state).toBe('TASK_STATE_WORKING')
    expect(taskAfter(log, 2).artifacts.size).toBe(0)
    expect(taskAfter(log, 4).state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('diffJson', () => {
  it('names what was added, removed and changed by its path', () => {
    expect(diffJson({ a: 1, list: [{ b: 1 }], gone: 1 }, { a: 2, list: [{ b: 1 }, 5], new: 1 })).toEqual([
      { path: 'a', before: 1, after: 2 },
      { path: 'list[1]', after: 5 },
      { path: 'gone', before: 1 },
      { path: 'new', after: 1 },
    ])
  })
})
