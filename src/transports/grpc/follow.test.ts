import { once } from 'node:events'
import { constants, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { ClientDialect, GrpcClientForm } from '../../dialects/client-dialect.js'
import { v1 } from '../../dialects/v1/index.js'
import { testEngine } from '../../engine/engine.fixture.js'
import { artifact, type Handler, working } from '../../index.js'
import { A2AError, invalidField } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import type { AgentService, StreamItem } from '../../model/service.js'
import { gate, until } from '../../testing/wait.js'
import { positionExtension } from '../transport.js'
import { context, hostile, plain, testClient } from './client.fixture.js'
import { testGrpc } from './grpc.fixture.js'
import { type Rpc, services } from './messages.js'

const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] } as const

function streaming(subscribeToTask: AgentService['subscribeToTask']): AgentService {
  return { subscribeToTask } as AgentService
}

function chunk(seq: number, text = 'x', metadata?: { readonly [key: string]: string }): StreamItem {
  const update = { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text }] } }
  return { event: { artifactUpdate: metadata ? { ...update, metadata } : update }, seq }
}

/** All events of a stream, and its error. */
async function drain(stream: AsyncIterable<StreamItem>): Promise<{ items: StreamItem[]; error?: unknown }> {
  const items: StreamItem[] = []
  try {
    for await (const item of stream) items.push(item)
    return { items }
  } catch (error) {
    return { items, error }
  }
}

function outline(items: readonly StreamItem[]): string[] {
  return items.map(({ event }) => {
    if ('task' in event) return `task ${event.task.status.state}`
    if ('statusUpdate' in event) return `status ${event.statusUpdate.status.state}`
    if ('artifactUpdate' in event)
      return `artifact ${event.artifactUpdate.artifact.parts.map((part) => ('text' in part ? part.text : '?')).join('')}`
    return 'message'
  })
}

/** The test dialect with another stream decoder. */
function decoding(decode: GrpcClientForm['createStreamDecoder']): ClientDialect {
  return { ...plain, grpc: { ...(plain.grpc as GrpcClientForm), createStreamDecoder: decode } } // it has one
}

const subscribe = services.get('lf.a2a.v1.A2AService')?.get('SubscribeToTask') as Rpc

function framed(bytes: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}

/** Waits until a number has not changed for a while. */
async function settled(probe: () => number): Promise<number> {
  let before = -1
  await until(async () => {
    const isStill = probe() > 0 && probe() === before
    before = probe()
    await new Promise((resolve) => setTimeout(resolve, 50))
    return isStill
  })
  return before
}

