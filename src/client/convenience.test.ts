import { describe, expect, it } from 'vitest'
import { A2AError } from '../model/errors.js'
import type { AgentService } from '../model/service.js'
import type { Task } from '../model/task.js'
import { createConvenience } from './convenience.js'
import { fakeTiming, numbered, peer, play, status, taskIn } from './scripted.fixture.js'

const working = taskIn('TASK_STATE_WORKING')
const done = taskIn('TASK_STATE_COMPLETED')

function clientOf(operations: Partial<AgentService>) {
  return createConvenience(peer(operations), {
    dialect: () => 'v1',
    timing: fakeTiming(),
  })
}

function inTurn(...tasks: Task[]): () => Promise<Task> {
  return async () => tasks.shift() ?? Promise.reject(new Error('Asked too often'))
}

describe('task().wait', () => {
  it('follows the task to its end', async () => {
    const { task } = clientOf({
      getTask: inTurn(working, done),
      subscribeToTask: () => play(numbered(1, { task: working }, status('TASK_STATE_COMPLETED'))),
    })
    expect(await task('t1').wait()).toBe(done)
  })

  it('reads the task if it ended in between', async () => {
    const { task } = clientOf({
      getTask: inTurn(working, done, done),
      subscribeToTask: () => play([], new A2AError('UNSUPPORTED_OPERATION', 'It has ended')),
    })
    expect(await task('t1').wait()).toBe(done)
  })

  it('polls if the agent has no subscriptions', async () => {
    const { ask } = clientOf({
      sendMessage: async () => ({ task: working }),
      getTask: inTurn(working, working, working, done, done),
      subscribeToTask: () => play([], new A2AError('METHOD_NOT_FOUND', 'No such method')),
    })
    expect(await ask('hi')).toMatchObject({ state: 'TASK_STATE_COMPLETED', task: done })
  })
})
