/** The documents about the draft of A2A 1.0 and about the Go library, with the names and shapes that they print. */
import { type Served, serve } from 'dragoman'
import { connect } from 'dragoman/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { echoAgent } from '../../src/cli/echo-agent.js'
import { startWebhook } from './webhook.js'

type Json = Record<string, unknown>

async function post(url: string, body: unknown): Promise<Response> {
  return await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

async function call(url: string, method: string, params: object): Promise<Json> {
  const response = await post(url, { jsonrpc: '2.0', id: 1, method, params })
  return (await response.json()) as Json
}

async function result<T = Json>(url: string, method: string, params: object): Promise<T> {
  const answer = await call(url, method, params)
  expect(answer).toMatchObject({ jsonrpc: '2.0', id: 1, result: expect.anything() })
  return answer.result as T
}

interface SentEvent {
  readonly event: string
  readonly data: Json
}

async function eventsOf(response: Response): Promise<readonly SentEvent[]> {
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  return [...(await response.text()).matchAll(/^(?:event: (.*)\n)?data: (.*)$/gm)].map(([, event = '', data = '']) => ({
    event,
    data: JSON.parse(data) as Json,
  }))
}

describe('the server of the Go library', () => {
  let served: Served
  let url = ''

  beforeAll(async () => {
    served = await serve(echoAgent, {
      port: 0,
      dialects: [{ dialect: 'v0.1-go', path: '/' }],
      push: { allowHosts: ['127.0.0.1'] },
    })
    url = served.url.replace(/\/$/, '')
  })

  afterAll(() => served.close({ deadlineMs: 0 }))

  const message = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] })

  it('has its card at /.well-known/agent.json, which names the endpoint /', async () => {
    const response = await fetch(`${url}/.well-known/agent.json`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(await response.json()).toMatchObject({ name: 'Echo', url, capabilities: { streaming: true } })
    await using client = await connect(url, { dialect: 'v0.1-go' })
    expect((await client.ask('hello')).text).toBe('hello')
  })

  it('answers tasks/send with a task, under the id of the caller or one of its own', async () => {
    expect(await result(url, 'tasks/send', { id: 'task-1', message: message('hello') })).toMatchObject({
      id: 'task-1',
      status: { state: 'completed' },
      artifacts: [{ parts: [{ text: 'hello' }] }],
    })
    for (const id of [undefined, null, '']) {
      const made = await result<{ id: string }>(url, 'tasks/send', { id, message: message('hello') })
      expect(made).toMatchObject({ id: expect.stringMatching(/./), status: { state: 'completed' } })
      expect(await result(url, 'tasks/get', { id: made.id })).toMatchObject({ id: made.id })
    }
  })

  it('knows the states pending, processing, completed, failed and canceled', async () => {
    const stateOf = async (method: string, id: string, text: string) =>
      ((await result(url, method, { id, message: message(text) })) as { status: { state: string } }).status.state
    expect(await stateOf('tasks/send', 'fails', 'fail')).toBe('failed')
    expect(await stateOf('tasks/send', 'asks', 'ask')).toBe('processing')
    expect(await stateOf('tasks/cancel', 'asks', '')).toBe('canceled')
    const events = await eventsOf(
      await post(url, {
        jsonrpc: '2.0',
        id: 1,
        method: 'tasks/sendSubscribe',
        params: { message: message('chunks 2') },
      }),
    )
    const states = events.map(({ data }) => ((data.result ?? data) as { status?: Json }).status?.state)
    expect(states.filter(Boolean)).toEqual(['pending', 'processing', 'completed'])
  })

  it('streams tasks/sendSubscribe and tasks/resubscribe', async () => {
    const response = await post(url, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tasks/sendSubscribe',
      params: { id: 'streamed', message: message('sleep 60000') },
    })
    const again = await post(url, {
      jsonrpc: '2.0',
      id: 2,
      method: 'tasks/resubscribe',
      params: { id: 'streamed' },
    })
    await call(url, 'tasks/cancel', { id: 'streamed' })
    const [sent, joined] = await Promise.all([eventsOf(response), eventsOf(again)])
    expect(sent[0]).toMatchObject({ event: 'rpc_result', data: { jsonrpc: '2.0', id: 1, result: { id: 'streamed' } } })
    expect(joined[0]).toMatchObject({
      event: 'rpc_result',
      data: { jsonrpc: '2.0', id: 2, result: { status: 'resubscription initiated' } },
    })
    for (const events of [sent, joined])
      expect(events.at(-1)).toMatchObject({
        event: 'task_status_update',
        data: { id: 'streamed', status: { state: 'canceled' }, final: true },
      })
  })

  it('calls the webhook of tasks/pushNotification/set, which tasks/pushNotification/get shows', async () => {
    await using webhook = await startWebhook()
    await result(url, 'tasks/send', { id: 'told', message: message('ask') })
    const config = { url: webhook.url, token: 't' }
    expect(await result(url, 'tasks/pushNotification/set', { id: 'told', pushNotificationConfig: config })).toEqual(
      config,
    )
    expect(await result(url, 'tasks/pushNotification/get', { id: 'told' })).toEqual(config)
    await result(url, 'tasks/send', { id: 'told', message: message('more') })
    expect(await webhook.received(({ status }) => status.state === 'completed')).toMatchObject({ id: 'told' })
  })

  it('knows no other methods', async () => {
    expect(await call(url, 'message/send', {})).toMatchObject({ error: { code: -32601 } })
  })

  it('stands beside other versions on one address, but not beside v0.1', async () => {
    await using both = await serve(echoAgent, { port: 0, dialects: ['v1', 'v0.3', { dialect: 'v0.1-go', path: '/' }] })
    expect(await result(both.url, 'tasks/send', { id: 'asks', message: message('ask') })).toMatchObject({
      status: { state: 'processing' },
    })
    expect(await result(both.url, 'tasks/get', { id: 'asks' })).toMatchObject({ status: { state: 'processing' } })
    const current = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    expect(await result(both.url, 'SendMessage', { message: current })).toMatchObject({
      task: { id: expect.any(String) },
    })
    const card = await (await fetch(`${both.url}.well-known/agent.json`)).json()
    expect(card).toMatchObject({ protocolVersion: '0.3.0', authentication: expect.anything() })
    const twice = serve(echoAgent, { port: 0, dialects: ['v0.1', { dialect: 'v0.1-go', path: '/' }] })
    await expect(twice).rejects.toThrow('same methods')
    const elsewhere = serve(echoAgent, { port: 0, dialects: [{ dialect: 'chat-rpc', path: '/' }] })
    await expect(elsewhere).rejects.toThrow('write a path such as /legacy')
  })
})
