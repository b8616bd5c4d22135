/** The 0.3 service on the same server: other names and messages, the same tasks. */
import { status } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { v0_3 } from '../../dialects/v0_3/index.js'
import { testEngine } from '../../engine/engine.fixture.js'
import { agent, artifact } from '../../index.js'
import { data, file, text } from '../../model/part.js'
import { until } from '../../testing/wait.js'
import { positionExtension } from '../transport.js'
import { drain, failureOf, fromStruct, type Json, testGrpc, toStruct } from './grpc.fixture.js'

/** Repeats the text, sleeps on `sleep`, and returns files. */
const echo = agent(
  { name: 'Echo', capabilities: { pushNotifications: true }, extendedCard: async (card) => card },
  async function* ({ text: input, message, signal }) {
    if (input === 'sleep') {
      yield 'sleeping'
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return
    }
    yield artifact('answer', [
      ...message.parts,
      data({ n: 1, none: null }),
      file(Buffer.from([1, 2, 3]), { filename: 'a.bin' }),
    ])
    yield artifact('answer', [text('more')], { append: true })
  },
)

function request(...content: Json[]): Json {
  return { request: { messageId: 'm-1', role: 'ROLE_USER', content } }
}

function taskIdIn([first]: readonly Json[]): string {
  const { task } = first ?? {}
  return (task as { id: string }).id
}

describe('the gRPC service of 0.3', () => {
  it('sends a message and answers with its task (R3-PB-1)', async () => {
    await using engine = await testEngine(echo, 'memory')
    await using server = await testGrpc(engine, v0_3)
    const bytes = Buffer.from('bytes').toString('base64')
    const { message } = await server.unary(
      'SendMessage',
      request(
        { text: 'hi' },
        { file: { fileWithBytes: bytes, mimeType: 'text/plain', name: 'b.txt' } },
        { data: { data: toStruct({ deep: [1, { x: null }] }) } },
      ),
    )
    const { task } = message as { task: { id: string; status: Json; artifacts: { parts: Json[] }[]; history: Json[] } }
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    const [input, theirFile, theirData, ourData, ourFile, more] = task.artifacts[0]?.parts ?? []
    expect([input, theirFile, ourFile, more]).toMatchObject([
      { text: 'hi' },
      { file: { fileWithBytes: bytes, mimeType: 'text/plain', name: 'b.txt' } },
      { file: { fileWithBytes: 'AQID', name: 'a.bin' } },
      { text: 'more' },
    ])
    const dataIn = (part: Json = {}) => fromStruct((part.data as { data: Json }).data)
    expect([dataIn(theirData), dataIn(ourData)]).toEqual([{ deep: [1, { x: null }] }, { n: 1, none: null }])
    expect(task.history[0]).toMatchObject({ messageId: 'm-1', role: 'ROLE_USER' })
    const { message: again } = await server.unary('GetTask', { name: `tasks/${task.id}` })
    expect(again.id).toBe(task.id)
  })

  it('streams, and returns an ended task to subscribers', async () => {
    await using engine = await testEngine(echo, 'memory')
    await using server = await testGrpc(engine, v0_3)
    const metadata = { 'x-a2a-extensions': positionExtension }
    const { messages } = await drain(server.stream('SendStreamingMessage', request({ text: 'hi' }), { metadata }))
    expect(messages.map((each) => Object.keys(each)[0])).toEqual([
      'task',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
    expect(messages.at(-1)?.statusUpdate).toMatchObject({ final: true, status: { state: 'TASK_STATE_COMPLETED' } })
    const places = messages.map((each) => fromStruct((Object.values(each)[0] as Json).metadata)[positionExtension])
    expect(places).toEqual([...places].sort((a, b) => Number(a) - Number(b)))
    expect(places.every((place) => Number(place) > 0)).toBe(true)
    const id = taskIdIn(messages)
    const shown = await drain(server.stream('TaskSubscription', { name: `tasks/${id}` }))
    expect(shown.error).toBeUndefined()
    expect(shown.messages).toMatchObject([{ task: { id, status: { state: 'TASK_STATE_COMPLETED' } } }])
  })

  it('cancels, and uses its own name of the state', async () => {
    await using engine = await testEngine(echo, 'memory')
    await using server = await testGrpc(engine, v0_3)
    const stream = server.stream('SendStreamingMessage', request({ text: 'sleep' }))
    const seen: Json[] = []
    stream.on('data', (each: Json) => seen.push(each))
    await until(() => seen.length >= 2)
    const id = taskIdIn(seen)
    const { message } = await server.unary('CancelTask', { name: `tasks/${id}` })
    expect(message.status).toMatchObject({ state: 'TASK_STATE_CANCELLED' })
  })

  it('keeps push configs under resource names', async () => {
    await using engine = await testEngine(echo, 'memory')
    await using server = await testGrpc(engine, v0_3)
    const { message } = await server.unary('SendMessage', request({ text: 'hi' }))
    const parent = `tasks/${(message.task as { id: string }).id}`
    const config = { pushNotificationConfig: { id: 'p', url: 'https://hooks.example/a', token: 't' } }
    const created = await server.unary('CreateTaskPushNotificationConfig', { parent, configId: 'p', config })
    const name = `${parent}/pushNotificationConfigs/p`
    expect(created.message).toMatchObject({ name, ...config })
    expect((await server.unary('GetTaskPushNotificationConfig', { name })).message).toMatchObject({ name, ...config })
    const listed = await server.unary('ListTaskPushNotificationConfig', { parent })
    expect(listed.message).toMatchObject({ configs: [{ name }] })
    expect((await server.unary('DeleteTaskPushNotificationConfig', { name })).message).toEqual({})
    expect(await failureOf(server.unary('GetTaskPushNotificationConfig', { name }))).toMatchObject({
      code: status.NOT_FOUND,
    })
  })

  it('returns its own card', async () => {
    const getExtendedAgentCard = async () => ({
      name: 'Echo',
      description: 'Repeats',
      version: '1.0.0',
      supportedInterfaces: [{ url: 'localhost:1', protocolBinding: 'GRPC', protocolVersion: '0.3' }],
      capabilities: { streaming: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
      securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
    })
    await using engine = await testEngine(echo, 'memory')
    await using server = await testGrpc({ ...engine, getExtendedAgentCard }, v0_3)
    const { message } = await server.unary('GetAgentCard', {})
    expect(message).toMatchObject({
      name: 'Echo',
      url: 'localhost:1',
      preferredTransport: 'GRPC',
      securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
    })
  })

  it('encodes errors as status, and rejects the version of the other service', async () => {
    await using engine = await testEngine(echo, 'memory')
    await using server = await testGrpc(engine, v0_3)
    expect(await failureOf(server.unary('GetTask', { name: 'tasks/none' }))).toMatchObject({ code: status.NOT_FOUND })
    expect(await failureOf(server.unary('SendMessage', {}))).toMatchObject({ code: status.INVALID_ARGUMENT })
    const settings = { metadata: { 'a2a-version': '1.0' } }
    expect(await failureOf(server.unary('GetTask', { name: 'tasks/none' }, settings))).toMatchObject({
      code: status.FAILED_PRECONDITION,
    })
  })
})
