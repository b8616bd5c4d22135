import { connect } from 'node:http2'
import { status } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { v1 } from '../../dialects/v1/index.js'
import { testEngine } from '../../engine/engine.fixture.js'
import { artifact, type Handler, working } from '../../index.js'
import { A2AError } from '../../model/errors.js'
import type { AgentService, StreamItem } from '../../model/service.js'
import { gate, until } from '../../testing/wait.js'
import { positionExtension } from '../transport.js'
import { drain, fromStruct, type Json, testGrpc } from './grpc.fixture.js'
import { type Rpc, services } from './messages.js'
import { readDetails } from './status.js'

const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

const chunks: Handler = async function* () {
  yield working('Reading')
  yield artifact('answer', 'one ')
  yield artifact('answer', 'two', { append: true })
}

/** A service with streaming operations only. */
function streaming(subscribeToTask: AgentService['subscribeToTask']): AgentService {
  return { subscribeToTask } as AgentService
}

function chunk(seq: number, text = 'x'): StreamItem {
  return {
    event: { artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text }] } } },
    seq,
  }
}

/** Summarizes a stream, with log positions if there are any. */
function outline(messages: readonly Json[]): string[] {
  return messages.map((each) => {
    const [[kind, content] = ['nothing', {}]] = Object.entries(each) as [string, Json][]
    const { state } = (content.status ?? {}) as { state?: string }
    const { parts = [] } = (content.artifact ?? {}) as { parts?: { text: string }[] }
    const seq = content.metadata ? ` @${fromStruct(content.metadata)[positionExtension]}` : ''
    return `${kind} ${state?.replace('TASK_STATE_', '') ?? parts.map(({ text }) => text).join('')}${seq}`
  })
}

