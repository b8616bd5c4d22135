import { agent, ask, reply, working } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { gate, type Json, testServer } from './fixture.js'
import { message03, type OldError, OlderClient, type OldTask, protoMessage, readEvents, rpc } from './older-fixture.js'
import { proves } from './proves.js'

interface Event extends Json {
  readonly kind: string
  readonly status?: OldTask['status']
  readonly final?: boolean
}

/** `task:submitted`, `status-update:completed!` (final), `artifact-update`, `message`. */
const outline = (events: readonly Event[]) =>
  events.map(({ kind, status, final }) => `${kind}${status ? `:${status.state}` : ''}${final === true ? '!' : ''}`)

const mute = agent({ name: 'Mute', capabilities: { streaming: false } }, async function* () {
  yield 'unheard'
})

describe('streams in 0.3', () => {
  it(proves('R3-STRM-1', 'are refused by an agent that does not stream'), async () => {
    await using server = await testServer(mute)
    const client = new OlderClient(server)
    expect((await client.error('message/stream', { message: message03('go') })).code).toBe(-32004)
    const { status, body } = await client.send('POST', '/v1/message:stream', { message: protoMessage('go') })
    expect([status, body.code]).toEqual([400, -32004])
    const [received] = await readEvents(await client.request('POST', '/', rpc('tasks/resubscribe', { id: 'nope' })))
    expect(received?.data).toMatchObject({ id: 7, error: { code: -32004 } })
  })

  it(proves(['R3-STRM-2', 'R3-STRM-3', 'R3-STRM-4'], 'show a task, what happens to it and its end'), async () => {
    await using server = await testServer(echoAgent)
    // `events` checks the status, the media type and the envelope of each.
    const events = await new OlderClient(server).events<Event>('message/stream', { message: message03('chunks 2') })
    expect(outline(events)).toEqual([
      'task:submitted',
      'status-update:working',
      'artifact-update',
      'artifact-update',
      'status-update:completed!',
    ])
    const { id, contextId } = events[0] as unknown as OldTask
    for (const event of events.slice(1)) expect(event).toMatchObject({ taskId: id, contextId })
    for (const { kind, final } of events) expect(typeof final).toBe(kind === 'status-update' ? 'boolean' : 'undefined')
    expect(events.slice(2, 4)).toMatchObject([
      { artifact: { parts: [{ kind: 'text', text: 'chunk 1 ' }] } },
      { artifact: { parts: [{ kind: 'text', text: 'chunk 2 ' }] }, append: true, lastChunk: true },
    ])
  })

  it(proves('R3-STRM-3', 'are one message and nothing else where the agent answers with one'), async () => {
    await using server = await testServer(echoAgent)
    const events = await new OlderClient(server).events('message/stream', { message: message03('msg hi') })
    expect(events).toMatchObject([{ kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'hi' }] }])
  })

  it.each([
    ['fail', 'failed'],
    ['reject', 'rejected'],
    ['crash', 'failed'],
    ['ask', 'input-required'],
    ['auth', 'auth-required'],
  ])(proves(['R3-STRM-3', 'R3-STRM-4'], 'end after %s with a final event'), async (word, state) => {
    await using server = await testServer(echoAgent)
    const events = await new OlderClient(server).events<Event>('message/stream', { message: message03(word) })
    expect(outline(events).at(-1)).toBe(`status-update:${state}!`)
    expect(events.filter(({ final }) => final === true)).toHaveLength(1)
  })

  it(proves('R3-STRM-4', 'of an answer do not end at the question before'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id: taskId } = await client.result<OldTask>('message/send', { message: message03('ask') })
    const events = await client.events<Event>('message/stream', { message: message03({ taskId }) })
    expect(outline(events).at(-1)).toBe('status-update:completed!')
    expect(events.filter(({ final }) => final === true)).toHaveLength(1)
  })

  it(proves('R3-STRM-2', 'that fail at once are an ordinary error'), async () => {
    await using server = await testServer(echoAgent)
    expect(
      (await new OlderClient(server).error('message/stream', { message: message03({ taskId: 'nope' }) })).code,
    ).toBe(-32001)
  })
})

