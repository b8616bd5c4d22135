import { A2AError, agent, artifact, ask, askAuth, failed, text, working } from 'dragoman'
import type { TaskArtifactUpdateEvent } from 'dragoman/model'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import {
  bindings,
  isState,
  outline,
  readRefusal,
  type StreamEvent,
  taskIn,
  testServer,
  textIn,
  userMessage,
} from './fixture.js'
import { proves } from './proves.js'

const mute = agent({ name: 'Mute', capabilities: { streaming: false } }, async function* ({ text: said }) {
  yield said === 'ask' ? ask('Why?') : said
})

function artifactUpdates(events: readonly StreamEvent[]): TaskArtifactUpdateEvent[] {
  return events.flatMap(({ data }) => ('artifactUpdate' in data ? [data.artifactUpdate] : []))
}

describe.each(bindings)('SendStreamingMessage over %s', (binding) => {
  it(proves('R-STRM-1', 'is refused, as is SubscribeToTask, where the agent does not stream'), async () => {
    await using server = await testServer(mute)
    const client = server.over(binding)
    const { id } = await client.send('ask')
    for (const refusal of [
      await client.refusal('SendStreamingMessage', { message: userMessage('hi') }),
      await client.refusal('SubscribeToTask', { id }),
    ]) {
      expect(refusal.reason).toBe('UNSUPPORTED_OPERATION')
    }
    expect(await client.call('ListTasks')).toMatchObject({ totalSize: 1 })
  })

  it(proves('R-STRM-2', 'is one message and nothing else when the agent replies'), async () => {
    await using server = await testServer(echoAgent)
    const stream = await server.over(binding).stream('SendStreamingMessage', { message: userMessage('msg hello') })
    expect((await stream.rest()).map(({ data }) => data)).toEqual([
      {
        message: {
          messageId: expect.any(String),
          contextId: expect.any(String),
          role: 'ROLE_AGENT',
          parts: [{ text: 'hello' }],
        },
      },
    ])
  })

  it(proves('R-STRM-3', 'begins with the task, goes on with updates and ends when it does'), async () => {
    await using server = await testServer(echoAgent)
    const message = userMessage('chunks 2')
    const stream = await server.over(binding).stream('SendStreamingMessage', { message })
    const events = await stream.rest()
    const { id: taskId, contextId } = taskIn(events[0])
    const timestamp = expect.stringMatching(/Z$/)
    const chunk = (said: string) => ({ artifactId: expect.any(String), name: 'chunks', parts: [{ text: said }] })
    expect(events.map(({ data }) => data)).toEqual([
      {
        task: {
          id: taskId,
          contextId,
          status: { state: 'TASK_STATE_SUBMITTED', timestamp },
          history: [{ ...message, taskId, contextId }],
        },
      },
      { statusUpdate: { taskId, contextId, status: { state: 'TASK_STATE_WORKING', timestamp } } },
      { artifactUpdate: { taskId, contextId, artifact: chunk('chunk 1 ') } },
      { artifactUpdate: { taskId, contextId, artifact: chunk('chunk 2 '), append: true, lastChunk: true } },
      { statusUpdate: { taskId, contextId, status: { state: 'TASK_STATE_COMPLETED', timestamp } } },
    ])
  })

  it.each(['hello', 'fail', 'reject', 'crash', 'file', 'ask'])(
    proves('R-STRM-3', 'begins with a task for every first yield: %j'),
    async (said) => {
      await using server = await testServer(echoAgent)
      const stream = await server.over(binding).stream('SendStreamingMessage', { message: userMessage(said) })
      const [first, ...rest] = outline(await stream.rest())
      expect(first).toMatch(/^task:(SUBMITTED|WORKING)$/)
      expect(rest.length).toBeGreaterThan(0)
      expect(rest.filter((each) => !/^(status|artifact):/.test(each))).toEqual([])
    },
  )

  it(proves('R-STRM-3', 'begins with the task when it goes on with one'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await client.send('ask')
    const stream = await client.stream('SendStreamingMessage', {
      message: userMessage({ taskId: id, parts: [{ text: 'two' }] }),
    })
    const events = await stream.rest()
    expect(events[0]?.data).toMatchObject({ task: { id, history: [{}, {}, { parts: [{ text: 'two' }] }] } })
    expect(outline(events).slice(1)).toEqual(expect.arrayContaining(['artifact:ask\ntwo', 'status:COMPLETED']))
    expect(outline(events).at(-1)).toBe('status:COMPLETED')
  })

  it(proves('R-STRM-4', 'sends events in the order of the log'), async () => {
    await using server = await testServer(echoAgent)
    const stream = await server.over(binding).stream('SendStreamingMessage', { message: userMessage('chunks 200') })
    const received = outline(await stream.rest())
    const chunks = Array.from({ length: 200 }, (_, place) => `artifact:chunk ${place + 1} `)
    expect(received).toEqual(['task:SUBMITTED', 'status:WORKING', ...chunks, 'status:COMPLETED'])
  })

  it(proves('R-STRM-6', 'sends nothing after the end, even if the agent yields more'), async () => {
    const chatty = agent('Chatty', async function* () {
      yield 'result'
      yield failed('no good')
      yield 'more'
      yield working('again')
    })
    await using server = await testServer(chatty)
    const stream = await server.over(binding).stream('SendStreamingMessage', { message: userMessage('go') })
    const received = outline(await stream.rest())
    expect(received[0]).toBe('task:WORKING')
    expect(received.at(-1)).toBe('status:FAILED')
    expect(received).not.toContain('artifact:more')
  })

  it(proves('R-STRM-7', 'ends with a question'), async () => {
    await using server = await testServer(echoAgent)
    const stream = await server.over(binding).stream('SendStreamingMessage', { message: userMessage('ask') })
    const events = await stream.rest()
    expect(outline(events)).toEqual(['task:SUBMITTED', 'status:INPUT_REQUIRED'])
    expect(events.at(-1)?.data).toMatchObject({
      statusUpdate: { status: { message: { parts: [{ text: 'What is the second text?' }] } } },
    })
  })

  it(proves(['R-STRM-7', 'R-ITA-3'], 'stays open while an authorisation is waited for'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const stream = await client.stream('SendStreamingMessage', { message: userMessage('auth') })
    const [first] = await stream.until(isState('TASK_STATE_AUTH_REQUIRED'))
    const { id } = taskIn(first)
    await client.send({ taskId: id, parts: [{ text: 'logged in' }] })
    expect(outline(await stream.rest())).toEqual(['status:WORKING', 'artifact:auth\nlogged in', 'status:COMPLETED'])
  })

  it(proves('R-STRM-8', 'marks the chunks of an artifact, and the task holds it whole'), async () => {
    const writer = agent('Writer', async function* () {
      yield artifact('poem', text('roses '), { description: 'four lines' })
      yield artifact('poem', text('are '), { append: true })
      yield artifact('poem', text('red'), { append: true, lastChunk: true })
      yield artifact('other', text('whole'), { lastChunk: true })
    })
    await using server = await testServer(writer)
    const client = server.over(binding)
    const events = await (await client.stream('SendStreamingMessage', { message: userMessage('go') })).rest()
    const updates = artifactUpdates(events)
    expect(
      updates.map(({ artifact: { parts }, append, lastChunk }) => [
        textIn({ parts }),
        append === true,
        lastChunk === true,
      ]),
    ).toEqual([
      ['roses ', false, false],
      ['are ', true, false],
      ['red', true, true],
      ['whole', false, true],
    ])
    const [poem, , last, other] = updates.map((update) => update.artifact.artifactId)
    expect(last).toBe(poem)
    expect(other).not.toBe(poem)
    const { artifacts } = await client.task(updates[0]?.taskId ?? '')
    expect(artifacts).toEqual([
      {
        artifactId: poem,
        name: 'poem',
        description: 'four lines',
        parts: [{ text: 'roses ' }, { text: 'are ' }, { text: 'red' }],
      },
      { artifactId: other, name: 'other', parts: [{ text: 'whole' }] },
    ])
  })

  it(proves('R-STRM-8', 'marks the chunks of a text that is yielded piece by piece, however slowly'), async () => {
    const slow = agent('Slow', async function* () {
      yield 'one '
      yield 'two '
      await new Promise((resolve) => setImmediate(resolve))
      yield 'three'
      await new Promise((resolve) => setImmediate(resolve))
    })
    await using server = await testServer(slow)
    const client = server.over(binding)
    const updates = artifactUpdates(
      await (await client.stream('SendStreamingMessage', { message: userMessage('go') })).rest(),
    )
    expect(updates.map(({ artifact: { parts } }) => textIn({ parts })).join('')).toBe('one two three')
    expect(updates.map(({ append }) => append === true)).toEqual(updates.map((_, place) => place > 0))
    expect(updates.map(({ lastChunk }) => lastChunk === true)).toEqual(
      updates.map((_, place) => place === updates.length - 1),
    )
    expect(new Set(updates.map((update) => update.artifact.artifactId)).size).toBe(1)
    const { artifacts } = await client.task(updates[0]?.taskId ?? '')
    expect(artifacts?.map(({ parts }) => parts)).toEqual([[{ text: 'one ' }, { text: 'two ' }, { text: 'three' }]])
  })

  it(proves('R-STRM-8', 'makes an artifact of an append to nothing, and replaces one that is sent again'), async () => {
    const reviser = agent('Reviser', async function* () {
      yield artifact('late', text('appended'), { id: 'a', append: true })
      yield artifact('draft', text('first'), { id: 'b' })
      yield artifact('draft', text('second'), { id: 'b' })
    })
    await using server = await testServer(reviser)
    const task = await server.over(binding).send('go')
    expect(task.artifacts).toEqual([
      { artifactId: 'a', name: 'late', parts: [{ text: 'appended' }] },
      { artifactId: 'b', name: 'draft', parts: [{ text: 'second' }] },
    ])
  })

  it(proves('R-STRM-9', 'names task and context in every update'), async () => {
    await using server = await testServer(echoAgent)
    const events = await (
      await server.over(binding).stream('SendStreamingMessage', { message: userMessage('chunks 3') })
    ).rest()
    const { id: taskId, contextId } = taskIn(events[0])
    expect(taskId && contextId).toMatch(/\S/)
    for (const { data } of events.slice(1)) expect(Object.values(data)[0]).toMatchObject({ taskId, contextId })
  })

  it(
    proves('R-STRM-10', 'is 200, text/event-stream, one JSON object per event in the form of the binding'),
    async () => {
      await using server = await testServer(echoAgent)
      const stream = await server.over(binding).stream('SendStreamingMessage', { message: userMessage('chunks 2') })
      const { status, headers } = stream.response
      expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
        200,
        'text/event-stream',
        'no-cache, no-store',
      ])
      const events = await stream.rest()
      for (const { raw, data } of events)
        expect(raw).toEqual(binding === 'JSON-RPC' ? { jsonrpc: '2.0', id: 1, result: data } : data)
      expect(events.map(({ data }) => Object.keys(data))).toEqual([
        ['task'],
        ['statusUpdate'],
        ['artifactUpdate'],
        ['artifactUpdate'],
        ['statusUpdate'],
      ])
    },
  )

  it(proves('R-STRM-10', 'shows that it lives while nothing happens'), async () => {
    await using server = await testServer(echoAgent, { advanced: { heartbeatMs: 5 } })
    const { body } = await server
      .over(binding)
      .response('SendStreamingMessage', { message: userMessage('sleep 60000') })
    let seen = ''
    for await (const chunk of body ?? []) {
      seen += Buffer.from(chunk as Uint8Array).toString()
      if (seen.endsWith('\n\n:\n\n')) break
    }
    expect(seen).toMatch(/^(id: \d+\ndata: .+\n\n)+:\n\n$/)
  })

  it.each([
    ['a bad request', {}, 'INVALID_PARAMS'],
    ['an unknown task', { message: userMessage({ taskId: 'nope' }) }, 'TASK_NOT_FOUND'],
    ['an agent that refuses', { message: userMessage('refuse') }, 'RATE_LIMITED'],
  ])(proves('R-STRM-11', 'is an ordinary error answer to %s'), async (_what, params, reason) => {
    const strict = agent('Strict', async function* ({ text: said }) {
      if (said === 'refuse') throw new A2AError('RATE_LIMITED', 'Too much')
      yield said
    })
    await using server = await testServer(strict)
    expect((await server.over(binding).refusal('SendStreamingMessage', params)).reason).toBe(reason)
  })

  it(proves('R-STRM-11', 'ends with an error event when it fails later'), async () => {
    await using server = await testServer(echoAgent, {
      advanced: {
        wrap: (service) => ({
          ...service,
          async *sendStreamingMessage(request, context) {
            for await (const item of service.sendStreamingMessage(request, context)) {
              yield item
              throw new A2AError('UNAVAILABLE', 'The line is cut')
            }
          },
        }),
      },
    })
    const stream = await server.over(binding).stream('SendStreamingMessage', { message: userMessage('hello') })
    const [first, last, ...more] = await stream.rest()
    expect(first?.data).toHaveProperty('task')
    expect(more).toEqual([])
    const body = last?.raw ?? {}
    // The same body an ordinary answer would have had.
    const headers = new Headers({ 'content-type': 'application/json' })
    expect(readRefusal({ status: 503, headers, body })).toMatchObject({
      reason: 'UNAVAILABLE',
      message: 'The line is cut',
    })
  })

  it(proves('R-STRM-12', 'ends by closing, without a word'), async () => {
    await using server = await testServer(echoAgent)
    const response = await server.over(binding).response('SendStreamingMessage', { message: userMessage('chunks 2') })
    const whole = await response.text()
    expect(whole).toMatch(/^(id: \d+\ndata: \{.*\}\n\n){5}$/)
    expect(whole).not.toMatch(/\[DONE\]|"final"/)
  })
})

