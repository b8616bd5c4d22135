/** The 0.3 documents: cards, tasks, messages and the three ways to follow a task, with the JSON that they print. */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { agent, apiKey, oidc, type Served, serve } from 'dragoman'
import { withScopes } from 'dragoman/auth'
import { apiKeyCredential, connect } from 'dragoman/client'
import { createHandler, generateSigningKey, validateCard } from 'dragoman/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createImageAgent } from '../../examples/agents/image.js'
import { createTravelAgent } from '../../examples/agents/travel.js'
import { readCard } from '../../src/client/read-card.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { eventually } from '../hostile/waiting.js'
import { startWebhook } from './webhook.js'

type Json = Record<string, unknown>

interface Part extends Json {
  readonly kind: 'text' | 'file' | 'data'
  readonly file?: Record<string, string>
  readonly data?: Json
}

interface Message extends Json {
  readonly role: 'user' | 'agent'
  readonly parts: readonly Part[]
}

interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string; readonly message?: Message; readonly timestamp: string }
  readonly history?: readonly Message[]
  readonly artifacts?: readonly { readonly artifactId: string; readonly parts: readonly Part[] }[]
  readonly kind: 'task'
}

interface Answer {
  readonly jsonrpc: '2.0'
  readonly id: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

let served: Served
let url = ''
/** Ends the booking of the snowmobile. */
let bookSnowmobile = () => {}
const guide = new Promise<void>((resolve) => {
  bookSnowmobile = resolve
})

beforeAll(async () => {
  const desk = async ({ words }: { readonly words: RegExp }) => {
    if (words.test('snowmobile')) await guide
  }
  served = await serve(
    [
      { agent: echoAgent, path: '/' },
      { agent: createImageAgent(), path: '/image' },
      { agent: createTravelAgent(desk), path: '/travel' },
    ],
    { port: 0, push: { allowHosts: ['127.0.0.1'] } },
  )
  url = served.url.replace(/\/$/, '')
})

afterAll(() => served.close({ deadlineMs: 0 }))

async function post(body: unknown, path = '/', at = url): Promise<Response> {
  return await fetch(at + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

async function call(body: unknown, path?: string): Promise<Answer> {
  const response = await post(body, path)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
  return (await response.json()) as Answer
}

async function result<R>(method: string, params: object, path?: string): Promise<R> {
  const answer = await call({ jsonrpc: '2.0', id: 'req-001', method, params }, path)
  expect(answer).toEqual({ jsonrpc: '2.0', id: 'req-001', result: expect.anything() })
  return answer.result as R
}

let messages = 0

function says(text: string, more: object = {}) {
  messages += 1
  return { role: 'user', parts: [{ kind: 'text', text }], messageId: `msg-user-${messages}`, ...more }
}

const send = (text: string, more: object = {}, path?: string) =>
  result<Task>('message/send', { message: says(text, more) }, path)

/** As printed. */
const sailboat = {
  jsonrpc: '2.0',
  id: 'req-001',
  method: 'message/send',
  params: {
    message: {
      role: 'user',
      parts: [{ kind: 'text', text: 'Generate an image of a sailboat on the ocean.' }],
      messageId: 'msg-user-001',
    },
  },
}

/** The card of a route planner, as printed; its `protocolVersion` is 0.2.9. */
const georoute = JSON.parse(
  readFileSync(new URL('../fixtures/cards/georoute.json', import.meta.url), 'utf8'),
) as Record<'name' | 'description' | 'version' | 'url' | 'iconUrl' | 'documentationUrl', string> & {
  readonly provider: { readonly organization: string; readonly url: string }
  readonly capabilities: Json
  readonly defaultInputModes: readonly string[]
  readonly defaultOutputModes: readonly string[]
  readonly skills: readonly { readonly id: string }[]
}

describe('the card', () => {
  it('of the documents is valid, and is read completely', async () => {
    expect(validateCard(georoute)).toEqual({ version: 'v0.2', problems: [], isValid: true })
    const { card, dialect } = await readCard(georoute)
    expect(dialect).toBe('v0.3')
    expect(card).toMatchObject({
      name: georoute.name,
      provider: { organization: 'Example Geo Services Inc.' },
      capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
      securitySchemes: { google: { openIdConnectSecurityScheme: {} } },
      securityRequirements: [{ schemes: { google: { list: ['openid', 'profile', 'email'] } } }],
      skills: [{ id: 'route-optimizer-traffic' }, { id: 'custom-map-generator' }],
    })
    expect(card.supportedInterfaces.map((each) => [each.protocolBinding, each.url])).toEqual([
      ['JSONRPC', 'https://georoute-agent.example.com/a2a/v1'],
      ['GRPC', 'https://georoute-agent.example.com/a2a/grpc'],
      ['HTTP+JSON', 'https://georoute-agent.example.com/a2a/json'],
    ])
  })

  it('of such an agent has the same members, its own addresses and its own signature', async () => {
    const { name, description, version, iconUrl, documentationUrl, provider, capabilities } = georoute
    const { defaultInputModes, defaultOutputModes, skills } = georoute
    const planner = agent(
      {
        ...{ name, description, version, iconUrl, documentationUrl, provider },
        ...{ defaultInputModes, defaultOutputModes, skills },
        capabilities: { ...capabilities, extendedAgentCard: true },
        extendedCard: (card) => card,
      },
      async function* () {
        yield 'Turn left'
      },
    )
    const google = oidc('https://accounts.google.com', { scheme: 'google', audience: 'georoute' })
    const handler = await createHandler(planner, {
      publicUrl: 'https://georoute-agent.example.com',
      auth: [withScopes(google, ['openid', 'profile', 'email'])],
      advanced: { signing: { keys: [await generateSigningKey()] } },
    })
    const request = new Request('https://georoute-agent.example.com/.well-known/agent-card.json', {
      headers: { 'A2A-Version': '0.3' },
    })
    const card = (await (await handler.fetch(request)).json()) as Json
    await handler.close()
    expect(card).toEqual({
      ...georoute,
      protocolVersion: '0.3.0',
      url: 'https://georoute-agent.example.com/',
      additionalInterfaces: [
        { url: 'https://georoute-agent.example.com/', transport: 'JSONRPC' },
        { url: 'https://georoute-agent.example.com', transport: 'HTTP+JSON' },
      ],
      signatures: [{ protected: expect.stringMatching(/./), signature: expect.stringMatching(/./) }],
    })
    expect(validateCard(card)).toMatchObject({ version: 'v0.3', problems: [] })
  })

  it.each<[string, object, string]>([
    ['no main address', { url: undefined }, 'url'],
    ['no preferred transport', { protocolVersion: '0.3.0', preferredTransport: undefined }, 'preferredTransport'],
    [
      'one address for two transports that cannot share it',
      { additionalInterfaces: [{ url: georoute.url, transport: 'GRPC' }] },
      'additionalInterfaces[0]',
    ],
  ])('with %s is not valid', (_, changes, path) => {
    const { isValid, problems } = validateCard({ ...georoute, ...changes })
    expect([isValid, problems.find(({ severity }) => severity === 'error')?.path]).toEqual([false, path])
  })

  it('should list the main address and its transport among the others', () => {
    const others = [{ url: 'https://georoute-agent.example.com/a2a/json', transport: 'HTTP+JSON' }]
    expect(validateCard({ ...georoute, additionalInterfaces: others })).toMatchObject({
      isValid: true,
      problems: [{ severity: 'warning', path: 'additionalInterfaces' }],
    })
  })

  it('that holds sensitive information is protected, and still found by a client with credentials', async () => {
    await using closed = await serve(echoAgent, { port: 0, auth: [apiKey('k')], advanced: { protectCard: true } })
    expect((await fetch(`${closed.url}.well-known/agent-card.json`)).status).toBe(401)
    await using client = await connect(closed.url, { dialect: 'v0.3', credentials: apiKeyCredential('k') })
    expect((await client.ask('hi')).text).toBe('hi')
  })
})

describe('the client', () => {
  const cardWith = async (changes: object) => {
    const response = await fetch(`${url}/.well-known/agent-card.json`, { headers: { 'A2A-Version': '0.3' } })
    return { ...((await response.json()) as Json), ...changes }
  }

  it('uses the main address with the preferred transport', async () => {
    await using byRpc = await connect(await cardWith({}))
    expect(byRpc.choice).toMatchObject({ dialect: 'v0.3', binding: 'JSONRPC', url: `${url}/` })
    await using byRest = await connect(await cardWith({ url, preferredTransport: 'HTTP+JSON' }))
    expect(byRest.choice).toMatchObject({ dialect: 'v0.3', binding: 'HTTP+JSON', url })
    expect((await byRest.ask('hi')).text).toBe('hi')
  })

  it('uses an additional interface if the preferred transport is unknown', async () => {
    await using client = await connect(
      await cardWith({ url: 'https://a.example/soap', preferredTransport: 'urn:soap' }),
    )
    expect(client.choice).toMatchObject({ dialect: 'v0.3', binding: 'JSONRPC', url: `${url}/` })
    expect((await client.ask('hi')).text).toBe('hi')
  })

  it('falls back to another transport if the preferred one fails', async () => {
    const additionalInterfaces = [
      { url: `${url}/nothing/here`, transport: 'JSONRPC' },
      { url, transport: 'HTTP+JSON' },
    ]
    await using client = await connect(await cardWith({ url: `${url}/nothing/here`, additionalInterfaces }))
    expect((await client.ask('hi')).text).toBe('hi')
    expect(client.choice).toMatchObject({ dialect: 'v0.3', binding: 'HTTP+JSON' })
  })
})

describe('a task', () => {
  it('is the answer to the request for a boat', async () => {
    const answer = await call(sailboat, '/image')
    expect(answer).toEqual({
      jsonrpc: '2.0',
      id: 'req-001',
      result: {
        id: expect.stringMatching(/./),
        contextId: expect.stringMatching(/./),
        status: { state: 'completed', timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) },
        artifacts: [
          {
            artifactId: expect.stringMatching(/./),
            name: 'sailboat_image.png',
            description: 'A generated image of a sailboat on the ocean.',
            parts: [
              {
                kind: 'file',
                file: {
                  name: 'sailboat_image.png',
                  mimeType: 'image/png',
                  bytes: expect.stringMatching(/^iVBORw0KGgo/),
                },
              },
            ],
          },
        ],
        history: [
          {
            ...sailboat.params.message,
            taskId: (answer.result as Task).id,
            contextId: (answer.result as Task).contextId,
            kind: 'message',
          },
        ],
        kind: 'task',
      },
    })
    const { id, contextId } = answer.result as Task
    const red = await send('Make the sail red', { contextId, referenceTaskIds: [id] }, '/image')
    expect([red.id === id, red.contextId === contextId]).toEqual([false, true])
  })

  it('can have several concurrent follow-ups in its context', async () => {
    const follow = (text: string, on: Task) =>
      send(text, { contextId: on.contextId, referenceTaskIds: [on.id] }, '/travel')
    const booked = ({ artifacts }: Task) => artifacts?.[0]?.parts.find(({ kind }) => kind === 'data')?.data
    const flight = await send('Book a flight to Helsinki.', {}, '/travel')
    let isOver = false
    const snowmobile = follow('Based on Task 1, book a snowmobile activity.', flight).finally(() => {
      isOver = true
    })
    const hotel = await follow('Based on Task 1, book a hotel.', flight)
    const spa = await follow('Based on Task 2, add a spa reservation to the hotel booking.', hotel)
    expect(isOver).toBe(false)
    bookSnowmobile()
    const tasks = [flight, hotel, await snowmobile, spa]
    expect(tasks.map(booked)).toMatchObject([
      { kind: 'flight', destination: 'Helsinki' },
      { kind: 'hotel', basedOn: flight.id },
      { kind: 'snowmobile', basedOn: flight.id },
      { kind: 'spa', basedOn: hotel.id },
    ])
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(4)
    expect(new Set(tasks.map(({ contextId }) => contextId)).size).toBe(1)
  })

  it('has the states of the documents, and cannot be restarted in a terminal one', async () => {
    const terminal = {
      completed: (await send('hello')).id,
      failed: (await send('fail')).id,
      rejected: (await send('reject')).id,
      canceled: (await send('ask')).id,
    }
    const canceled = await result<Task>('tasks/cancel', { id: terminal.canceled })
    expect(canceled).toMatchObject({ kind: 'task', id: terminal.canceled, status: { state: 'canceled' } })
    for (const [state, id] of Object.entries(terminal)) {
      expect((await result<Task>('tasks/get', { id })).status.state).toBe(state)
      const again = {
        jsonrpc: '2.0',
        id: 1,
        method: 'message/send',
        params: { message: says('again', { taskId: id }) },
      }
      expect(await call(again)).toMatchObject({ error: { code: expect.any(Number), message: expect.any(String) } })
      expect((await result<Task>('tasks/get', { id })).status.state).toBe(state)
    }
    expect((await send('ask')).status).toMatchObject({ state: 'input-required', message: { role: 'agent' } })
    expect((await send('auth')).status).toMatchObject({ state: 'auth-required', message: { role: 'agent' } })
  })

  it('is not created if the answer is a message; the context continues', async () => {
    const said = await result<Message>('message/send', { message: says('msg good morning') })
    expect(said).toEqual({
      kind: 'message',
      messageId: expect.stringMatching(/./),
      contextId: expect.stringMatching(/./),
      role: 'agent',
      parts: [{ kind: 'text', text: 'good morning' }],
    })
    expect((await send('hello', { contextId: said.contextId })).contextId).toBe(said.contextId)
  })
})

describe('a message', () => {
  it('has every member and every kind of part that the documents declare', async () => {
    const { id, contextId } = await send('ask')
    const message = {
      role: 'user',
      parts: [
        { kind: 'text', text: 'the second', metadata: { lang: 'en' } },
        { kind: 'file', file: { name: 'document.pdf', mimeType: 'application/pdf', bytes: 'JVBERg==' } },
        { kind: 'file', file: { name: 'photo.png', mimeType: 'image/png', uri: 'https://files.example/photo.png' } },
        { kind: 'data', data: { form: { answer: 42 } }, metadata: { source: 'form' } },
      ],
      metadata: { 'https://ext.example/trace': 'abc' },
      extensions: ['https://ext.example/trace'],
      referenceTaskIds: ['task-boat-gen-123'],
      messageId: 'msg-user-002',
      taskId: id,
      contextId,
      kind: 'message',
    }
    const task = await result<Task>('message/send', { message })
    expect(task).toMatchObject({ id, contextId, status: { state: 'completed' } })
    const { history = [] } = await result<Task>('tasks/get', { id, historyLength: 10 })
    expect(history.find(({ messageId }) => messageId === 'msg-user-002')).toEqual(message)
  })
})

describe('a webhook', () => {
  const set = 'tasks/pushNotificationConfig/set'
  const get = 'tasks/pushNotificationConfig/get'

  it('is registered and read with every member that the documents declare', async () => {
    await using webhook = await startWebhook()
    const { id: taskId } = await send('ask')
    const pushNotificationConfig = {
      id: 'hook-1',
      url: webhook.url,
      token: 'token-1',
      authentication: { schemes: ['Basic', 'Bearer'], credentials: 'credentials-1' },
    }
    const config = { taskId, pushNotificationConfig }
    expect(await result(set, config)).toEqual(config)
    expect(await result(get, { id: taskId })).toEqual(config)
    expect(await result(get, { id: taskId, pushNotificationConfigId: 'hook-1' })).toEqual(config)
    expect(await result('tasks/pushNotificationConfig/list', { id: taskId })).toEqual([config])
    await result('tasks/cancel', { id: taskId })
    await webhook.received(({ id, status }) => id === taskId && status.state === 'canceled')
  })

  it('is called whether it came with the message or was registered later', async () => {
    await using webhook = await startWebhook()
    const first = await result<Task>('message/send', {
      message: says('ask'),
      configuration: { pushNotificationConfig: { url: webhook.url, token: 'token-1' } },
    })
    await webhook.received(({ id, status }) => id === first.id && status.state === 'input-required')
    const second = await send('ask')
    await result(set, { taskId: second.id, pushNotificationConfig: { url: webhook.url } })
    for (const { id } of [first, second]) {
      await send('go on', { taskId: id })
      await webhook.received((task) => task.id === id && task.status.state === 'completed')
    }
  })
})

describe('the ways to follow a task', () => {
  it('request and response: `working` at first, polled with tasks/get', async () => {
    const message = says('sleep 50')
    const started = await result<Task>('message/send', { message, configuration: { blocking: false } })
    expect(started).toMatchObject({ kind: 'task', status: { state: expect.stringMatching(/^(submitted|working)$/) } })
    const ended = await eventually(10_000, 'the end of the task', async () => {
      const task = await result<Task>('tasks/get', { id: started.id })
      return task.status.state === 'completed' ? task : undefined
    })
    expect(ended.artifacts?.[0]?.parts).toEqual([{ kind: 'text', text: 'slept 50' }])
  })

  it('server-sent events: the task, its states and its artifacts in pieces, up to `final`', async () => {
    const body = { jsonrpc: '2.0', id: 'req-002', method: 'message/stream', params: { message: says('chunks 3') } }
    const response = await post(body)
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const events = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data = '']) => {
      const { jsonrpc, id, result: event } = JSON.parse(data) as Answer
      expect([jsonrpc, id]).toEqual(['2.0', 'req-002'])
      return event as Json
    })
    expect(new Set(events.map(({ kind }) => kind))).toEqual(new Set(['task', 'status-update', 'artifact-update']))
    expect(events[0]).toMatchObject({ kind: 'task', status: { state: 'submitted' } })
    const pieces = events.filter(({ kind }) => kind === 'artifact-update')
    expect(pieces).toMatchObject([
      { artifact: { parts: [{ kind: 'text', text: 'chunk 1 ' }] } },
      { append: true, artifact: { parts: [{ kind: 'text', text: 'chunk 2 ' }] } },
      { append: true, lastChunk: true, artifact: { parts: [{ kind: 'text', text: 'chunk 3 ' }] } },
    ])
    expect(events.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'completed' }, final: true })
    expect(events.filter(({ final }) => final === true)).toHaveLength(1)
  })

  it('server-sent events: a message is the only event', async () => {
    const response = await post({
      jsonrpc: '2.0',
      id: 1,
      method: 'message/stream',
      params: { message: says('msg hi') },
    })
    const events = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(
      ([, data = '']) => JSON.parse(data) as Json,
    )
    expect(events).toMatchObject([{ id: 1, result: { kind: 'message', role: 'agent' } }])
  })
})

