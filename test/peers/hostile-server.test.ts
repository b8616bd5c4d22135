/** Hostile servers: for every answer, callers soon see an `A2AError` or a `TransportError`. */
import { gzipSync } from 'node:zlib'
import { A2AError, type ConnectOptions, connect, TransportError, type Update } from 'dragoman/client'
import { describe, expect, it } from 'vitest'
import {
  brokenStream,
  type Call,
  cardOf,
  chunk,
  event,
  hostileServer,
  json,
  openStream,
  result,
  status,
  streamOf,
  task,
} from './hostile-server.js'

const quick: ConnectOptions = { timeoutMs: 1000, retry: { firstDelayMs: 1, maxDelayMs: 10 } }

/** The class of a failed call's error; other classes fail the test. */
async function failureOf(call: () => Promise<unknown>): Promise<string> {
  const startedAt = performance.now()
  try {
    return `answered ${JSON.stringify(await call())}`
  } catch (error) {
    expect(performance.now() - startedAt).toBeLessThan(5000)
    if (error instanceof A2AError) return error.code
    if (error instanceof TransportError) return error.failure
    throw error
  }
}

async function read(updates: AsyncIterable<Update>): Promise<Update[]> {
  const seen: Update[] = []
  for await (const update of updates) seen.push(update)
  return seen
}

const megabyte = 1024 * 1024
const bomb = gzipSync(Buffer.alloc(200 * megabyte, 0x20))
const page = '<!doctype html><title>Bad gateway</title><h1>Oops</h1>'

function raw({ response }: Call, body: string | Buffer, headers: Record<string, string> = {}, code = 200): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(body)
}

