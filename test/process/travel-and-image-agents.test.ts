/** The travel and image agents, called as v0.3 clients call them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AgentProcess, post, startAgent } from './agent-process.js'

let [travel, image]: [AgentProcess?, AgentProcess?] = []

beforeAll(async () => {
  ;[travel, image] = await Promise.all([startAgent('travel'), startAgent('image')])
})

afterAll(async () => {
  await travel?.[Symbol.asyncDispose]()
  await image?.[Symbol.asyncDispose]()
})

interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string }
  readonly artifacts: readonly {
    readonly name: string
    readonly description?: string
    readonly parts: readonly { readonly kind: string; readonly file?: Record<string, string>; readonly data?: object }[]
  }[]
}

let messages = 0

async function send(agent: AgentProcess | undefined, text: string, more: object = {}): Promise<Task> {
  messages += 1
  const message = { role: 'user', parts: [{ kind: 'text', text }], messageId: `msg-user-${messages}`, ...more }
  const { body } = await post(`${agent?.url}/`, {
    jsonrpc: '2.0',
    id: 'req-001',
    method: 'message/send',
    params: { message },
  })
  expect(body).toMatchObject({ jsonrpc: '2.0', id: 'req-001', result: { kind: 'task' } })
  return (body as { result: Task }).result
}

describe('the travel agent', () => {
  it('books a flight, then a hotel and a snowmobile at the same time, then a spa', async () => {
    const flight = await send(travel, 'Book a flight to Helsinki.')
    const { contextId } = flight
    const follow = (text: string, on: Task) => send(travel, text, { contextId, referenceTaskIds: [on.id] })
    const snowmobile = follow('Based on Task 1, book a snowmobile activity.', flight)
    const hotel = await follow('Based on Task 1, book a hotel.', flight)
    const spa = await follow('Based on Task 2, add a spa reservation to the hotel booking.', hotel)
    const tasks = [flight, hotel, await snowmobile, spa]
    expect(tasks.map(({ artifacts }) => artifacts[0]?.parts[1]?.data)).toMatchObject([
      { kind: 'flight', destination: 'Helsinki' },
      { kind: 'hotel', destination: 'Helsinki', basedOn: flight.id },
      { kind: 'snowmobile', destination: 'Helsinki', basedOn: flight.id },
      { kind: 'spa', destination: 'Helsinki', basedOn: hotel.id },
    ])
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(4)
    expect(new Set(tasks.map((task) => task.contextId))).toEqual(new Set([contextId]))
  })
})

describe('the image agent', () => {
  it('returns an image of a sailboat', async () => {
    const task = await send(image, 'Generate an image of a sailboat on the ocean.')
    expect(task).toMatchObject({
      status: { state: 'completed' },
      artifacts: [
        {
          artifactId: expect.any(String),
          name: 'sailboat_image.png',
          description: 'A generated image of a sailboat on the ocean.',
          parts: [{ kind: 'file', file: { name: 'sailboat_image.png', mimeType: 'image/png' } }],
        },
      ],
    })
    const png = Buffer.from(task.artifacts[0]?.parts[0]?.file?.bytes ?? '', 'base64')
    expect(png.subarray(1, 4).toString()).toBe('PNG')

    const red = await send(image, 'Make the sail red', { contextId: task.contextId, referenceTaskIds: [task.id] })
    expect(red.id).not.toBe(task.id)
    expect(red.artifacts[0]?.name).toBe('sailboat_image.png')
    expect(red.artifacts[0]?.parts[0]?.file?.bytes).not.toBe(task.artifacts[0]?.parts[0]?.file?.bytes)
  })

  it('asks for another subject if it does not know the word', async () => {
    const task = await send(image, 'Generate an image of a unicorn')
    expect(task.status.state).toBe('input-required')
    const drawn = await send(image, 'a tree, then', { taskId: task.id, contextId: task.contextId })
    expect([drawn.id, drawn.artifacts[0]?.name]).toEqual([task.id, 'tree_image.png'])
  })
})