describe('JSON-RPC', () => {
  const get = { jsonrpc: '2.0', method: 'tasks/get', params: { id: 'task-boat-gen-123' } }

  it.each(['req-001', 7, null])('answers with the id %j of the request', async (id) => {
    expect(await call({ ...get, id })).toEqual({
      jsonrpc: '2.0',
      id,
      error: { code: -32001, message: expect.stringMatching(/not found/i) },
    })
  })

  it('does not answer a notification', async () => {
    const response = await post({ jsonrpc: '2.0', method: 'message/send', params: { message: says('hello') } })
    expect([response.status, await response.text()]).toEqual([204, ''])
  })

  it.each<[string, unknown, number, unknown]>([
    ['text that is not JSON', '{"jsonrpc": "2.0", ', -32700, null],
    ['another version', { ...get, id: 1, jsonrpc: '1.0' }, -32600, 1],
    ['an invalid id', { ...get, id: {} }, -32600, null],
    ['an unknown method', { ...get, id: 1, method: 'message/sent' }, -32601, 1],
    ['params that are not an object', { ...get, id: 1, params: 'task-boat-gen-123' }, -32602, 1],
  ])('has an error and no result for %s', async (_, body, code, id) => {
    const answer = await call(body)
    expect(answer).toMatchObject({ jsonrpc: '2.0', id, error: { code, message: expect.stringMatching(/./) } })
    expect(answer).not.toHaveProperty('result')
  })
})

