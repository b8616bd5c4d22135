/** The AG-UI endpoint, called by the official clients of AG-UI 1.0 and of the version before it, over real sockets. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HttpAgent as HttpAgent1 } from '@ag-ui/client'
import { EventSchema } from '@ag-ui/core/schemas'
import { HttpAgent as HttpAgent0 } from 'ag-ui-client-v0'
import {
  agent,
  approvals,
  approve,
  artifact,
  ask,
  askAuth,
  bearer,
  completed,
  data,
  failed,
  file,
  reply,
  serve,
  step,
  steps,
  usage,
  working,
} from 'dragoman'
import { agUiEndpoint } from 'dragoman/ag-ui'
import { connect } from 'dragoman/client'
import { gate } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'

type Event = Record<string, unknown> & { readonly type: string }

const form = { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } }

function createTailor() {
  const release = gate()
  const tailor = agent(
    { name: 'Tailor', extensions: [steps, usage, approvals], defaultInputModes: ['text/plain', 'image/png'] },
    async function* (turn) {
      const { number, history } = turn
      const first = history[0]?.parts.map((part) => ('text' in part ? part.text : '')).join('') ?? ''
      switch (first) {
        case 'state':
          yield artifact('state', data({ size: 1, colour: 'blue' }), { id: 'state' })
          yield artifact(
            'state',
            { data: [{ op: 'replace', path: '/size', value: 2 }], mediaType: 'application/json-patch+json' },
            { id: 'state', append: true },
          )
          return
        case 'form':
          if (number === 1) yield ask('Which size?', { schema: form })
          yield `Size ${(turn.data() as { size: number }).size}`
          return
        case 'plain':
          if (number === 1) yield ask('Which colour?')
          yield `In ${turn.text}`
          return
        case 'pay':
          if (number === 1) {
            const call = (id: string, args: object) => ({ id, name: 'pay', args: args as never })
            yield approve([call('c1', { eur: 5 }), call('c2', { eur: 9 })], { hint: 'May I pay?' })
          }
          yield JSON.stringify([...(turn.approvals ?? [])])
          return
        case 'login':
          if (!turn.credential && number === 1) yield askAuth('Log in at https://login.example')
          yield number === 1 ? 'Paid' : `Paid by ${turn.text}`
          return
        case 'steps':
          yield step({ kind: 'reasoning', id: 'r', text: 'Let me ' })
          yield step({ kind: 'reasoning', id: 'r', text: 'think.' })
          yield step({ kind: 'tool-call', id: 't1', name: 'measure', input: { who: 'Ada' } })
          yield step({ kind: 'tool-result', id: 't1', output: { cm: 170 } })
          turn.usage.add({ inputTokens: 10, outputTokens: 5, model: 'm' })
          yield 'Done'
          return
        case 'again':
          yield artifact('text', 'Wrong', { id: 'x' })
          yield artifact('state', data({ size: 1 }), { id: 'state' })
          yield artifact('text', 'Right', { id: 'x' })
          return
        case 'files':
          yield artifact('suit', [
            file(new Uint8Array([1, 2]), { mediaType: 'image/png', filename: 'suit.png' }),
            data(7),
          ])
          return
        case 'input':
          yield JSON.stringify(turn.metadata)
          return
        case 'fail':
          yield 'Half'
          yield failed('The needle broke')
          return
        case 'reply':
          yield reply('Just a message')
          return
        case 'slow':
          yield 'Slow '
          await release.opened
          yield 'but sure'
          return
        default:
          yield working('Sewing')
          yield 'Hel'
          yield 'lo'
          yield completed('Bye')
      }
    },
  )
  return { tailor, release }
}

async function start(options: Parameters<typeof serve>[1] = {}) {
  const { tailor, release } = createTailor()
  const served = await serve(tailor, { port: 0, log: false, endpoints: [agUiEndpoint()], ...options })
  const url = `${served.url.replace(/\/$/, '')}/ag-ui`
  return { url, served, release, [Symbol.asyncDispose]: () => served.close({ deadlineMs: 0 }) }
}

/** Posts a run by hand and returns its status and events. */
async function post(url: string, input: object, headers: Record<string, string> = {}) {
  const body = { threadId: 't', runId: 'r', tools: [], context: [], state: {}, messages: [], ...input }
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, events: response.ok ? eventsIn(await response.text()) : [], response }
}

