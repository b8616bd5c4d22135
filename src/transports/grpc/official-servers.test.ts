/** The official SDK's gRPC server as a peer of our client. */
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from 'a2a-sdk-v1/server'
import { A2AService, grpcService, UserBuilder } from 'a2a-sdk-v1/server/grpc'
import { describe, expect, it } from 'vitest'
import { v1Client } from '../../dialects/v1/client.js'
import { context, testClient } from './client.fixture.js'

const states = { SUBMITTED: 1, WORKING: 2, COMPLETED: 3, CANCELED: 5 } as const

const card = {
  name: 'Echo',
  description: 'Returns the text of each message',
  version: '1.0.0',
  supportedInterfaces: [{ url: '127.0.0.1:1', protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: '' }],
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
} as unknown as ConstructorParameters<typeof DefaultRequestHandler>[0] // the members of a card that the SDK reads

/** Repeats the parts of a message. */
const echo = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state: number) => ({ state, message: undefined, timestamp: '2026-01-05T08:00:00.000Z' })
    const update = (state: number) =>
      AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: undefined } as never) // no more is needed
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(states.SUBMITTED),
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      } as never), // as above
    )
    bus.publish(update(states.WORKING))
    bus.publish(
      AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact: { artifactId: 'a', name: '', description: '', parts: userMessage.parts, extensions: [] },
        append: false,
        lastChunk: true,
        metadata: undefined,
      } as never), // as above
    )
    bus.publish(update(states.COMPLETED))
  },
  async cancelTask() {},
} satisfies AgentExecutor

async function officialServer() {
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), echo)
  const server = new Server()
  server.addService(A2AService, grpcService({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  return { port, [Symbol.asyncDispose]: async () => server.forceShutdown() }
}

describe('the server of the official SDK 1.3', () => {
  const parts = [
    { text: 'hi', metadata: { n: [1, null, {}] } },
    { raw: 'AQI=', filename: 'a', mediaType: 'application/octet-stream' },
    { data: { a: [null, 1.5] } },
  ]
  const message = { messageId: 'm', role: 'ROLE_USER', parts } as const

  it('supports send, stream and get', async () => {
    await using server = await officialServer()
    using client = testClient(server.port, { dialect: v1Client })
    const sent = await client.sendMessage({ message }, context)
    expect(sent).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts }] } })
    const kinds: string[] = []
    for await (const { event, seq } of client.sendStreamingMessage({ message }, context))
      kinds.push(`${Object.keys(event)} ${seq}`)
    expect(kinds).toEqual([
      'task undefined',
      'statusUpdate undefined',
      'artifactUpdate undefined',
      'statusUpdate undefined',
    ])
    const { id } = 'task' in sent ? sent.task : { id: '' }
    expect(await client.getTask({ id }, context)).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
    expect(await client.listTasks({}, context)).toMatchObject({ totalSize: 2 })
  })

  it('returns errors that the client decodes', async () => {
    await using server = await officialServer()
    using client = testClient(server.port, { dialect: v1Client })
    await expect(client.getTask({ id: 'none' }, context)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    const { task } = (await client.sendMessage({ message }, context)) as { task: { id: string } } // it returns tasks only
    await expect(client.cancelTask({ id: task.id }, context)).rejects.toMatchObject({ code: 'TASK_NOT_CANCELABLE' })
    const push = { taskId: task.id, url: 'https://hooks.example/' }
    await expect(client.createTaskPushNotificationConfig(push, context)).rejects.toMatchObject({
      code: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
    })
    const stream = client.subscribeToTask({ id: 'none' }, context)[Symbol.asyncIterator]()
    await expect(stream.next()).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  })
})