describe('an answer', () => {
  const answers: readonly (readonly [name: string, failure: string | RegExp, answer: (call: Call) => unknown])[] = [
    ['that is not JSON', 'bad-answer', (call) => raw(call, '{"jsonrpc": "2.0", "result"')],
    ['that is empty', 'bad-answer', (call) => raw(call, '')],
    ['of nothing', 'bad-answer', (call) => raw(call, '', {}, 204)],
    ['that is null', 'bad-answer', (call) => raw(call, 'null')],
    ['that is a list', 'bad-answer', (call) => raw(call, '[]')],
    ['that is a web page', 'bad-answer', (call) => raw(call, page, { 'content-type': 'text/html' })],
    ['that is an error page', 'bad-answer', (call) => raw(call, page, { 'content-type': 'text/html' }, 500)],
    ['that is not UTF-8', /INVALID_AGENT_RESPONSE|bad-answer/, (call) => raw(call, Buffer.from([0xff, 0xfe, 0x7b]))],
    ['with an error inside 200', 'TASK_NOT_FOUND', (call) => rpcError(call, { code: -32001, message: 'No task' })],
    ['with an error without a code', 'INTERNAL_ERROR', (call) => rpcError(call, { message: 'Oops' })],
    ['with an error that is text', 'bad-answer', ({ id, response }) => json(response, { id, error: 'Oops' })],
    [
      'with an error and a result',
      'TASK_NOT_FOUND',
      ({ id, response }) => json(response, { id, result: task('WORKING'), error: { code: -32001, message: 'No' } }),
    ],
    ['with a result of null', 'INVALID_AGENT_RESPONSE', (call) => result(call, null)],
    ['without a result', 'INVALID_AGENT_RESPONSE', ({ id, response }) => json(response, { jsonrpc: '2.0', id })],
    ['with an empty result', 'INVALID_AGENT_RESPONSE', (call) => result(call, {})],
    ['with a task in an unknown state', 'INVALID_AGENT_RESPONSE', (call) => result(call, task('DREAMING'))],
    ['with wrong types', 'INVALID_AGENT_RESPONSE', (call) => result(call, { id: 1, contextId: [], status: 'x' })],
    [
      'that nests too deeply',
      /INVALID_AGENT_RESPONSE|bad-answer/,
      (call) => raw(call, `{"result":{"metadata":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}}`),
    ],
    ['that is too long', 'refused', (call) => raw(call, Buffer.alloc(11 * megabyte, 0x20))],
    ['that never ends', 'refused', endless],
    ['that is a decompression bomb', 'refused', (call) => raw(call, bomb, { 'content-encoding': 'gzip' })],
    ['with a wrong Content-Encoding', 'bad-answer', (call) => raw(call, '{}', { 'content-encoding': 'gzip' })],
    ['that ends early', 'unreachable', (call) => breakOff(call)],
    ['that ends before its first byte', 'unreachable', ({ response }) => response.destroy()],
    ['that never arrives', 'timeout', () => undefined],
    ['that arrives byte by byte', 'timeout', (call) => trickle(call)],
    ['that is not HTTP', /bad-answer|unreachable/, ({ response }) => response.socket?.end('SSH-2.0-OpenSSH_9.6\r\n')],
    ['that redirects', 'refused', (call) => raw(call, '', { location: 'http://127.0.0.1:1/' }, 307)],
    ['of a gateway that requires a password', 'UNAUTHENTICATED', (call) => raw(call, page, {}, 401)],
    ['with status 418', 'bad-answer', (call) => raw(call, page, {}, 418)],
  ]

  it.each(answers)('%s is %s', async (_name, failure, answer) => {
    await using server = await hostileServer({ GetTask: answer })
    await using agent = await connect(server.origin, quick)
    const failed = await failureOf(() => agent.task('t1').get())
    if (typeof failure === 'string') expect(failed).toBe(failure)
    else expect(failed).toMatch(failure)
  })

  it.each([
    ['a wrong id', (call: Call) => result({ ...call, id: 'other' }, task('COMPLETED'))],
    ['no version of JSON-RPC', ({ response }: Call) => json(response, { result: task('COMPLETED') })],
    [
      'a wrong type',
      (call: Call) => raw(call, JSON.stringify({ result: task('COMPLETED') }), { 'content-type': 'x/y' }),
    ],
    ['an error status', ({ response }: Call) => json(response, { result: task('COMPLETED') }, 500)],
    ['unknown members', (call: Call) => result(call, task('COMPLETED', { constructor: 1, admin: true }))],
  ])('with %s is accepted', async (_name, answer) => {
    await using server = await hostileServer({ GetTask: answer })
    await using agent = await connect(server.origin, quick)
    expect(await agent.task('t1').get()).toEqual(task('COMPLETED'))
  })

  it('without a result means null, as Python and Go SDKs respond to deletions', async () => {
    await using server = await hostileServer({
      DeleteTaskPushNotificationConfig: ({ id, response }) => json(response, { jsonrpc: '2.0', id }),
    })
    await using agent = await connect(server.origin, quick)
    expect(await agent.deleteTaskPushNotificationConfig({ taskId: 't1', id: 'p' })).toBeUndefined()
  })

  it('cannot modify object prototypes', async () => {
    await using server = await hostileServer({
      GetTask: (call) =>
        raw(
          call,
          `{"result":{"__proto__":{"polluted":1},"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}`,
        ),
    })
    await using agent = await connect(server.origin, quick)
    const answered = await agent.task('t1').get()
    expect((answered as { polluted?: unknown }).polluted).toBeUndefined()
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})

function rpcError({ id, response }: Call, error: object): void {
  json(response, { jsonrpc: '2.0', id, error })
}

function endless({ response }: Call): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const spaces = Buffer.alloc(megabyte, 0x20)
  const more = () => {
    while (!response.destroyed && response.write(spaces));
  }
  response.on('drain', more)
  more()
}

function breakOff({ response }: Call): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('{"result":', () => response.destroy())
}

function trickle({ response }: Call): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}