function eventsIn(sse: string): Event[] {
  const events = sse
    .split('\n\n')
    .flatMap((frame) => (frame.startsWith('data: ') ? [JSON.parse(frame.slice(6)) as Event] : []))
  for (const event of events) EventSchema.parse(event)
  return events
}

const user = (content: unknown, id = `m-${crypto.randomUUID()}`) => ({ id, role: 'user', content })
const text = (events: readonly Event[]) =>
  events.map((event) => (event.type === 'TEXT_MESSAGE_CONTENT' ? event.delta : '')).join('')
const interruptsIn = (events: readonly Event[]) =>
  (events.at(-1) as unknown as { outcome: { interrupts: { id: string; [member: string]: unknown }[] } }).outcome
    .interrupts

describe.each([
  ['1.0', HttpAgent1 as unknown as typeof HttpAgent0],
  ['0.0.59', HttpAgent0],
])('with the client of AG-UI %s', (version, HttpAgent) => {
  /** A client, and a way to run it that returns the events, checked by the schemas of AG-UI. */
  function clientOf(url: string, threadId = 'thread-1', headers: Record<string, string> = {}) {
    const client = new HttpAgent({ url, threadId, headers })
    const run = async (content?: string, more: Parameters<typeof client.runAgent>[0] = {}) => {
      if (content !== undefined) client.addMessage({ id: crypto.randomUUID(), role: 'user', content })
      const events: Event[] = []
      await client.runAgent(more, { onEvent: ({ event }) => void events.push(event as unknown as Event) })
      for (const event of events) EventSchema.parse(event)
      return events
    }
    const resume = (payload: unknown, status: 'resolved' | 'cancelled' = 'resolved') =>
      run(undefined, { resume: client.pendingInterrupts.map(({ id }) => ({ interruptId: id, status, payload })) })
    return { client, run, resume }
  }

  it('streams text and progress, and ends with success', async () => {
    await using server = await start()
    const { client, run } = clientOf(server.url)
    const events = await run('hello')
    expect(events.map(({ type }) => type)).toEqual([
      'RUN_STARTED',
      'ACTIVITY_SNAPSHOT',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ])
    expect(events.at(0)?.protocolVersion).toBe(version === '1.0' ? '1.0' : undefined)
    expect(events.at(-1)?.outcome).toEqual({ type: 'success' })
    expect(client.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'hello'],
      ['activity', { text: 'Sewing' }],
      ['assistant', 'Hello'],
      ['assistant', 'Bye'],
    ])
  })

  it('answers without a task', async () => {
    await using server = await start()
    expect(text(await clientOf(server.url).run('reply'))).toBe('Just a message')
  })

  it('has the state of the artifact `state`, whole and changed', async () => {
    await using server = await start()
    const { client, run } = clientOf(server.url)
    const events = await run('state')
    expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'STATE_SNAPSHOT', 'STATE_DELTA', 'RUN_FINISHED'])
    expect(client.state).toEqual({ size: 2, colour: 'blue' })
  })

  it('interrupts for a form, and resumes with its answer', async () => {
    await using server = await start()
    const { client, run, resume } = clientOf(server.url)
    const asked = await run('form')
    expect(interruptsIn(asked)).toMatchObject([
      { reason: 'input_required', message: 'Which size?', responseSchema: form },
    ])
    const open = client.pendingInterrupts
    await expect(resume({ size: 'large' })).rejects.toThrow('HTTP 400')
    client.pendingInterrupts = open
    expect(text(await resume({ size: 48 }))).toBe('Size 48')
    expect(client.pendingInterrupts).toEqual([])
  })

  it('resumes a question without a form by text, and refuses a second answer', async () => {
    await using server = await start()
    const { client, run, resume } = clientOf(server.url)
    await run('plain')
    const [interrupt] = client.pendingInterrupts
    expect(text(await resume('red'))).toBe('In red')
    const again = clientOf(server.url)
    const entry = { interruptId: interrupt?.id ?? '', status: 'resolved', payload: 'green' } as const
    await expect(again.run(undefined, { resume: [entry] })).rejects.toThrow('HTTP 409')
  })

  it('takes the next message as the answer, from a client that knows no interrupts', async () => {
    await using server = await start()
    await clientOf(server.url).run('plain')
    expect(text(await clientOf(server.url).run('green'))).toBe('In green')
  })

  it('asks for each tool call, and resumes with the decisions', async () => {
    await using server = await start()
    const { client, run } = clientOf(server.url)
    expect(interruptsIn(await run('pay'))).toMatchObject([
      {
        reason: 'tool_call',
        toolCallId: 'c1',
        message: 'May I pay?',
        metadata: { tool: { name: 'pay', args: { eur: 5 } } },
      },
      { reason: 'tool_call', toolCallId: 'c2' },
    ])
    const payloads = [{ approved: true }, { approved: false, reason: 'Too much' }]
    const resume = client.pendingInterrupts.map(({ id }, place) => ({
      interruptId: id,
      status: 'resolved' as const,
      payload: payloads[place],
    }))
    expect(JSON.parse(text(await run(undefined, { resume })))).toEqual([
      ['c1', { approved: true }],
      ['c2', { approved: false, reason: 'Too much' }],
    ])
  })

  it('cancels the task of a cancelled interrupt', async () => {
    await using server = await start()
    const { run, resume } = clientOf(server.url)
    await run('plain')
    const finished = (await resume(undefined, 'cancelled')).at(-1)
    expect(finished?.type).toBe('RUN_FINISHED')
    expect(finished?.outcome).toEqual(version === '1.0' ? { type: 'cancelled' } : undefined)
    await using direct = await connect(server.served.url)
    const { tasks } = await direct.listTasks({ contextId: 'thread-1' })
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_CANCELED'])
  })

  it('sends reasoning, tool calls and usage', async () => {
    await using server = await start()
    const { client, run } = clientOf(server.url)
    const events = await run('steps')
    expect(events.map(({ type }) => type)).toEqual([
      'RUN_STARTED',
      'REASONING_START',
      'REASONING_MESSAGE_START',
      'REASONING_MESSAGE_CONTENT',
      'REASONING_MESSAGE_CONTENT',
      'REASONING_MESSAGE_END',
      'REASONING_END',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ])
    expect(events.at(-1)?.usage).toEqual([{ inputTokens: 10, outputTokens: 5, model: 'm' }])
    expect(client.messages.find(({ role }) => role === 'reasoning')).toMatchObject({ content: 'Let me think.' })
    expect(client.messages.find(({ role }) => role === 'tool')).toMatchObject({
      toolCallId: 't1',
      content: '{"cm":170}',
    })
  })

  it('takes text and state back when the agent writes them again', async () => {
    await using server = await start()
    const { client, run } = clientOf(server.url)
    await run('again')
    expect(client.messages.map(({ content }) => content)).toEqual(['again', 'Right'])
    expect(client.state).toEqual({ size: 1 })
  })

  it('sends files and other data as custom events', async () => {
    await using server = await start()
    const events = await clientOf(server.url).run('files')
    const custom = events.filter(({ type }) => type === 'CUSTOM')
    expect(custom.map(({ name, value }) => [name, value])).toEqual([
      [
        'file',
        {
          type: 'image',
          source: { type: 'data', value: 'AQI=', mimeType: 'image/png' },
          metadata: { filename: 'suit.png' },
        },
      ],
      ['suit', 7],
    ])
  })

  it('ends a failed task with an error', async () => {
    await using server = await start()
    const { client, run } = clientOf(server.url)
    expect((await run('fail')).at(-1)).toEqual({ type: 'RUN_ERROR', message: 'The needle broke', code: 'failed' })
    expect(client.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Half' })
  })

  it('gives the agent tools, context and the state that the user changed', async () => {
    await using server = await start()
    const { client, run } = clientOf(server.url)
    client.state = { size: 1 }
    const tool = { name: 'show', description: 'Shows', parameters: {} }
    const context = [{ description: 'Time', value: 'Monday' }]
    const events = await run('input', { tools: [tool], context, runId: 'run-1' })
    expect(JSON.parse(text(events))).toEqual({
      'ag-ui': { runId: 'run-1', tools: [tool], context, state: { size: 1 } },
    })
    await run('again')
    expect(JSON.parse(text(await run('input', { runId: 'run-2' })))).toEqual({ 'ag-ui': { runId: 'run-2' } })
  })

  it('refuses a second run of a thread with 409, and resumes a run that the client left', async () => {
    await using server = await start()
    const { client, run } = clientOf(server.url, 'long')
    const seen = gate()
    client.subscribe({ onTextMessageContentEvent: () => seen.open() })
    const leaving = run('slow').catch((error: unknown) => error)
    await seen.opened
    await expect(clientOf(server.url, 'long').run('hello')).rejects.toThrow('HTTP 409')
    client.abortRun()
    await leaving
    await expect(clientOf(server.url, 'long').run('hello')).rejects.toThrow('HTTP 409')
    const response = await fetch(`${server.url}/long${version === '1.0' ? '?protocolVersion=1.0' : ''}`)
    server.release.open()
    const events = eventsIn(await response.text())
    expect(text(events)).toBe('Slow but sure')
    expect(events.slice(0, 2)).toMatchObject([
      { type: 'RUN_STARTED', threadId: 'long' },
      { type: 'MESSAGES_SNAPSHOT', messages: [{ role: 'user', content: 'slow' }] },
    ])
    expect(events.at(-1)?.outcome).toEqual({ type: 'success' })
  })
})

