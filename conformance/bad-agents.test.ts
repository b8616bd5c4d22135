import { type Agent, agent, artifact, data, type Task, type TaskState, type Yield } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { bindings, outline, testServer, userMessage } from './fixture.js'
import { proves } from './proves.js'

// Values that no event can carry. TypeScript rejects them; an agent in JavaScript can yield them.
const unspeakable: readonly (readonly [string, unknown])[] = [
  ['a number', 42],
  ['nothing', undefined],
  ['an object of no kind', { text: 'hello' }],
  ['a status of its own', { kind: 'status', state: 'TASK_STATE_UNSPECIFIED' satisfies string }],
  ['a status of the past', { kind: 'status', state: 'TASK_STATE_SUBMITTED' satisfies TaskState }],
  ['an artifact without parts', artifact('empty', [])],
  ['a part of two kinds', artifact('double', { text: 'x', url: 'https://a.example' } as never)],
  ['a number too large for JSON', artifact('huge', data(10n as never))],
]

function yielding(...values: readonly unknown[]): Agent {
  return agent('Unspeakable', async function* () {
    for (const value of values) yield value as Yield
  })
}

/** A hanging call is the failure looked for here: do not wait long for it. */
const inTime = { timeout: 1500 }

describe.each(bindings)('an agent that does not behave, over %s,', (binding) => {
  it(proves('R-TASK-7', 'fails the task when it throws, at once or later, and hides the reason'), async () => {
    const broken = agent('Broken', async function* ({ text }) {
      if (text === 'at once') throw new Error('secret reason')
      yield 'a start'
      throw new Error('secret reason')
    })
    await using server = await testServer(broken)
    const client = server.over(binding)
    for (const text of ['at once', 'later']) {
      const task = await client.send(text)
      expect(task.status).toMatchObject({
        state: 'TASK_STATE_FAILED',
        message: { role: 'ROLE_AGENT', parts: [{ text: expect.any(String) }] },
      })
      expect(JSON.stringify(task)).not.toContain('secret')
      const stream = await client.stream('SendStreamingMessage', { message: userMessage(text) })
      const events = outline(await stream.rest())
      expect([events[0]?.split(':')[0], events.at(-1)]).toEqual(['task', 'status:FAILED'])
    }
  })

  it.each(unspeakable)(
    proves('R-TASK-7', 'is refused when its first value is invalid: %s'),
    inTime,
    async (_what, value) => {
      await using server = await testServer(yielding(value))
      const refusal = await server.over(binding).refusal('SendMessage', { message: userMessage('go') })
      expect(refusal.reason).toBe('INVALID_AGENT_RESPONSE')
      expect(refusal.message).toMatch(/^The agent yielded an invalid value: [A-Z]/)
    },
  )

  it.each(unspeakable)(
    proves('R-TASK-7', 'fails the task, and ends its streams, when a later value is invalid: %s'),
    inTime,
    async (_what, value) => {
      await using server = await testServer(yielding('a start', value))
      const client = server.over(binding)
      const stream = await client.stream('SendStreamingMessage', { message: userMessage('go') })
      expect(outline(await stream.rest())).toEqual(['task:WORKING', 'artifact:a start', 'status:FAILED'])
      const { tasks } = await client.call<{ tasks: Task[] }>('ListTasks')
      expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_FAILED'])
      expect(tasks[0]?.status.message?.parts).toEqual([
        { text: expect.stringMatching(/^The agent yielded an invalid value: [A-Z]/) },
      ])
    },
  )
})
