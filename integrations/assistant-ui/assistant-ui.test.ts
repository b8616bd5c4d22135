import { A2AClient } from '@assistant-ui/react-a2a'
import { type Served, serve } from 'dragoman'
import { afterAll, beforeAll, expect } from 'vitest'
import { interop } from '../script/interop.js'
import { eventsOf } from '../script/read-stream.js'
import { tailor } from '../script/tailor.mjs'

let served: Served
let client: A2AClient
beforeAll(async () => {
  served = await serve(tailor)
  client = new A2AClient({ baseUrl: served.url.replace(/\/$/, '') })
})
afterAll(() => served.close({ deadlineMs: 0 }))

const message = (text: string, taskId?: string) => ({
  messageId: crypto.randomUUID(),
  role: 'user' as const,
  parts: [{ text }],
  ...(taskId !== undefined && { taskId }),
})

interop('@assistant-ui/react-a2a 0.2.32: `A2AClient` calls Dragoman', {
  ask: async () => {
    expect(await client.getAgentCard()).toMatchObject({ name: 'Tailor' })
    const task = await client.sendMessage(message('hello'))
    expect(task).toMatchObject({ status: { state: 'completed' }, artifacts: [{ parts: [{ text: 'HELLO' }] }] })
  },
  stream: async () => {
    const events = await eventsOf(client.streamMessage(message('count')))
    const words = events.flatMap((each) => {
      const parts = each.type === 'artifactUpdate' ? each.event.artifact.parts : []
      return parts.flatMap(({ text }) => (text ? [text] : []))
    })
    expect(words).toEqual(['one ', 'two ', 'three'])
  },
  question: async () => {
    const question = await client.sendMessage(message('suit'))
    if (!('status' in question)) throw new Error('The agent created no task')
    const { id, status } = question
    expect(status).toMatchObject({ state: 'input_required', message: { parts: [{ text: 'Which size?' }] } })
    const answer = await client.sendMessage(message('large', id))
    expect(answer).toMatchObject({
      id,
      status: { state: 'completed' },
      artifacts: [{ parts: [{ text: 'A large suit' }] }],
    })
  },
  cancel: async () => {
    for await (const each of client.streamMessage(message('sew'))) {
      if (each.type !== 'task') continue
      expect(await client.cancelTask(each.task.id)).toMatchObject({ status: { state: 'canceled' } })
    }
  },
  file: async () => {
    const parts = [{ raw: btoa('cut here'), mediaType: 'text/plain', filename: 'pattern.txt' }]
    expect(await client.sendMessage(message('pattern'))).toMatchObject({ artifacts: [{ parts }] })
  },
})
