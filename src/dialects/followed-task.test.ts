import { describe, expect, it } from 'vitest'
import type { TaskState } from '../model/task.js'
import { FollowedTask } from './followed-task.js'

const about = { taskId: 't', contextId: 'c' }
const status = (state: TaskState) => ({ ...about, status: { state } })
const piece = (text: string, append = false) => ({
  ...about,
  artifact: { artifactId: 'a', parts: [{ text }] },
  ...(append && { append }),
})

describe('a followed task', () => {
  it('begins with the task in its first status', () => {
    const followed = new FollowedTask()
    expect(followed.addStatus({ ...status('TASK_STATE_WORKING'), metadata: { k: 1 } })).toEqual([
      { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' }, metadata: { k: 1 } } },
    ])
    expect(followed.addStatus(status('TASK_STATE_WORKING'))).toEqual([{ statusUpdate: status('TASK_STATE_WORKING') }])
  })

  it('does not change after its end', () => {
    const followed = new FollowedTask()
    followed.addStatus(status('TASK_STATE_COMPLETED'))
    expect([
      followed.addStatus(status('TASK_STATE_COMPLETED')),
      followed.addArtifact(piece('x')),
      followed.addTask({ id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' }, artifacts: [] }),
    ]).toEqual([[], [], []])
  })

  it('does not return to the submitted state', () => {
    const followed = new FollowedTask()
    followed.addArtifact(piece('x'))
    expect(followed.addStatus(status('TASK_STATE_SUBMITTED'))).toEqual([])
  })

  it('takes an artifact from a whole task only if it has more content than the chunks', () => {
    const followed = new FollowedTask()
    followed.addArtifact(piece('one '))
    followed.addArtifact(piece('two', true))
    const { status: now } = status('TASK_STATE_WORKING')
    const whole = (text: string) =>
      followed
        .addTask({ id: 't', contextId: 'c', status: now, artifacts: [{ artifactId: 'a', parts: [{ text }] }] })
        .filter((event) => 'artifactUpdate' in event)
    expect([whole('one two'), whole('one'), whole('one two three')]).toEqual([
      [],
      [],
      [{ artifactUpdate: piece('one two three') }],
    ])
  })
})