describe('the endpoint', () => {
  it('logs no error when clients leave, and says that the task goes on when the server closes', async () => {
    const logged: unknown[] = []
    const server = await start({ log: ({ level, message }) => void (level === 'error' && logged.push(message)) })
    const open = async (threadId: string, signal?: AbortSignal) => {
      const body = { threadId, runId: 'r', tools: [], context: [], state: {}, messages: [user('slow')] }
      const headers = { 'content-type': 'application/json' }
      return await fetch(server.url, { method: 'POST', headers, body: JSON.stringify(body), signal: signal ?? null })
    }
    const leaving = new AbortController()
    const left = await open('left', leaving.signal)
    await left.body?.getReader().read()
    leaving.abort()
    const stayed = await open('stayed')
    const reading = stayed.text()
    await server.served.close({ deadlineMs: 0 })
    expect(eventsIn(await reading).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'UNAVAILABLE' })
    expect(logged).toEqual([])
  })

  it('returns a thread with its earlier messages and its open interrupt', async () => {
    await using server = await start()
    const run = (content: string) => post(server.url, { messages: [user(content, content)], runId: `run ${content}` })
    const { events: greeted } = await run('hello')
    const { events: asked } = await run('plain')
    const { events } = { events: eventsIn(await (await fetch(`${server.url}/t`)).text()) }
    expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
    expect(events[0]?.runId).toBe('run plain')
    const ids = greeted.flatMap(({ type, messageId }) => (type === 'TEXT_MESSAGE_START' ? [messageId] : []))
    expect(events[1]?.messages).toEqual([
      { id: 'hello', role: 'user', content: 'hello' },
      { id: ids[0], role: 'assistant', content: 'Hello' },
      { id: ids[1], role: 'assistant', content: 'Bye' },
      { id: 'plain', role: 'user', content: 'plain' },
    ])
    expect(events.at(-1)?.outcome).toEqual(asked.at(-1)?.outcome)
    const [interrupt] = interruptsIn(asked)
    const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: 'red' }]
    expect(text((await post(server.url, { resume })).events)).toBe('In red')
    expect(text(eventsIn(await (await fetch(`${server.url}/t`)).text()))).toBe('In red')
  })

  it('waits for a credential that arrives elsewhere, and takes one that the user types', async () => {
    const { tailor } = createTailor()
    const served = await serve(tailor, { port: 0, log: false, endpoints: [agUiEndpoint()] })
    await using _closing = { [Symbol.asyncDispose]: () => served.close({ deadlineMs: 0 }) }
    const url = `${served.url.replace(/\/$/, '')}/ag-ui`
    const { events } = await post(url, { messages: [user('login')] })
    const [interrupt] = interruptsIn(events)
    expect(interrupt).toMatchObject({ reason: 'auth_required', message: 'Log in at https://login.example' })
    const waiting = post(url, { resume: [{ interruptId: interrupt?.id, status: 'resolved' }] })
    const taskId = interrupt?.id.split('.')[3] ?? ''
    await served.provideCredential({ taskId, credential: 'token' })
    expect(text((await waiting).events)).toBe('Paid')
    const typed = await post(url, { threadId: 'u', messages: [user('login')] })
    const resume = [{ interruptId: interruptsIn(typed.events)[0]?.id, status: 'resolved', payload: 'a code' }]
    expect(text((await post(url, { threadId: 'u', resume })).events)).toBe('Paid by a code')
  })

  it('serves several agents below its path', async () => {
    const one = agent('Master Tailor', async function* () {
      yield 'A suit'
    })
    const other = agent('Chef', async function* () {
      yield 'A soup'
    })
    const served = await serve([one, other], { port: 0, log: false, endpoints: [agUiEndpoint({ path: '/ui' })] })
    await using _closing = { [Symbol.asyncDispose]: () => served.close({ deadlineMs: 0 }) }
    const url = `${new URL(served.url).origin}/ui`
    const run = (path: string) => post(`${url}${path}`, { messages: [user('x')] })
    expect(text((await run('/master-tailor')).events)).toBe('A suit')
    expect(text((await run('/Chef')).events)).toBe('A soup')
    expect(text(eventsIn(await (await fetch(`${url}/chef/t`)).text()))).toBe('A soup')
    const { status, response } = await run('')
    expect([status, await response.text()]).toEqual([
      404,
      expect.stringContaining('/ui/master-tailor, /ui/chef') as string,
    ])
    expect((await run('/nobody')).status).toBe(404)
  })

  it('shows a caller only its own threads and interrupts', async () => {
    await using server = await start({ auth: [bearer({ ada: 'ada', bob: 'bob' })] })
    const as = (name: string) => ({ authorization: `Bearer ${name}` })
    const run = (name: string, input: object) => post(server.url, input, as(name))
    expect((await post(server.url, { messages: [user('hello')] })).status).toBe(401)
    const asked = await run('ada', { messages: [user('plain')] })
    const resume = [{ interruptId: interruptsIn(asked.events)[0]?.id, status: 'resolved', payload: 'red' }]
    expect((await run('bob', { resume })).status).toBe(404)
    expect((await run('bob', { resume: [{ ...resume[0], status: 'cancelled' }] })).status).toBe(404)
    expect((await fetch(`${server.url}/t`, { headers: as('bob') })).status).toBe(404)
    expect((await run('ada', { threadId: 'other', resume })).status).toBe(400)
    const altered = `${resume[0]?.interruptId}`.replace(/^question\.[\w-]+/, 'question.x')
    expect((await run('ada', { resume: [{ ...resume[0], interruptId: altered }] })).status).toBe(409)
    expect(text((await run('ada', { resume })).events)).toBe('In red')
  })

  it.each([
    ['no object', '[]', 400],
    ['no JSON', '{', 400],
    ['no thread', JSON.stringify({ runId: 'r', messages: [user('x')] }), 400],
    ['a long thread', JSON.stringify({ threadId: 'x'.repeat(300), runId: 'r', messages: [user('x')] }), 400],
    ['no message', JSON.stringify({ threadId: 't', runId: 'r', messages: [] }), 400],
    ['messages that are no list', JSON.stringify({ threadId: 't', runId: 'r', messages: {} }), 400],
    ['the result of a tool', JSON.stringify({ threadId: 't', runId: 'r', messages: [{ id: '1', role: 'tool' }] }), 400],
    [
      'a part without a source',
      JSON.stringify({ threadId: 't', runId: 'r', messages: [user([{ type: 'image' }])] }),
      400,
    ],
    [
      'bytes that are not base64',
      JSON.stringify({
        threadId: 't',
        runId: 'r',
        messages: [user([{ type: 'image', source: { type: 'data', value: '%%%%', mimeType: 'image/png' } }])],
      }),
      400,
    ],
    ...['javascript:alert(1)', 'file:///etc/passwd', 'data:image/png,A', `https://a.example/${'x'.repeat(9000)}`].map(
      (value): [string, string, number] => [
        `the link ${value.slice(0, 20)}`,
        JSON.stringify({
          threadId: 't',
          runId: 'r',
          messages: [user([{ type: 'image', source: { type: 'url', value } }])],
        }),
        400,
      ],
    ),
    [
      'a media type that the agent does not read',
      JSON.stringify({
        threadId: 't',
        runId: 'r',
        messages: [user([{ type: 'audio', source: { type: 'data', value: 'AQI=', mimeType: 'audio/wav' } }])],
      }),
      415,
    ],
    [
      'an unknown interrupt',
      JSON.stringify({ threadId: 't', runId: 'r', resume: [{ interruptId: 'x', status: 'resolved' }] }),
      400,
    ],
    [
      'an unknown status',
      JSON.stringify({ threadId: 't', runId: 'r', resume: [{ interruptId: 'x', status: 'maybe' }] }),
      400,
    ],
  ])('refuses %s', async (_what, body, status) => {
    await using server = await start()
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(server.url, { method: 'POST', headers, body })
    expect([response.status, await response.json()]).toEqual([
      status,
      { code: expect.any(String) as string, message: expect.any(String) as string },
    ])
  })

  it('takes parts of a message, and leaves out those that only a provider can read', async () => {
    await using server = await start()
    const content = [
      { type: 'text', text: 'hello' },
      { type: 'image', source: { type: 'data', value: 'AQI=', mimeType: 'image/png' } },
      { type: 'image', source: { type: 'url', value: 'https://a.example/b.png', mimeType: 'image/png' } },
      { type: 'image', source: { type: 'url', value: 'data:image/png;base64,AQI=' } },
      { type: 'binary', mimeType: 'image/png', data: 'AQI=', filename: 'b.png' },
      { type: 'document', source: { type: 'file', value: 'file-1' } },
    ]
    await post(server.url, { messages: [user(content)] })
    await using direct = await connect(server.served.url)
    const { tasks } = await direct.listTasks({ contextId: 't' })
    expect(tasks[0]?.history?.[0]?.parts).toEqual([
      { text: 'hello' },
      { raw: 'AQI=', mediaType: 'image/png' },
      { url: 'https://a.example/b.png', mediaType: 'image/png' },
      { raw: 'AQI=', mediaType: 'image/png' },
      { raw: 'AQI=', mediaType: 'image/png', filename: 'b.png' },
    ])
  })

  it('starts one of several runs that a thread gets at once', async () => {
    await using server = await start()
    const refused = gate()
    const statuses: number[] = []
    const runs = Array.from({ length: 5 }, async () => {
      statuses.push((await post(server.url, { messages: [user('slow')] })).status)
      if (statuses.length === 4) refused.open()
    })
    // The answer of the run that was started is complete only after its release.
    await refused.opened
    server.release.open()
    await Promise.all(runs)
    expect(statuses).toEqual([409, 409, 409, 409, 200])
  })

  it('has the runs and interrupts of a thread on every replica', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dragoman-ag-ui-'))
    const store = `sqlite:${join(folder, 'tasks.sqlite')}`
    try {
      await using one = await start({ store })
      await using other = await start({ store })
      const { body } = await fetch(one.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: 't', runId: 'r', messages: [user('slow')] }),
      })
      await body?.cancel()
      expect((await post(other.url, { messages: [user('hello')] })).status).toBe(409)
      const response = await fetch(`${other.url}/t`)
      one.release.open()
      const events = eventsIn(await response.text())
      expect([events[0]?.runId, text(events)]).toEqual(['r', 'Slow but sure'])
      const [interrupt] = interruptsIn((await post(one.url, { messages: [user('plain')] })).events)
      const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: 'red' }]
      expect(text((await post(other.url, { resume })).events)).toBe('In red')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('refuses other methods and paths, and unknown options', async () => {
    await using server = await start()
    expect((await fetch(server.url)).status).toBe(405)
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404)
    expect((await fetch(`${server.url}/a/b`)).status).toBe(404)
    expect(() => agUiEndpoint({ root: '/x' } as object)).toThrow('root')
  })
})
