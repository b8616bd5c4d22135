import { agent, apiKey, ask, completed, working } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { type Answer, testServer } from './fixture.js'
import {
  body01,
  OlderClient,
  type OldMessage,
  type OldTask,
  readEvents,
  type SentEvent,
  textOfTask,
} from './older-fixture.js'
import { proves } from './proves.js'

const dialects = ['v1', 'task-rest'] as const
const url = 'https://client.example/hook'

/** The number of an error, after a check of its form. */
function refusal({ status, headers, body }: Answer): [status: number, code: number] {
  expect(Object.keys(body)).toEqual(['detail', 'error'])
  const { code, message } = body.error as { code: number; message: string }
  expect(Object.keys(body.error as object)).toEqual(['code', 'message'])
  expect(body.detail).toBe(message)
  expect(message).toMatch(/\S/)
  expect(headers.get('content-type')).toBe('application/json')
  return [status, code]
}

describe('task-rest', () => {
  it(proves('RL-L0-1', 'makes ids of tasks and keeps the caller’s context on everything'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server)
    const body = body01('outline', { messageId: 'm1', contextId: 'chain-1' })
    const task = await client.fetch<OldTask>('POST', '/tasks/send', body)
    expect(task).toEqual({
      id: expect.stringMatching(/^\S+$/),
      contextId: 'chain-1',
      status: { state: 'completed', timestamp: expect.stringMatching(/Z$/) },
      artifacts: [
        { artifactId: expect.any(String), index: 0, lastChunk: true, parts: [{ type: 'text', text: 'outline' }] },
      ],
      history: [
        {
          role: 'user',
          messageId: 'm1',
          taskId: task.id,
          contextId: 'chain-1',
          parts: [{ type: 'text', text: 'outline' }],
        },
      ],
    })
    expect(await client.fetch('GET', `/tasks/${task.id}`)).toEqual(task)
    const other = await client.fetch<OldTask>('POST', '/tasks/send', body)
    expect([other.contextId, other.id === task.id]).toEqual(['chain-1', false])
    expect((await client.fetch<OldTask>('POST', '/tasks/send', body01('x'))).contextId).toMatch(/^\S+$/)
  })

  it.each([
    ['no input', { message: { role: 'user', parts: [] } }],
    ['an agent that throws', body01('crash')],
    ['an agent that fails', body01('fail')],
  ])(proves('RL-L0-2', 'answers %s with a failed task and a reason'), async (_what, body) => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server)
    const task = await client.fetch<OldTask>('POST', '/tasks/send', body)
    expect(task.status.state).toBe('failed')
    expect(task.status.message?.parts[0]).toMatchObject({ type: 'text', text: expect.stringMatching(/\S/) })
    expect(JSON.stringify(task)).not.toContain('Crashed as asked')
    // The task is real.
    expect(await client.fetch('GET', `/tasks/${task.id}`)).toEqual(task)
  })

  it(proves('RL-L0-2', 'answers no input with a failed task in a stream, too'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const body = { message: { role: 'user', parts: [] } }
    const events = await readEvents(await new OlderClient(server).request('POST', '/tasks/sendSubscribe', body))
    expect(events.at(-1)?.data).toMatchObject({ task: { status: { state: 'failed', message: { role: 'agent' } } } })
  })

  it.each([
    ['no message', '/tasks/send', {}, 422, -32602],
    ['a message of another type', '/tasks/send', { message: 'hello' }, 422, -32602],
    ['no role', '/tasks/send', { message: { parts: [] } }, 422, -32602],
    ['no parts', '/tasks/send', { message: { role: 'user' } }, 422, -32602],
    ['a list', '/tasks/send', '[]', 422, -32602],
    ['broken JSON', '/tasks/send', '{"message":', 400, -32700],
    ['no message to a stream', '/tasks/sendSubscribe', {}, 422, -32602],
    ['an unknown task', '/tasks/send', body01('hi', { taskId: 'nope' }), 404, -32001],
    ['an unknown task to cancel', '/tasks/nope/cancel', undefined, 404, -32001],
    ['an unknown task to cancel by body', '/tasks/cancel', { id: 'nope' }, 404, -32001],
    ['no task to cancel', '/tasks/cancel', {}, 422, -32602],
    ['an unknown task to follow', '/tasks/resubscribe', { id: 'nope' }, 404, -32001],
    ['an unknown task’s webhook', '/tasks/pushNotification/get', { id: 'nope' }, 404, -32001],
  ])(proves('RL-L0-2', 'refuses %s in its own form'), async (_what, path, body, status, code) => {
    await using server = await testServer(echoAgent, { dialects })
    expect(refusal(await new OlderClient(server).send('POST', path, body))).toEqual([status, code])
  })

  it(proves('RL-L0-2', 'says 404 for a task that is not there'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    expect(refusal(await new OlderClient(server).send('GET', '/tasks/nope'))).toEqual([404, -32001])
  })

  it.each(['/tasks/send', '/tasks/sendSubscribe'])(
    proves('RL-L0-4', 'asks, and goes on when %s brings the answer'),
    async (path) => {
      await using server = await testServer(echoAgent, { dialects })
      const client = new OlderClient(server)
      const asked = await client.fetch<OldTask>('POST', '/tasks/send', body01('ask'))
      expect(asked.status).toMatchObject({
        state: 'input-required',
        message: { role: 'agent', parts: [{ type: 'text', text: 'What is the second text?' }] },
      })
      const answer = await client.request('POST', path, body01('second', { taskId: asked.id }))
      const whole = path.endsWith('send') ? { task: await answer.json() } : (await readEvents(answer)).at(-1)?.data
      const { task } = (whole ?? {}) as { task: OldTask }
      expect([task.id, task.status.state, textOfTask(task)]).toEqual([asked.id, 'completed', 'ask\nsecond'])
      expect(refusal(await client.send('POST', '/tasks/send', body01('more', { taskId: asked.id })))).toEqual([
        409, -32009,
      ])
    },
  )

  it(proves('RL-L0-5', 'checks the key its card declares'), async () => {
    await using server = await testServer(echoAgent, { dialects: ['task-rest'], auth: [apiKey('k1')] })
    const client = new OlderClient(server)
    const card = await client.fetch('GET', '/.well-known/agent.json')
    expect(card).toMatchObject({ name: 'Echo', authentication: { schemes: ['apiKey'] } })
    const { id } = await client.fetch<OldTask>('POST', '/tasks/send', body01('ask'), { 'X-API-Key': 'k1' })
    for (const [verb, path, body] of [
      ['POST', '/tasks/send', body01('hi')],
      ['POST', '/tasks/sendSubscribe', body01('hi')],
      ['GET', `/tasks/${id}`, undefined],
      ['POST', `/tasks/${id}/cancel`, undefined],
      ['POST', '/tasks/cancel', { id }],
      ['POST', '/tasks/resubscribe', { id }],
      ['POST', '/tasks/pushNotification/set', { id, pushNotificationConfig: { url } }],
      ['POST', '/tasks/pushNotification/get', { id }],
    ] as const) {
      for (const key of [undefined, 'wrong']) {
        const answer = await client.send(verb, path, body, { 'X-API-Key': key })
        expect(refusal(answer), path).toEqual([401, -32007])
        expect(answer.headers.get('www-authenticate')).toMatch(/^ApiKey/)
      }
    }
    expect(await client.fetch('GET', `/tasks/${id}`, undefined, { 'X-API-Key': 'k1' })).toMatchObject({
      status: { state: 'input-required' },
    })
  })

  it.each([
    ['/tasks/{id}/cancel', (id: string): [string, unknown] => [`/tasks/${id}/cancel`, undefined]],
    ['/tasks/cancel', (id: string): [string, unknown] => ['/tasks/cancel', { id }]],
  ])(proves('RL-L0-6', 'cancels at %s'), async (_path, cancel) => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server)
    const { id } = await client.fetch<OldTask>('POST', '/tasks/send', body01('ask'))
    expect(await client.fetch('POST', ...cancel(id))).toMatchObject({ id, status: { state: 'canceled' } })
    const { id: ended } = await client.fetch<OldTask>('POST', '/tasks/send', body01('hello'))
    expect(refusal(await client.send('POST', ...cancel(ended)))).toEqual([409, -32002])
    expect(refusal(await client.send('POST', ...cancel('nope')))).toEqual([404, -32001])
  })

  it(proves('RL-L0-7', 'keeps a webhook that came with the message, or was set later'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server)
    const body = { ...body01('ask'), pushNotification: { url, token: 'tk' } }
    const { id } = await client.fetch<OldTask>('POST', '/tasks/send', body)
    const get = () => client.fetch('POST', '/tasks/pushNotification/get', { id })
    expect(await get()).toEqual({ id, pushNotificationConfig: { url, token: 'tk' } })
    const other = { id, pushNotificationConfig: { url: `${url}/2` } }
    expect(await client.fetch('POST', '/tasks/pushNotification/set', other)).toEqual(other)
    expect(await get()).toEqual(other)
    await client.fetch('POST', '/tasks/pushNotification/set', { id, pushNotificationConfig: null })
    expect(refusal(await client.send('POST', '/tasks/pushNotification/get', { id }))).toEqual([404, -32001])
  })

  it(proves('RL-L0-7', 'claims webhooks in its card only where it has them'), async () => {
    const quiet = agent('Quiet', async function* () {
      yield 'x'
    })
    for (const [served, pushNotifications] of [
      [echoAgent, true],
      [quiet, false],
    ] as const) {
      await using server = await testServer(served, { dialects: ['task-rest'] })
      const client = new OlderClient(server)
      const card = await client.fetch('GET', '/.well-known/agent.json')
      expect(card).toMatchObject({ capabilities: { streaming: true, pushNotifications } })
      const answer = await client.send('POST', '/tasks/send', { ...body01('hi'), pushNotification: { url } })
      if (pushNotifications) expect(answer.status).toBe(200)
      else expect(refusal(answer)).toEqual([400, -32003])
    }
  })

  it(proves('RL-L0-9', 'shows a task to those who come back'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server)
    const { id } = await client.fetch<OldTask>('POST', '/tasks/send', body01('hello'))
    const events = await readEvents(await client.request('POST', '/tasks/resubscribe', { id }))
    expect(events.map(({ data }) => data)).toMatchObject([{ task: { id, status: { state: 'completed' } } }])
  })

  it.each(['memory', 'sqlite::memory:'])(
    'keeps progress in the history over several turns, in the store %s',
    async (store) => {
      const chatty = agent('Chatty', async function* ({ text, number }) {
        yield working(`Reading ${text}`)
        yield working(`Thinking about ${text}`)
        if (number === 1) yield ask('And then?')
        yield completed('Done')
      })
      await using server = await testServer(chatty, { dialects, store })
      const client = new OlderClient(server)
      const said = ({ history = [] }: OldTask) => history.map(({ role, parts }) => `${role}: ${parts[0]?.text}`)
      const first = ['user: one', 'agent: Reading one', 'agent: Thinking about one', 'agent: And then?']
      const asked = await client.fetch<OldTask>('POST', '/tasks/send', body01('one'))
      expect(said(asked)).toEqual(first)
      const body = body01('two', { taskId: asked.id })
      const events = await readEvents(await client.request('POST', '/tasks/sendSubscribe', body))
      const all = [...first, 'user: two', 'agent: Reading two', 'agent: Thinking about two', 'agent: Done']
      const taskIn = (event: SentEvent | undefined) => (event?.data as { task?: OldTask } | undefined)?.task
      expect(said(taskIn(events.at(-1)) as OldTask)).toEqual(all)
      expect(said(await client.fetch('GET', `/tasks/${asked.id}`))).toEqual(all)
      const again = await readEvents(await client.request('POST', '/tasks/resubscribe', { id: asked.id }))
      expect(said(taskIn(again[0]) as OldTask)).toEqual(all)
      // Other dialects show questions and final messages only.
      const { history } = (await server.rest('GET', `/tasks/${asked.id}`)).body as { history: OldMessage[] }
      expect(history.map(({ parts }) => parts[0]?.text)).toEqual(['one', 'And then?', 'two', 'Done'])
    },
  )

  it('streams whole tasks and pieces of artifacts, without an envelope', async () => {
    await using server = await testServer(echoAgent, { dialects })
    const body = body01('chunks 2', { contextId: 'c' })
    const events = await readEvents(await new OlderClient(server).request('POST', '/tasks/sendSubscribe', body))
    const received = events.map(({ data }) => data as { task?: OldTask; artifact?: unknown })
    expect(received.map(({ task }) => task?.status.state ?? 'artifact')).toEqual([
      'submitted',
      'working',
      'artifact',
      'artifact',
      'completed',
    ])
    expect(received[3]).toEqual({
      taskId: received[0]?.task?.id,
      contextId: 'c',
      artifact: expect.objectContaining({ index: 1, append: true, lastChunk: true }),
    })
    expect(textOfTask(received[4]?.task as OldTask)).toBe('chunk 1 chunk 2 ')
  })
})