describe('tasks/resubscribe in 0.3', () => {
  const client = (server: Awaited<ReturnType<typeof testServer>>) => new OlderClient(server)

  it(proves(['R3-STRM-6', 'R3-STRM-4'], 'shows the task and then what follows'), async () => {
    const pending = gate()
    const slow = agent('Slow', async function* () {
      yield working('Begun')
      yield 'one '
      await pending.opened
      yield 'two'
    })
    await using server = await testServer(slow)
    const first = await server.stream('POST', '/', rpc('message/stream', { message: message03('go') }), {
      'A2A-Version': undefined,
    })
    const begun: Event[] = []
    while (begun.at(-1)?.kind !== 'artifact-update') begun.push((await first.next())?.raw.result as Event)
    const { id } = begun[0] as unknown as OldTask
    const second = client(server).events<Event>('tasks/resubscribe', { id })
    await expect.poll(async () => (await client(server).result<OldTask>('tasks/get', { id })).artifacts).toBeDefined()
    pending.open()
    const events = await second
    expect(events[0]).toMatchObject({ kind: 'task', id, status: { state: 'working' } })
    expect(outline(events).at(-1)).toBe('status-update:completed!')
    expect(JSON.stringify(events)).toContain('two')
    await first.rest()
  })

  it(proves(['RM-STR-6', 'R3-STRM-6'], 'shows a task that has ended, where v1.0 and 0.1 refuse'), async () => {
    await using server = await testServer(echoAgent)
    const { id } = await client(server).result<OldTask>('message/send', { message: message03('hello') })
    const events = await client(server).events<Event>('tasks/resubscribe', { id })
    expect(outline(events)).toEqual(['task:completed'])
    const rest = await readEvents(await client(server).request('GET', `/v1/tasks/${id}:subscribe`))
    expect(rest.map(({ data }) => data)).toMatchObject([{ task: { id, status: { state: 'TASK_STATE_COMPLETED' } } }])
    expect((await server.over('JSON-RPC').refusal('SubscribeToTask', { id })).reason).toBe('UNSUPPORTED_OPERATION')
    const old = new OlderClient(server, { headers: { 'A2A-Version': '0.1' } })
    expect((await old.error('tasks/resubscribe', { id })).code).toBe(-32009)
  })

  it(proves(['R3-STRM-7', 'R3-STRM-8'], 'says in an event stream that there is no such task'), async () => {
    await using server = await testServer(echoAgent)
    const sent = await readEvents(await client(server).request('POST', '/', rpc('tasks/resubscribe', { id: 'nope' })))
    expect(sent).toHaveLength(1)
    const [{ data } = { data: {} }] = sent
    const { id, error } = data as { id: number; error: OldError }
    expect([id, error.code]).toEqual([7, -32001])
    expect(error.message).toMatch(/task|not found/i)
  })

  it.each([
    ['the Go SDK', 'Go-http-client/1.1', undefined, 'text/event-stream'],
    ['JavaScript SDKs before 1.0, which refuse other media types', 'node', undefined, 'text/event-stream'],
    ['JavaScript SDKs since 1.0, which name their version', 'node', '0.3', 'application/json'],
  ])(proves(['R-STRM-11', 'R3-STRM-7'], 'refuses streams in the media type that suits %s'), async (...args) => {
    const [, userAgent, version, type] = args
    await using server = await testServer(echoAgent)
    const headers = { Accept: 'text/event-stream', 'User-Agent': userAgent, 'A2A-Version': version }
    for (const [method, params] of [
      ['message/stream', { message: message03({ taskId: 'nope' }) }],
      ['tasks/resubscribe', { id: 'nope' }],
    ] as const) {
      const response = await client(server).request('POST', '/', rpc(method, params), headers)
      expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
      expect(await response.text()).toContain('"error":{"code":-32001,"message":"Task not found: nope"}')
    }
  })

  it(proves('R3-STRM-4', 'stays while a question is open, and ends after the answer'), async () => {
    const asking = agent('Asking', async function* ({ history }) {
      yield history.length > 1 ? reply('Done') : ask('Which?')
    })
    await using server = await testServer(asking)
    const { id } = await client(server).result<OldTask>('message/send', { message: message03('go') })
    const stream = await server.stream('POST', '/', rpc('tasks/resubscribe', { id }), { 'A2A-Version': undefined })
    expect((await stream.next())?.raw.result).toMatchObject({ kind: 'task', status: { state: 'input-required' } })
    await client(server).result('message/send', { message: message03({ taskId: id }) })
    const rest = (await stream.rest()).map(({ raw }) => raw.result as Event)
    expect(rest.at(-1)).toMatchObject({ kind: 'status-update', final: true })
  })
})