describe('the server of the documents', () => {
  let server: Server
  let origin = ''
  const received: Json[] = []

  /** Returns the responses of the documents only. */
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      response.setHeader('content-type', 'application/json')
      if (request.method === 'GET') {
        response.statusCode = request.url === '/.well-known/agent-card.json' ? 200 : 404
        const { additionalInterfaces: _others, security: _security, ...card } = georoute as Json
        response.end(JSON.stringify({ ...card, url: `${origin}/a2a/v1` }))
        return
      }
      const { id, ...body } = (await json(request)) as Json
      received.push(body)
      const task = {
        id: 'task-boat-gen-123',
        contextId: 'ctx-conversation-abc',
        status: { state: body.method === 'tasks/cancel' ? 'cancelled' : 'completed' },
        artifacts: [
          {
            artifactId: 'artifact-boat-v1-xyz',
            name: 'sailboat_image.png',
            description: 'A generated image of a sailboat on the ocean.',
            parts: [
              { kind: 'file', file: { name: 'sailboat_image.png', mimeType: 'image/png', bytes: 'iVBORw0KGgo=' } },
            ],
          },
        ],
        kind: 'task',
      }
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: task }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on TCP
  })

  afterAll(() => new Promise((resolve) => server.close(resolve)))

  it('can be called by the client', async () => {
    await using client = await connect(origin)
    const { task } = await client.ask('Generate an image of a sailboat on the ocean.')
    expect(task).toMatchObject({
      id: 'task-boat-gen-123',
      contextId: 'ctx-conversation-abc',
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ name: 'sailboat_image.png', parts: [{ raw: 'iVBORw0KGgo=', mediaType: 'image/png' }] }],
    })
    // The text of the documents spells the state `cancelled`, their enumeration `canceled`.
    const canceled = await client.cancelTask({ id: 'task-boat-gen-123' })
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED')
    expect(received[0]).toMatchObject({
      method: 'message/send',
      params: { message: { ...sailboat.params.message, messageId: expect.stringMatching(/./), kind: 'message' } },
    })
  })
})
