import { agent, ask, askAuth, reply, type Task, working } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, gate, outline, soon, testServer, textIn, userMessage } from './fixture.js'
import { proves } from './proves.js'

/** Works until the gate opens. */
function patient() {
  const started = gate()
  const finish = gate()
  const waiting = agent('Patient', async function* () {
    yield working()
    started.open()
    await finish.opened
    yield 'one '
    yield 'two'
  })
  return { waiting, started: started.opened, finish: finish.open }
}

describe.each(bindings)('SendMessage over %s', (binding) => {
  it.each([
    ['hello', 'task'],
    ['fail', 'task'],
    ['crash', 'task'],
    ['ask', 'task'],
    ['msg hello', 'message'],
  ])(proves('R-SEND-1', 'answers %j with exactly one thing: a %s'), async (text, member) => {
    await using server = await testServer(echoAgent)
    expect(Object.keys(await server.over(binding).call('SendMessage', { message: userMessage(text) }))).toEqual([
      member,
    ])
  })

  it(proves('R-SEND-1', 'answers with the whole task'), async () => {
    await using server = await testServer(echoAgent)
    const message = userMessage('hello')
    const { task } = await server.over(binding).call<{ task: Task }>('SendMessage', { message })
    const { id, contextId } = task
    expect(task).toEqual({
      id: expect.stringMatching(/^\S+$/),
      contextId: expect.stringMatching(/^\S+$/),
      status: { state: 'TASK_STATE_COMPLETED', timestamp: expect.stringMatching(/Z$/) },
      artifacts: [{ artifactId: expect.stringMatching(/^\S+$/), parts: [{ text: 'hello' }] }],
      history: [{ ...message, taskId: id, contextId }],
    })
  })

  it(proves('R-SEND-1', 'answers with the whole message'), async () => {
    await using server = await testServer(echoAgent)
    const { message } = await server.over(binding).call('SendMessage', { message: userMessage('msg hello there') })
    expect(message).toEqual({
      messageId: expect.stringMatching(/^\S+$/),
      contextId: expect.stringMatching(/^\S+$/),
      role: 'ROLE_AGENT',
      parts: [{ text: 'hello there' }],
    })
  })

  it.each([
    ['hello', 'TASK_STATE_COMPLETED'],
    ['fail', 'TASK_STATE_FAILED'],
    ['crash', 'TASK_STATE_FAILED'],
    ['reject', 'TASK_STATE_REJECTED'],
  ])(proves(['R-SEND-3', 'R-TASK-2'], 'refuses messages to a task that ended with %j as %s'), async (text, state) => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const task = await client.send(text)
    expect(task.status.state).toBe(state)
    const message = userMessage({ taskId: task.id })
    expect((await client.refusal('SendMessage', { message })).reason).toBe('UNSUPPORTED_OPERATION')
    expect((await client.refusal('SendStreamingMessage', { message })).reason).toBe('UNSUPPORTED_OPERATION')
    expect(await client.task(task.id)).toEqual(task)
  })

  it(proves(['R-SEND-3', 'R-TASK-2'], 'refuses messages to a cancelled task'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await client.send('ask')
    const canceled = await client.call<Task>('CancelTask', { id })
    expect((await client.refusal('SendMessage', { message: userMessage({ taskId: id }) })).reason).toBe(
      'UNSUPPORTED_OPERATION',
    )
    expect(await client.task(id)).toEqual(canceled)
  })

  it(proves('R-SEND-4', 'makes no task of an id that the client chose'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const message = userMessage({ taskId: 'my-own-id' })
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      expect(await client.refusal(operation, { message })).toMatchObject({
        reason: 'TASK_NOT_FOUND',
        metadata: { taskId: 'my-own-id' },
      })
    }
    expect(await client.call('ListTasks')).toMatchObject({ totalSize: 0 })
  })

  it(proves('R-SEND-5', 'refuses parts of a media type that neither agent nor skills take'), async () => {
    const reader = agent(
      {
        name: 'Reader',
        defaultInputModes: ['text/plain', 'image/*'],
        skills: [{ id: 'sums', inputModes: ['application/json'] }],
      },
      async function* ({ text }) {
        yield text
      },
    )
    await using server = await testServer(reader)
    const client = server.over(binding)
    const send = (mediaType: string) => ({
      message: userMessage({ parts: [{ text: 'fine' }, { raw: 'AAAA', mediaType }] }),
    })
    for (const type of ['text/plain', 'TEXT/plain; charset=utf-8', 'image/png', 'application/json']) {
      expect(await client.call('SendMessage', send(type)), type).toHaveProperty('task')
    }
    for (const type of ['text/html', 'audio/wav', 'application/json5']) {
      const refusal = await client.refusal('SendMessage', send(type))
      expect(refusal, type).toMatchObject({ reason: 'CONTENT_TYPE_NOT_SUPPORTED', metadata: { mediaType: type } })
    }
  })

  it(proves('R-SEND-6', 'passes the accepted output modes to the agent'), async () => {
    const choosy = agent('Choosy', async function* ({ acceptedOutputModes }) {
      yield acceptedOutputModes.join()
    })
    await using server = await testServer(choosy)
    const task = await server
      .over(binding)
      .send('hi', { configuration: { acceptedOutputModes: ['text/html', 'text/plain'] } })
    expect(task.artifacts?.map(textIn)).toEqual(['text/html,text/plain'])
  })

  it(proves('R-SEND-7', 'answers when the task has ended, with all its artifacts'), async () => {
    const { waiting, started, finish } = patient()
    await using server = await testServer(waiting)
    const client = server.over(binding)
    let isAnswered = false
    const call = client.send('go').finally(() => {
      isAnswered = true
    })
    await started
    await expect
      .poll(async () => (await client.call<{ tasks: Task[] }>('ListTasks')).tasks[0]?.status.state, soon)
      .toBe('TASK_STATE_WORKING')
    expect(isAnswered).toBe(false)
    finish()
    const task = await call
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(task.artifacts?.map(textIn)).toEqual(['one two'])
  })

  it.each([
    ['ask', 'TASK_STATE_INPUT_REQUIRED'],
    ['auth', 'TASK_STATE_AUTH_REQUIRED'],
  ])(proves('R-SEND-7', 'answers %j when the task is interrupted: %s'), async (text, state) => {
    await using server = await testServer(echoAgent)
    expect((await server.over(binding).send(text)).status).toMatchObject({ state, message: { role: 'ROLE_AGENT' } })
  })

  it(proves('R-SEND-8', 'answers at once on request, and the task continues'), async () => {
    const { waiting, finish } = patient()
    await using server = await testServer(waiting)
    const client = server.over(binding)
    const task = await client.send('go', { configuration: { returnImmediately: true } })
    expect(task.status.state).toMatch(/SUBMITTED|WORKING/)
    finish()
    await expect.poll(() => client.state(task.id), soon).toBe('TASK_STATE_COMPLETED')
    expect((await client.task(task.id)).artifacts?.map(textIn)).toEqual(['one two'])
  })

  it(proves('R-SEND-8', 'answers at once on a task that goes on, too'), async () => {
    const finish = gate()
    const curious = agent('Curious', async function* ({ history }) {
      if (history.length === 1) yield ask('And?')
      else await finish.opened
    })
    await using server = await testServer(curious)
    const client = server.over(binding)
    const { id } = await client.send('first')
    const task = await client.send({ taskId: id }, { configuration: { returnImmediately: true } })
    expect(task).toMatchObject({ id, status: { state: 'TASK_STATE_WORKING' } })
    finish.open()
    await expect.poll(() => client.state(id), soon).toBe('TASK_STATE_COMPLETED')
  })

  it('ignores returnImmediately on streams', async () => {
    await using server = await testServer(echoAgent)
    const configuration = { returnImmediately: true }
    const answer = await server
      .over(binding)
      .stream('SendStreamingMessage', { message: userMessage('msg hi'), configuration })
    expect(outline(await answer.rest())).toEqual(['message:hi'])
    const work = await server
      .over(binding)
      .stream('SendStreamingMessage', { message: userMessage('chunks 2'), configuration })
    expect(outline(await work.rest()).at(-1)).toBe('status:COMPLETED')
  })

  it(proves('R-SEND-10', 'takes messages of one id for one message where that is configured'), async () => {
    await using server = await testServer(echoAgent, { advanced: { engine: { dedupeByMessageId: true } } })
    const client = server.over(binding)
    const first = await client.send({ messageId: 'm-1' })
    expect(await client.send({ messageId: 'm-1' })).toEqual(first)
    expect(await client.call('ListTasks')).toMatchObject({ totalSize: 1 })
  })

  it(proves('R-SEND-11', 'lets the task live when the caller hangs up'), async () => {
    const { waiting, started, finish } = patient()
    await using server = await testServer(waiting)
    const client = server.over(binding)
    const caller = new AbortController()
    const [path, body] =
      binding === 'JSON-RPC'
        ? ['/', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: userMessage('go') } }]
        : ['/message:send', { message: userMessage('go') }]
    const headers = { 'A2A-Version': '1.0', 'Content-Type': 'application/json' }
    const call = server.fetch(path, { method: 'POST', headers, body: JSON.stringify(body), signal: caller.signal })
    await started
    caller.abort()
    const states = async () =>
      (await client.call<{ tasks: Task[] }>('ListTasks')).tasks.map(({ status }) => status.state)
    await expect.poll(states, soon).toEqual(['TASK_STATE_WORKING'])
    finish()
    await expect.poll(states, soon).toEqual(['TASK_STATE_COMPLETED'])
    await call.catch(() => undefined) // the caller has disconnected
  })

  it(proves('R-SEND-12', 'answers with the task once there is one, even if the agent replies'), async () => {
    const short = agent('Short', async function* ({ history }) {
      yield history.length === 1 ? ask('And?') : reply('That is all')
    })
    await using server = await testServer(short)
    const client = server.over(binding)
    const { id } = await client.send('first')
    const task = await client.send({ taskId: id })
    expect(task).toMatchObject({
      id,
      status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'That is all' }], taskId: id } },
    })

    const other = await client.send('first')
    const stream = await client.stream('SendStreamingMessage', { message: userMessage({ taskId: other.id }) })
    const events = outline(await stream.rest())
    expect([events[0]?.split(':')[0], events.at(-1)]).toEqual(['task', 'status:COMPLETED'])
  })

  it(proves('R-SEND-12', 'lets the agent say nothing after its last word'), async () => {
    const chatty = agent('Chatty', async function* () {
      yield 'before'
      yield reply('done')
      yield 'after'
    })
    await using server = await testServer(chatty)
    const task = await server.over(binding).send('go')
    expect(task.artifacts?.map(textIn)).toEqual(['before'])
    expect(task.status).toMatchObject({ state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'done' }] } })
  })

  it(proves('R-SEND-13', 'puts results into artifacts'), async () => {
    await using server = await testServer(echoAgent)
    const task = await server.over(binding).send('hello')
    expect(task.status).not.toHaveProperty('message')
    expect(task.artifacts?.map(textIn)).toEqual(['hello'])
  })

  it(proves('R-SEND-14', 'refuses a webhook where the agent sends none'), async () => {
    const quiet = agent('Quiet', async function* ({ text }) {
      yield text
    })
    await using server = await testServer(quiet)
    const configuration = { taskPushNotificationConfig: { url: 'https://client.example/hook' } }
    const refusal = await server.over(binding).refusal('SendMessage', { message: userMessage('hi'), configuration })
    expect(refusal.reason).toBe('PUSH_NOTIFICATION_NOT_SUPPORTED')
  })

  it(proves('R-ITA-1', 'returns the agent’s request for an authorisation'), async () => {
    const locked = agent('Locked', async function* () {
      yield askAuth('Log in at https://login.example')
    })
    await using server = await testServer(locked)
    const { status } = await server.over(binding).send('go')
    expect(status).toMatchObject({
      state: 'TASK_STATE_AUTH_REQUIRED',
      message: { role: 'ROLE_AGENT', parts: [{ text: 'Log in at https://login.example' }] },
    })
  })

  it(proves('R-ITA-4', 'takes messages while an authorisation is waited for'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await client.send('auth')
    const task = await client.send({ taskId: id, parts: [{ text: 'here I am' }] })
    expect(task).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
    expect(task.artifacts?.map(textIn)).toEqual(['auth\nhere I am'])
  })
})