describe('Retry-After', () => {
  const busy = (call: Call, retryAfter: string) => raw(call, page, { 'retry-after': retryAfter }, 503)

  it.each(['86400', '9'.repeat(30)])('with a very long delay (%s) ends the retries', async (retryAfter) => {
    await using server = await hostileServer({ GetTask: (call) => busy(call, retryAfter) })
    await using agent = await connect(server.origin, quick)
    expect(await failureOf(() => agent.task('t1').get())).toBe('bad-answer')
    expect(server.calls.filter(({ method }) => method === 'GetTask')).toHaveLength(1)
  })

  it.each(['0', '-5', 'soon', '', '1e3', 'Wed, 21 Oct 2015 07:28:00 GMT'])(
    'without a delay (%s) ends after a few retries',
    async (retryAfter) => {
      await using server = await hostileServer({ GetTask: (call) => busy(call, retryAfter) })
      await using agent = await connect(server.origin, quick)
      expect(await failureOf(() => agent.task('t1').get())).toBe('bad-answer')
      expect(server.calls.filter(({ method }) => method === 'GetTask')).toHaveLength(4)
    },
  )

  it('never repeats a send without a key', async () => {
    await using server = await hostileServer({ SendMessage: (call) => busy(call, '0') })
    await using agent = await connect(server.origin, quick)
    expect(await failureOf(() => agent.ask('hi'))).toBe('bad-answer')
    expect(server.calls.filter(({ method }) => method === 'SendMessage')).toHaveLength(1)
  })
})

