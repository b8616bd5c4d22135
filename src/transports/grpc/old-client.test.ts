/** The 0.3 service as a client uses it: other names and messages, the same model. */
import { describe, expect, it } from 'vitest'
import { v0_3Client } from '../../dialects/v0_3/client.js'
import { v0_3 } from '../../dialects/v0_3/index.js'
import { testEngine } from '../../engine/engine.fixture.js'
import { agent, artifact } from '../../index.js'
import type { AgentCard } from '../../model/agent-card.js'
import type { SendMessageResponse, StreamItem } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { context, testClient } from './client.fixture.js'
import { testGrpc } from './grpc.fixture.js'

/** Repeats the text, or sleeps until it is cancelled. */
const echo = agent(
  { name: 'Echo', capabilities: { pushNotifications: true } },
  async function* ({ text, message, signal }) {
    yield artifact('answer', message.parts)
    if (text === 'sleep') await new Promise((resolve) => signal.addEventListener('abort', resolve))
    yield artifact('answer', 'more', { append: true })
  },
)

const card: AgentCard = {
  name: 'Echo',
  description: 'For those who may know more',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'localhost:1', protocolBinding: 'GRPC', protocolVersion: '0.3' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 'Echo', description: 'Repeats', tags: ['echo'] }],
}

async function peer() {
  const engine = await testEngine(echo, 'memory')
  const server = await testGrpc({ ...engine, getExtendedAgentCard: async () => card }, v0_3)
  const client = testClient(server.port, { dialect: v0_3Client })
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.close()
      await server[Symbol.asyncDispose]()
      await engine[Symbol.asyncDispose]()
    },
  }
}

function message(text: string) {
  const parts = [{ text }, { raw: 'AQID', filename: 'a.bin' }, { data: { n: [1, null] } }]
  return { messageId: 'm-1', role: 'ROLE_USER', parts } as const
}

function taskIn(answer: SendMessageResponse): Task {
  if ('task' in answer) return answer.task
  throw new Error('The answer is no task')
}

async function all(stream: AsyncIterable<StreamItem>): Promise<StreamItem[]> {
  const items: StreamItem[] = []
  for await (const item of stream) items.push(item)
  return items
}

describe('the gRPC client in 0.3', () => {
  it('sends, reads and cancels', async () => {
    await using agent = await peer()
    const { client } = agent
    const task = taskIn(await client.sendMessage({ message: message('hi') }, context))
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [...message('hi').parts, { text: 'more' }] }],
    })
    expect((await client.getTask({ id: task.id }, context)).id).toBe(task.id)
    for await (const { event } of client.sendStreamingMessage({ message: message('sleep') }, context)) {
      if (!('task' in event)) continue
      expect((await client.cancelTask({ id: event.task.id }, context)).status.state).toBe('TASK_STATE_CANCELED')
      break
    }
  })

  it('streams to the final event with positions, and resumes by position (R3-STRM-4, E-4)', async () => {
    await using agent = await peer()
    const { client } = agent
    const items = await all(client.sendStreamingMessage({ message: message('hi') }, context))
    const kinds = items.map(({ event }) => Object.keys(event)[0])
    expect(kinds).toEqual(['task', 'artifactUpdate', 'artifactUpdate', 'statusUpdate'])
    const [first, second, ...rest] = items
    const id = first && 'task' in first.event ? first.event.task.id : ''
    const resumed = await all(client.subscribeToTask({ id }, { ...context, resumeAfter: second?.seq ?? -1 }))
    expect(resumed).toEqual(rest)
  })

  it('keeps push configs and reads the extended card', async () => {
    await using agent = await peer()
    const { client } = agent
    const { id: taskId } = taskIn(await client.sendMessage({ message: message('hi') }, context))
    const config = { taskId, id: 'p-1', url: 'https://hooks.example/' }
    expect(await client.createTaskPushNotificationConfig(config, context)).toMatchObject(config)
    expect(await client.getTaskPushNotificationConfig({ taskId, id: 'p-1' }, context)).toMatchObject(config)
    expect(await client.listTaskPushNotificationConfigs({ taskId }, context)).toMatchObject({ configs: [config] })
    expect(await client.deleteTaskPushNotificationConfig({ taskId, id: 'p-1' }, context)).toBeUndefined()
    expect(await client.listTaskPushNotificationConfigs({ taskId }, context)).toMatchObject({ configs: [] })
    expect(await client.getExtendedAgentCard({}, context)).toMatchObject({
      name: 'Echo',
      description: card.description,
      skills: card.skills,
    })
  })

  it('decodes errors, and rejects operations that 0.3 lacks', async () => {
    await using agent = await peer()
    const { client } = agent
    await expect(client.getTask({ id: 'none' }, context)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    await expect(client.listTasks({}, context)).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
  })
})