describe('errors before the first event of a JSON-RPC stream', () => {
  const onlyEvents = { Accept: 'text/event-stream' }
  const go = 'Go-http-client/1.1'
  const cases: readonly (readonly [string, string, object, number])[] = [
    ['SubscribeToTask', 'an unknown task', { id: 'nope' }, -32001],
    ['SendStreamingMessage', 'an unknown task', { message: userMessage({ taskId: 'nope' }) }, -32001],
    ['SendStreamingMessage', 'a bad request', {}, -32602],
    ['NoSuchMethod', 'an unknown method', {}, -32601],
  ]

  it.each(cases)(proves('R-STRM-11', '%s: %s is one event to a caller that accepts only events'), async (...args) => {
    const [method, , params, code] = args
    await using server = await testServer(echoAgent)
    for (const agentName of [go, undefined, 'python-httpx/0.28.1', 'Mozilla/5.0 (X11)', 'dragoman/0.1.0']) {
      const body = { jsonrpc: '2.0', id: 1, method, params }
      const response = await server.request('POST', '/', body, { ...onlyEvents, 'User-Agent': agentName })
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
      const [, data = ''] = /^data: (\{.*\})\n\n$/.exec(await response.text()) ?? []
      expect(JSON.parse(data)).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code } })
    }
  })

  it.each([
    ['a caller that accepts JSON too', 'text/event-stream, application/json', go],
    ['a caller that accepts anything', '*/*', go],
    ['Node.js', 'text/event-stream', 'node'],
    ['undici', 'text/event-stream', 'undici'],
    ['Deno', 'text/event-stream', 'Deno/2.5.4'],
    ['Bun', 'text/event-stream', 'Bun/1.3.0'],
  ])(proves('R-STRM-11', 'are an ordinary answer to %s'), async (_who, accept, agentName) => {
    await using server = await testServer(echoAgent)
    const headers = { Accept: accept, 'User-Agent': agentName }
    expect((await server.over('JSON-RPC').refusal('SubscribeToTask', { id: 'nope' }, headers)).reason).toBe(
      'TASK_NOT_FOUND',
    )
  })

  it(proves('R-STRM-11', 'keep their HTTP status, and other operations and bindings their form'), async () => {
    const refusing = agent('Refusing', async function* ({ text: said }) {
      if (said !== '') throw new A2AError('RATE_LIMITED', 'Too much')
      yield said
    })
    await using server = await testServer(refusing)
    const headers = { ...onlyEvents, 'User-Agent': go }
    const message = userMessage('hi')
    const rpc = server.over('JSON-RPC')
    expect((await rpc.refusal('SendStreamingMessage', { message }, headers)).reason).toBe('RATE_LIMITED')
    expect((await rpc.refusal('GetTask', { id: 'nope' }, headers)).reason).toBe('TASK_NOT_FOUND')
    const rest = server.over('HTTP+JSON')
    expect((await rest.refusal('SubscribeToTask', { id: 'nope' }, headers)).reason).toBe('TASK_NOT_FOUND')
  })
})

describe('askAuth', () => {
  it(proves('R-ITA-3', 'keeps every stream of the task open'), async () => {
    const locked = agent('Locked', async function* ({ history }) {
      if (history.length === 1) yield askAuth('Log in')
      else yield 'welcome'
    })
    await using server = await testServer(locked)
    const client = server.over('HTTP+JSON')
    const { id } = await client.send('go')
    const stream = await client.stream('SubscribeToTask', { id })
    expect(outline([await stream.next()].flatMap((event) => event ?? []))).toEqual(['task:AUTH_REQUIRED'])
    await client.send({ taskId: id })
    expect(outline(await stream.rest())).toEqual(['status:WORKING', 'artifact:welcome', 'status:COMPLETED'])
  })
})