describe('a stream', () => {
  const bad: readonly (readonly [name: string, failure: string, answer: (call: Call) => unknown])[] = [
    ['of garbage', 'bad-answer', (call) => streamOf(call, 'data: {"jsonrpc\n\n')],
    ['of a web page', 'bad-answer', (call) => raw(call, page, { 'content-type': 'text/html' })],
    ['of unknown events', 'INVALID_AGENT_RESPONSE', (call) => streamOf(call, event(call, { dream: {} }))],
    ['of events with wrong types', 'INVALID_AGENT_RESPONSE', (call) => streamOf(call, event(call, { task: 7 }))],
    [
      'with an error in the middle',
      'UNSUPPORTED_OPERATION',
      (call) => streamOf(call, event(call, { task: task('WORKING') }), failed(call, -32004)),
    ],
    ['that is an error', 'UNSUPPORTED_OPERATION', (call) => rpcError(call, { code: -32004, message: 'No' })],
    ['that ends before its first event', 'broken-stream', (call) => streamOf(call)],
    ['that breaks before its first event', 'broken-stream', (call) => brokenStream(call, ':\n\n')],
    ['that never begins', 'timeout', () => undefined],
    ['of one event that never ends', 'refused', (call) => endlessEvent(call, 'text/event-stream')],
    [
      'of one event that never ends, with unusual line breaks',
      'refused',
      (call) => endlessEvent(call, 'Text/Event-Stream;x=y'),
    ],
    ['of one event of endless lines', 'refused', (call) => endlessEvent(call, 'text/event-stream', '\ndata: ')],
    ['of endless data that is not a stream', 'refused', endless],
  ]

  it.each(bad)('%s is %s', async (_name, failure, answer) => {
    await using server = await hostileServer({ SendStreamingMessage: answer })
    await using agent = await connect(server.origin, quick)
    expect(await failureOf(() => read(agent.stream('hi')))).toBe(failure)
    expect(server.calls.filter(({ method }) => method === 'SendStreamingMessage')).toHaveLength(1)
  })

  it('of comments only is closed when its reader stops', async () => {
    await using server = await hostileServer({
      SendStreamingMessage(call) {
        openStream(call)
        const timer = setInterval(() => call.response.write(':\n\n'), 5)
        call.response.on('close', () => clearInterval(timer))
      },
    })
    await using agent = await connect(server.origin, quick)
    expect(await failureOf(() => read(agent.stream('hi', { timeoutMs: 100 })))).toBe('timeout')
    const leaving = new AbortController()
    setTimeout(() => leaving.abort(), 50)
    expect(await failureOf(() => read(agent.stream('hi', { signal: leaving.signal })))).toBe('aborted')
    await expect.poll(() => server.answering).toBe(0)
  })

  it('of 10,000 small events is read in order and soon', async () => {
    const count = 10_000
    await using server = await hostileServer({
      SendStreamingMessage(call) {
        openStream(call)
        call.response.write(event(call, { task: task('WORKING') }))
        for (let place = 0; place < count; place++) call.response.write(event(call, chunk(String(place))))
        call.response.end(event(call, status('COMPLETED')))
      },
    })
    await using agent = await connect(server.origin, quick)
    const startedAt = performance.now()
    const texts = textsIn(await read(agent.stream('hi')))
    expect(performance.now() - startedAt).toBeLessThan(5000)
    expect(texts).toEqual(Array.from({ length: count }, (_, place) => String(place)))
  })

  it('ends with its task, however the connection ends', async () => {
    await using server = await hostileServer({
      SendStreamingMessage: (call) =>
        brokenStream(call, event(call, { task: task('WORKING') }, 1), event(call, status('COMPLETED'), 2), 'data: {"'),
    })
    await using agent = await connect(server.origin, quick)
    expect(await read(agent.stream('hi'))).toEqual([{ task: task('WORKING') }, status('COMPLETED')])
    expect(server.calls.map(({ method }) => method)).toEqual(['', 'SendStreamingMessage'])
  })

  it('ends with a message, however the connection ends', async () => {
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] }
    await using server = await hostileServer({
      SendStreamingMessage: (call) => brokenStream(call, event(call, { message })),
    })
    await using agent = await connect(server.origin, quick)
    expect(await read(agent.stream('hi'))).toEqual([{ message }])
  })

  it('that breaks within an event resumes after the last event id, and repeats no event', async () => {
    await using server = await hostileServer({
      SendStreamingMessage: (call) =>
        brokenStream(
          call,
          event(call, { task: task('WORKING') }, 1),
          event(call, chunk('a'), 2),
          event(call, chunk('b'), 3).slice(0, 40),
        ),
      SubscribeToTask(call) {
        const all = [chunk('a'), chunk('b'), chunk('c'), chunk('d'), status('COMPLETED')]
        const events = all.map((each, place) => event(call, each, place + 2))
        // Events from the start, from before the break, and finally from after it.
        if (call.count === 0) brokenStream(call, ...events.slice(0, 2))
        else if (call.count === 1) brokenStream(call, ...events.slice(0, 3), 'data: {"jso')
        else streamOf(call, ...events)
      },
    })
    await using agent = await connect(server.origin, quick)
    const updates = await read(agent.stream('hi'))
    expect(textsIn(updates)).toEqual(['a', 'b', 'c', 'd'])
    expect(updates.some((update) => 'reset' in update)).toBe(false)
    const resumed = server.calls.filter(({ method }) => method === 'SubscribeToTask')
    expect(resumed.map(({ headers }) => headers['last-event-id'])).toEqual(['2', '3', '4'])
  })

  it('without event ids continues with the task at the start of a subscription', async () => {
    await using server = await hostileServer({
      SendStreamingMessage: (call) =>
        brokenStream(call, event(call, { task: task('WORKING') }), event(call, chunk('a'))),
      SubscribeToTask: (call) =>
        streamOf(
          call,
          event(call, { task: withText('ab') }),
          event(call, chunk('c')),
          event(call, status('COMPLETED')),
        ),
    })
    await using agent = await connect(server.origin, quick)
    expect(await read(agent.stream('hi'))).toEqual([
      { task: task('WORKING') },
      chunk('a'),
      { reset: withText('ab') },
      chunk('c'),
      status('COMPLETED'),
    ])
  })

  it('without event ids, whose subscriptions lack missed events, is completed by reading the task', async () => {
    const states = [withText('ab'), withText('abcd', 'COMPLETED')]
    await using server = await hostileServer({
      SendStreamingMessage: (call) =>
        brokenStream(call, event(call, { task: task('WORKING') }), event(call, chunk('a'))),
      SubscribeToTask: (call) => streamOf(call, event(call, chunk('d')), event(call, status('COMPLETED'))),
      GetTask: (call) => result(call, states[call.count] ?? states[1]),
    })
    await using agent = await connect(server.origin, quick)
    const updates = await read(agent.stream('hi'))
    expect(updates.slice(0, 3)).toEqual([{ task: task('WORKING') }, chunk('a'), { reset: withText('ab') }])
    expect(textsIn(updates)).toEqual(['a', 'abcd'])
    expect(updates.at(-1)).toEqual(status('COMPLETED'))
  })

  it('that only repeats the same task fails', async () => {
    await using server = await hostileServer({
      SendStreamingMessage: (call) => brokenStream(call, event(call, { task: task('WORKING') })),
      SubscribeToTask: (call) => brokenStream(call, event(call, { task: withText('ab') })),
    })
    await using agent = await connect(server.origin, quick)
    const seen: Update[] = []
    const failure = await failureOf(async () => {
      for await (const update of agent.stream('hi')) seen.push(update)
    })
    expect(failure).toBe('broken-stream')
    expect(seen).toEqual([{ task: task('WORKING') }, { reset: withText('ab') }])
    expect(server.calls.length).toBeLessThan(10)
  })

  it('is not reopened after its reader has stopped', async () => {
    await using server = await hostileServer({
      SendStreamingMessage(call) {
        openStream(call)
        call.response.write(event(call, { task: task('WORKING') }, 1))
      },
    })
    await using agent = await connect(server.origin, quick)
    for await (const _ of agent.stream('hi')) break
    await expect.poll(() => server.answering).toBe(0)
    expect(server.calls.map(({ method }) => method)).toEqual(['', 'SendStreamingMessage'])
  })

  it('with Retry-After is resumed after the delay', async () => {
    await using server = await hostileServer({
      SendStreamingMessage: (call) => brokenStream(call, event(call, { task: task('WORKING') }, 1)),
      SubscribeToTask(call) {
        if (call.count === 0) raw(call, page, { 'retry-after': '0' }, 429)
        else if (call.count === 1) raw(call, page, {}, 503)
        else streamOf(call, event(call, status('COMPLETED'), 2))
      },
    })
    await using agent = await connect(server.origin, quick)
    expect(await read(agent.stream('hi'))).toEqual([{ task: task('WORKING') }, status('COMPLETED')])
  })
})