describe('gRPC streams', () => {
  it('carry a task from its first to its last event (R-GRPC-3, R-STRM-3)', async () => {
    await using engine = await testEngine(chunks, 'memory')
    await using server = await testGrpc(engine, v1)
    const { messages, error } = await drain(server.stream('SendStreamingMessage', { message }))
    expect(error).toBeUndefined()
    expect(outline(messages)).toEqual([
      'task SUBMITTED',
      'statusUpdate WORKING',
      'artifactUpdate one ',
      'artifactUpdate two',
      'statusUpdate COMPLETED',
    ])
    const { id } = (messages[0] as { task: { id: string } }).task
    const { message: task } = await server.unary('GetTask', { id })
    expect(task).toMatchObject({ artifacts: [{ parts: [{ text: 'one ' }, { text: 'two' }] }], history: [message] })
  })

  it('are joined and resumed by log position if the caller requests positions (E-4)', async () => {
    const rest = gate()
    const handler: Handler = async function* () {
      yield artifact('answer', 'one ')
      await rest.opened
      yield artifact('answer', 'two', { append: true })
    }
    await using engine = await testEngine(handler, 'memory')
    await using server = await testGrpc(engine, v1)
    const metadata = { 'a2a-extensions': positionExtension }
    const stream = server.stream('SendStreamingMessage', { message }, { metadata })
    let named: unknown
    stream.on('metadata', (headers: { get(name: string): unknown }) => {
      named = headers.get('a2a-extensions')
    })
    const seen: Json[] = []
    stream.on('data', (each: Json) => seen.push(each))
    stream.on('error', () => undefined)
    const isSeen = await until(() => outline(seen).find((each) => each.startsWith('artifactUpdate one')))
    expect(named).toEqual([positionExtension])
    stream.cancel()
    rest.open()
    const { id } = (seen[0] as { task: { id: string } }).task
    const seq = isSeen.split('@')[1] ?? ''
    const resumed = server.stream('SubscribeToTask', { id }, { metadata: { ...metadata, 'last-event-id': seq } })
    const { messages } = await drain(resumed)
    const [first, last] = outline(messages)
    expect(first).toMatch(/^artifactUpdate two @\d+$/)
    expect(last).toMatch(/^statusUpdate COMPLETED @\d+$/)
    expect(messages).toHaveLength(2)
  })

  it('name each active extension once (R-EXT-2)', async () => {
    const service = streaming(async function* () {
      yield chunk(7)
    })
    const extensions = ['urn:a', positionExtension].map((uri) => ({ uri, isRequired: false }))
    await using server = await testGrpc(service, v1, { endpoint: { extensions } })
    const metadata = { 'a2a-extensions': `urn:a,${positionExtension},urn:b` }
    const stream = server.stream('SubscribeToTask', { id: 't' }, { metadata })
    const headers = new Promise<{ get(name: string): unknown }>((resolve) => stream.on('metadata', resolve))
    expect(outline((await drain(stream)).messages)).toEqual(['artifactUpdate x @7'])
    expect((await headers).get('a2a-extensions')).toEqual([`urn:a, ${positionExtension}`])
  })

  it('carry no log positions unless the caller requests them', async () => {
    await using server = await testGrpc(
      streaming(async function* () {
        yield chunk(7)
      }),
      v1,
    )
    const { messages } = await drain(server.stream('SubscribeToTask', { id: 't' }))
    expect(messages).toEqual([chunk(7).event])
  })

  it('end without the task when the client cancels (R-GRPC-3)', async () => {
    const rest = gate()
    let isAborted = false
    const handler: Handler = async function* ({ signal }) {
      signal.addEventListener('abort', () => {
        isAborted = true
      })
      yield 'one '
      await rest.opened
      yield 'two'
    }
    await using engine = await testEngine(handler, 'memory')
    await using server = await testGrpc(engine, v1)
    const stream = server.stream('SendStreamingMessage', { message })
    const seen: Json[] = []
    stream.on('data', (each: Json) => seen.push(each))
    const ended = new Promise<{ code?: number }>((resolve) => stream.on('error', resolve))
    await until(() => seen.length >= 2)
    stream.cancel()
    expect((await ended).code).toBe(status.CANCELLED)
    rest.open()
    const { id } = (seen[0] as { task: { id: string } }).task
    await until(async () => {
      const { message: task } = await server.unary('GetTask', { id })
      return (task.status as Json).state === 'TASK_STATE_COMPLETED'
    })
    expect(isAborted).toBe(false)
    expect(server.errors).toEqual([])
  })

  it.each(['cancel', 'deadline'])('stop reading the log on %s', async (how) => {
    let isReading = false
    let isLeft = false
    const service = streaming(async function* (_, { signal }) {
      try {
        yield chunk(1)
        isReading = true
        await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      } finally {
        isLeft = true
      }
    })
    await using server = await testGrpc(service, v1)
    const settings = how === 'deadline' ? { deadline: Date.now() + 150 } : {}
    const stream = server.stream('SubscribeToTask', { id: 't' }, settings)
    const ended = drain(stream)
    await until(() => isReading)
    if (how === 'cancel') stream.cancel()
    await until(() => isLeft)
    expect((await ended).error?.code).toBe(how === 'cancel' ? status.CANCELLED : status.DEADLINE_EXCEEDED)
    expect(server.errors).toEqual([])
  })

  it('log no error if the service fails because the reader left', async () => {
    let isReading = false
    let isLeft = false
    const service = streaming(async function* (_, { signal }) {
      yield chunk(1)
      isReading = true
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      isLeft = true
      signal?.throwIfAborted()
    })
    await using server = await testGrpc(service, v1)
    const stream = server.stream('SubscribeToTask', { id: 't' })
    const ended = drain(stream)
    await until(() => isReading)
    stream.cancel()
    await ended
    await until(() => isLeft)
    expect(server.errors).toEqual([])
  })

  it('fail before their first event with a status and its details (R-STRM-11)', async () => {
    await using engine = await testEngine(chunks, 'memory')
    await using server = await testGrpc(engine, v1)
    const { messages, error } = await drain(server.stream('SubscribeToTask', { id: 'nowhere' }))
    expect(messages).toEqual([])
    expect(error?.code).toBe(status.NOT_FOUND)
    const [bytes] = error?.metadata.get('grpc-status-details-bin') ?? []
    expect(readDetails(bytes as Buffer).details[0]).toMatchObject({ reason: 'TASK_NOT_FOUND' })
  })

  it('fail with a status after events, too', async () => {
    const service = streaming(async function* () {
      yield chunk(1)
      throw new A2AError('UNAVAILABLE', 'Gone elsewhere', { retryAfterSeconds: 1 })
    })
    await using server = await testGrpc(service, v1)
    const { messages, error } = await drain(server.stream('SubscribeToTask', { id: 't' }))
    expect(messages).toHaveLength(1)
    expect(error).toMatchObject({ code: status.UNAVAILABLE, details: 'Gone elsewhere' })
  })

  it('hide the cause of an internal error', async () => {
    const service = streaming(async function* () {
      yield chunk(1)
      throw new Error('disk /dev/sda1 is full')
    })
    await using server = await testGrpc(service, v1)
    const { error } = await drain(server.stream('SubscribeToTask', { id: 't' }))
    expect(error).toMatchObject({ code: status.INTERNAL, details: 'Internal error' })
    expect(server.errors.map(({ cause }) => String(cause))).toEqual(['Error: disk /dev/sda1 is full'])
  })

  it('open before their first event if it is certain to follow', async () => {
    const first = gate()
    const service = streaming(async function* (_, { onOpen }) {
      onOpen?.()
      await first.opened
      yield chunk(1)
    })
    await using server = await testGrpc(service, v1)
    const stream = server.stream('SubscribeToTask', { id: 't' })
    await new Promise((resolve) => stream.on('metadata', resolve))
    first.open()
    expect((await drain(stream)).messages).toHaveLength(1)
  })

  it('end with OK without any event', async () => {
    const service = streaming(async function* () {})
    await using server = await testGrpc(service, v1)
    expect(await drain(server.stream('SubscribeToTask', { id: 't' }))).toEqual({ messages: [] })
  })

  it('stop reading the log for a slow reader, and lose no event (E-5)', async () => {
    const total = 2000
    let read = 0
    const service = streaming(async function* () {
      for (; read < total; read++) yield chunk(read, `${read}`.padEnd(2000))
    })
    await using server = await testGrpc(service, v1)
    // A plain HTTP/2 client, because the grpc-js client reads even while paused.
    const session = connect(`http://127.0.0.1:${server.port}`)
    const stream = session.request({
      ':method': 'POST',
      ':path': '/lf.a2a.v1.A2AService/SubscribeToTask',
      'content-type': 'application/grpc',
    })
    stream.end(framed(Buffer.from([18, 1, 116])))
    stream.pause()
    let before = -1
    await until(async () => {
      const isStill = read > 0 && read === before
      before = read
      await new Promise((resolve) => setTimeout(resolve, 50))
      return isStill
    })
    expect(read).toBeLessThan(200)
    const received: Buffer[] = []
    for await (const data of stream) received.push(data as Buffer)
    session.close()
    const texts = unframed(Buffer.concat(received)).map((bytes) => {
      const [, text] = outline([subscribe.response.decode(bytes) as Json])[0]?.split(' ') ?? []
      return Number(text)
    })
    expect(texts).toEqual(Array.from({ length: total }, (_, place) => place))
  })

  it('end with a status at the deadline, also during a write (R-GRPC-3)', async () => {
    const busy = streaming(async function* (_request, { signal }) {
      for (let seq = 1; !signal?.aborted; seq++) {
        yield chunk(seq)
        // Runs with the deadline timer, before the write is flushed.
        await new Promise((resolve) => setTimeout(resolve, 1))
        yield chunk(++seq)
      }
    })
    await using server = await testGrpc(busy, v1)
    const session = connect(`http://127.0.0.1:${server.port}`)
    for (const timeout of Array(20).fill(['0n', '1u', '2m', '5m']).flat() as string[]) {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/lf.a2a.v1.A2AService/SubscribeToTask',
        'content-type': 'application/grpc',
        'grpc-timeout': timeout,
      })
      const ended = new Promise<unknown>((resolve) => {
        stream.on('response', (headers) => headers['grpc-status'] !== undefined && resolve(headers['grpc-status']))
        stream.on('trailers', (headers) => resolve(headers['grpc-status']))
      })
      stream.resume()
      stream.end(framed(Buffer.from([18, 1, 116])))
      expect(await ended).toBe(String(status.DEADLINE_EXCEEDED))
    }
    session.close()
  })
})

const subscribe = services.get('lf.a2a.v1.A2AService')?.get('SubscribeToTask') as Rpc

function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

function unframed(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = []
  for (let place = 0; place < bytes.length; ) {
    const end = place + 5 + bytes.readUInt32BE(place + 1)
    messages.push(bytes.subarray(place + 5, end))
    place = end
  }
  return messages
}
