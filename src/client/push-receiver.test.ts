import { describe, expect, it } from 'vitest'
import { createDialects } from '../dialects/servers.js'
import { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { Task } from '../model/task.js'
import { createPushReceiver, type PushDelivery } from './push-receiver.js'

const task: Task = {
  id: 't1',
  contextId: 'c1',
  status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-01-05T08:00:00.000Z' },
  artifacts: [{ artifactId: 'a1', parts: [{ text: 'done' }] }],
}
const event: StreamResponse = { statusUpdate: { taskId: 't1', contextId: 'c1', status: task.status } }

function post(body: string, headers: Record<string, string> = {}): Request {
  return new Request('https://receiver.example/hook', { method: 'POST', headers, body })
}

describe('a push receiver', () => {
  const senders = Object.values(createDialects()).filter(({ push }) => push)

  it.each(senders)('reads webhook payloads of $name (RM-PUSH-3)', async ({ push }) => {
    const delivered: PushDelivery[] = []
    const receive = createPushReceiver({ onDelivery: (delivery) => void delivered.push(delivery) })
    if (!push) throw new Error('Only senders are here')
    const response = await receive(post('encodeTask' in push ? push.encodeTask(task) : push.encodeEvent(event)))
    expect(response.status).toBe(200)
    expect(delivered.map(({ taskId }) => taskId)).toContain('t1')
    const states = delivered.map(({ event: each }) =>
      'task' in each ? each.task.status.state : 'statusUpdate' in each ? each.statusUpdate.status.state : undefined,
    )
    expect(states).toContain('TASK_STATE_COMPLETED')
  })

  it('reports a delivery once, and again after the callback failed', async () => {
    let calls = 0
    const receive = createPushReceiver({
      onDelivery: () => {
        calls += 1
        if (calls === 1) throw new Error('Not now')
      },
    })
    const body = JSON.stringify(event)
    const statuses = []
    for (let time = 0; time < 3; time++) statuses.push((await receive(post(body))).status)
    expect([statuses, calls]).toEqual([[500, 200, 200], 2])
  })

  it('answers 2xx to known deliveries, and rejects wrong tokens and bodies that are not notifications (R-PDEL-8)', async () => {
    const receive = createPushReceiver({ token: 'secret', onDelivery: () => undefined })
    const token = { 'x-a2a-notification-token': 'secret' }
    expect((await receive(post(JSON.stringify(event)))).status).toBe(401)
    expect((await receive(post(JSON.stringify(event), token))).status).toBe(200)
    for (const body of ['', 'null', '[]', '{}', '{"id":1}', '{"kind":"task"}', 'no json'])
      expect((await receive(post(body, token))).status, body).toBe(400)
  })

  it('accepts the token header without X-, and reports why it rejects a delivery', async () => {
    const reasons: string[] = []
    const onRefused = (reason: string) => void reasons.push(reason)
    const receive = createPushReceiver({ token: 'secret', onDelivery: () => undefined, onRefused, maxBytes: 1000 })
    const statusOf = async (body: string, headers: Record<string, string>) =>
      (await receive(post(body, headers))).status
    const body = JSON.stringify(event)
    expect(await statusOf(body, { 'a2a-notification-token': 'secret' })).toBe(200)
    expect(await statusOf(body, { 'a2a-notification-token': 'other' })).toBe(401)
    expect(await statusOf(body, {})).toBe(401)
    expect(await statusOf('{}', { 'x-a2a-notification-token': 'secret' })).toBe(400)
    expect(await statusOf('x'.repeat(1001), {})).toBe(413)
    expect(reasons).toEqual([
      'The X-A2A-Notification-Token differs from the one of the config',
      'The delivery carries no X-A2A-Notification-Token',
      'The body is no notification of any known version',
      expect.stringContaining('1000'),
    ])
  })

  it('asks for a retry when the callback throws a call error', async () => {
    const onDelivery = () => {
      throw new A2AError('INVALID_PARAMS', 'Another agent refused')
    }
    expect((await createPushReceiver({ onDelivery })(post(JSON.stringify(event)))).status).toBe(500)
  })

  it('answers an ownership challenge, and no other GET request', async () => {
    const receive = createPushReceiver({ onDelivery: () => undefined })
    const ask = (query: string) => receive(new Request(`https://receiver.example/hook${query}`))
    expect(await (await ask('?validationToken=abc')).text()).toBe('abc')
    expect((await ask('')).status).toBe(405)
  })
})