describe('streams of the gRPC client', () => {
  it('yield a task from its first to its last event, with log positions (R-GRPC-3, E-4)', async () => {
    const handler: Handler = async function* () {
      yield working('Reading')
      yield artifact('answer', 'one ')
      yield artifact('answer', 'two', { append: true })
    }
    await using engine = await testEngine(handler, 'memory')
    await using server = await testGrpc(engine, v1)
    using client = testClient(server.port)
    const { items, error } = await drain(client.sendStreamingMessage({ message }, context))
    expect(error).toBeUndefined()
    expect(outline(items)).toEqual([
      'task TASK_STATE_SUBMITTED',
      'status TASK_STATE_WORKING',
      'artifact one ',
      'artifact two',
      'status TASK_STATE_COMPLETED',
    ])
    const places = items.map(({ seq }) => seq ?? Number.NaN)
    expect(places.every((seq, index) => seq > (places[index - 1] ?? -1))).toBe(true)
    expect(JSON.stringify(items)).not.toContain(positionExtension)
  })

  it('resume after an event (E-4)', async () => {
    const rest = gate()
    const handler: Handler = async function* () {
      yield artifact('answer', 'one ')
      await rest.opened
      yield artifact('answer', 'two', { append: true })
    }
    await using engine = await testEngine(handler, 'memory')
    await using server = await testGrpc(engine, v1)
    using client = testClient(server.port)
    let id = ''
    let seq: number | undefined
    for await (const item of client.sendStreamingMessage({ message }, context)) {
      if ('task' in item.event) id = item.event.task.id
      seq = item.seq
      if ('artifactUpdate' in item.event) break
    }
    rest.open()
    expect(seq).toBeTypeOf('number')
    const { items } = await drain(client.subscribeToTask({ id }, { ...context, resumeAfter: seq as number }))
    expect(outline(items)).toEqual(['artifact two', 'status TASK_STATE_COMPLETED'])
  })

  it('keep other metadata, and the caller’s extensions (R-EXT-2)', async () => {
    const asked: (readonly string[] | undefined)[] = []
    const service = streaming(async function* (_, { extensions }) {
      asked.push(extensions)
      yield chunk(7, 'x', { colour: 'red' })
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const { items } = await drain(client.subscribeToTask({ id: 't' }, { ...context, extensions: ['urn:a'] }))
    expect(items).toEqual([chunk(7, 'x', { colour: 'red' })])
    await drain(client.subscribeToTask({ id: 't' }, { ...context, extensions: [positionExtension] }))
    expect(asked).toEqual([['urn:a', positionExtension], [positionExtension]])
  })

  it.each(['7', -1, 1.5, 2 ** 60])('ignore invalid position %s', async (position) => {
    await using peer = await hostile({
      stream(call) {
        const metadata = { [positionExtension]: position }
        call.write(subscribe.response.encode({ statusUpdate: { taskId: 't', metadata } }))
        call.end()
      },
    })
    using client = testClient(peer.port)
    const { items } = await drain(client.subscribeToTask({ id: 't' }, context))
    expect(items.map(({ seq }) => seq)).toEqual([undefined])
  })

  it('assign the position of a message to the last event decoded from it', async () => {
    await using server = await testGrpc(
      streaming(async function* () {
        yield chunk(7)
      }),
      v1,
    )
    const twice = decoding(() => ({
      isOver: false,
      decode: ({ data }) => [data as StreamResponse, data as StreamResponse],
    }))
    using client = testClient(server.port, { dialect: twice })
    const { items } = await drain(client.subscribeToTask({ id: 't' }, context))
    expect(items.map(({ seq }) => seq)).toEqual([undefined, 7])
  })

  it('send the request on the first read, and only once', async () => {
    let calls = 0
    const service = streaming(async function* () {
      calls += 1
      yield chunk(calls)
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const stream = client.subscribeToTask({ id: 't' }, context)
    const unread = client.subscribeToTask({ id: 't' }, context)[Symbol.asyncIterator]()
    expect(await unread.return?.()).toEqual({ done: true, value: undefined })
    expect(calls).toBe(0)
    expect((await drain(stream)).items).toEqual([chunk(1)])
    expect((await drain(stream)).items).toEqual([])
    expect(calls).toBe(1)
  })

  it('resolve concurrent next() calls in order', async () => {
    const service = streaming(async function* () {
      for (let seq = 1; seq <= 3; seq++) yield chunk(seq)
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const items = client.subscribeToTask({ id: 't' }, context)[Symbol.asyncIterator]()
    const answers = await Promise.all([items.next(), items.next(), items.next(), items.next()])
    expect(answers.map(({ value }) => value?.seq)).toEqual([1, 2, 3, undefined])
  })

  it('report that they are open before the first event', async () => {
    const first = gate()
    const service = streaming(async function* (_, { onOpen }) {
      onOpen?.()
      await first.opened
      yield chunk(1)
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const stream = drain(client.subscribeToTask({ id: 't' }, { ...context, onOpen: first.open }))
    expect((await stream).items).toHaveLength(1)
  })

  it('end at the event that the peer marks as last, and cancel the call', async () => {
    let isLeft = false
    const service = streaming(async function* (_, { signal }) {
      signal?.addEventListener('abort', () => {
        isLeft = true
      })
      yield chunk(1)
      yield chunk(2, 'last')
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    })
    await using server = await testGrpc(service, v1)
    const ending = decoding(() => {
      const decoder = {
        isOver: false,
        decode({ data }: { readonly data: unknown }) {
          decoder.isOver = JSON.stringify(data).includes('last')
          return [data as StreamResponse]
        },
      }
      return decoder
    })
    using client = testClient(server.port, { dialect: ending })
    expect((await drain(client.subscribeToTask({ id: 't' }, context))).items).toEqual([chunk(1), chunk(2, 'last')])
    await until(() => isLeft)
  })

  it('pass the operation and the request to their decoder', async () => {
    await using server = await testGrpc(
      streaming(async function* () {}),
      v1,
    )
    const asked: unknown[] = []
    const noting = decoding((stream) => {
      asked.push({ ...stream, facts: stream.facts.newId() })
      return { isOver: false, decode: () => [] }
    })
    using client = testClient(server.port, { dialect: noting })
    await drain(client.subscribeToTask({ id: 't' }, context))
    expect(asked).toEqual([{ operation: 'subscribeToTask', request: { id: 't' }, sent: { id: 't' }, facts: 'made' }])
  })
})

describe('leaving a stream', () => {
  /** A stream of one event that never ends, and whether its reader has left. */
  function endless() {
    const seen = { isLeft: false }
    const service = streaming(async function* (_, { signal }) {
      yield chunk(1)
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      seen.isLeft = true
    })
    return { service, seen }
  }

  it('ends the call, and not the task (R-GRPC-3)', async () => {
    const { service, seen } = endless()
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    for await (const _ of client.subscribeToTask({ id: 't' }, context)) break
    await until(() => seen.isLeft)
    expect(server.errors).toEqual([])
  })

  it('works while the next event is awaited', async () => {
    const { service, seen } = endless()
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const items = client.subscribeToTask({ id: 't' }, context)[Symbol.asyncIterator]()
    await items.next()
    const next = items.next()
    expect(await items.return?.()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    await until(() => seen.isLeft)
  })

  it('by the signal is an error, and ends the call', async () => {
    const { service, seen } = endless()
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const leaving = new AbortController()
    const items = client.subscribeToTask({ id: 't' }, { ...context, signal: leaving.signal })[Symbol.asyncIterator]()
    await items.next()
    const next = drain({ [Symbol.asyncIterator]: () => items })
    leaving.abort('bored')
    expect((await next).error).toMatchObject({ failure: 'aborted', cause: 'bored', isRetryable: false })
    await until(() => seen.isLeft)
  })

  it('by an aborted signal sends no request', async () => {
    let calls = 0
    const service = streaming(async function* () {
      calls += 1
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const stream = client.subscribeToTask({ id: 't' }, { ...context, signal: AbortSignal.abort() })
    expect((await drain(stream)).error).toMatchObject({ failure: 'aborted' })
    expect(calls).toBe(0)
  })
})

describe('streams that fail', () => {
  it('before their first event do so with the agent’s error (R-STRM-11)', async () => {
    await using engine = await testEngine(async function* () {}, 'memory')
    await using server = await testGrpc(engine, v1)
    using client = testClient(server.port)
    const { items, error } = await drain(client.subscribeToTask({ id: 'nowhere' }, context))
    expect(items).toEqual([])
    expect(error).toMatchObject({ name: 'A2AError', code: 'TASK_NOT_FOUND' })
  })

  it('after events do so, too', async () => {
    const service = streaming(async function* () {
      yield chunk(1)
      throw new A2AError('UNAVAILABLE', 'Gone elsewhere')
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const { items, error } = await drain(client.subscribeToTask({ id: 't' }, context))
    expect(items).toEqual([chunk(1)])
    expect(error).toMatchObject({ name: 'A2AError', code: 'UNAVAILABLE' })
  })

  it('are broken when the server dies in the middle', async () => {
    let isReading = false
    const service = streaming(async function* () {
      yield chunk(1)
      isReading = true
      await new Promise(() => undefined)
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const stream = drain(client.subscribeToTask({ id: 't' }, context))
    await until(() => isReading)
    await server.grpc.close(0)
    const { error } = await stream
    expect(error).toMatchObject({ name: 'TransportError', failure: 'broken-stream', isRetryable: true })
  })

  it('are broken when the peer resets them', async () => {
    const web = createServer().listen(0, '127.0.0.1')
    await once(web, 'listening')
    const first = gate()
    web.on('stream', async (stream) => {
      stream.on('error', () => undefined)
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
      stream.write(framed(subscribe.response.encode(chunk(1).event)))
      await first.opened
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    })
    try {
      using client = testClient((web.address() as AddressInfo).port) // it listens on TCP
      const items = client.subscribeToTask({ id: 't' }, context)[Symbol.asyncIterator]()
      expect(outline([(await items.next()).value])).toEqual(['artifact x'])
      first.open()
      const { error } = await drain({ [Symbol.asyncIterator]: () => items })
      expect(error).toMatchObject({ failure: 'broken-stream' })
    } finally {
      web.close()
    }
  })

  it('are not subject to the time limit of calls', async () => {
    const rest = gate()
    const service = streaming(async function* () {
      yield chunk(1)
      await rest.opened
      yield chunk(2)
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port, { timeoutMs: 20 })
    setTimeout(rest.open, 80)
    expect((await drain(client.subscribeToTask({ id: 't' }, context))).items).toHaveLength(2)
  })

  it('report an event that is too large', async () => {
    const service = streaming(async function* () {
      yield chunk(1)
      yield chunk(2, 'x'.repeat(5000))
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port, { maxMessageBytes: 2000 })
    expect((await drain(client.subscribeToTask({ id: 't' }, context))).error).toMatchObject({ failure: 'refused' })
  })

  it('report an unreadable event as an error of the agent, and cancel the call', async () => {
    let isLeft = false
    const service = streaming(async function* (_, { signal }) {
      yield chunk(1)
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      isLeft = true
    })
    await using server = await testGrpc(service, v1)
    const refusing = decoding(() => ({
      isOver: false,
      decode() {
        throw invalidField('artifactUpdate.artifact', 'is required')
      },
    }))
    using client = testClient(server.port, { dialect: refusing })
    expect((await drain(client.subscribeToTask({ id: 't' }, context))).error).toMatchObject({
      code: 'INVALID_AGENT_RESPONSE',
      details: { violations: [{ field: 'artifactUpdate.artifact', description: 'is required' }] },
    })
    await until(() => isLeft)
  })
})

describe('slow readers', () => {
  it('apply backpressure to the peer, and lose no event (E-5)', async () => {
    const total = 2000
    let sent = 0
    const service = streaming(async function* () {
      for (; sent < total; sent++) yield chunk(sent, `${sent}`.padEnd(2000))
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const items = client.subscribeToTask({ id: 't' }, context)[Symbol.asyncIterator]()
    const places = [(await items.next()).value?.seq]
    expect(await settled(() => sent)).toBeLessThan(200)
    for (let next = await items.next(); !next.done; next = await items.next()) places.push(next.value.seq)
    expect(places).toEqual(Array.from({ length: total }, (_, place) => place))
  })
})