function withText(text: string, state = 'WORKING'): object {
  return task(state, { artifacts: [{ artifactId: 'a1', parts: [{ text }] }] })
}

function textsIn(updates: readonly Update[]): readonly string[] {
  return updates.flatMap((update) =>
    'artifactUpdate' in update
      ? update.artifactUpdate.artifact.parts.map((part) => ('text' in part ? part.text : ''))
      : [],
  )
}

function failed({ id }: Call, code: number): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'No' } })}\n\n`
}

function endlessEvent(call: Call, type: string, between = ''): void {
  openStream(call, type)
  const { response } = call
  const line = between + 'x'.repeat(64 * 1024)
  response.write('data: ')
  const more = () => {
    while (!response.destroyed && response.write(line));
  }
  response.on('drain', more)
  more()
}

describe('an agent that cannot stream', () => {
  it('and whose task never ends is polled until its caller stops', async () => {
    await using server = await hostileServer({
      SendMessage: (call) => result(call, { task: task('WORKING') }),
      GetTask: (call) => result(call, task('WORKING')),
    })
    await using agent = await connect(cardOf(server.origin, { capabilities: { streaming: false } }), quick)
    expect(await failureOf(() => read(agent.stream('hi', { timeoutMs: 700 })))).toBe('timeout')
    expect(server.calls.length).toBeLessThan(6)
  })
})
