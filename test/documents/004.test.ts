/** The documents about the draft of A2A 1.0 and about the Go library, with the names and shapes that they print. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Client, credentials } from '@grpc/grpc-js'
import { agent, artifact, type Served, serve, working } from 'dragoman'
import { connect } from 'dragoman/client'
import protobuf from 'protobufjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { start } from '../../examples/handler-functions/agent.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
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

/** Events of a stream, as they arrive. */
async function* eventsIn(response: Response): AsyncGenerator<SentEvent, undefined> {
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  let text = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (text + chunk).split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const [, event = '', data] = /^(?:id: .*\n)?(?:event: (.*)\n)?data: (.*)$/.exec(frame) ?? []
      if (data !== undefined) yield { event, data: JSON.parse(data) as Json }
    }
  }
}

async function eventsOf(source: Response | AsyncGenerator<SentEvent>): Promise<readonly SentEvent[]> {
  const events: SentEvent[] = []
  for await (const event of 'headers' in source ? eventsIn(source) : source) events.push(event)
  return events
}

/** Repeats the parts of a message, or waits to be canceled. */
const repeater = agent(
  {
    name: 'Repeater',
    capabilities: { pushNotifications: true, extendedAgentCard: true },
    extendedCard: async (card) => card,
  },
  async function* ({ message, text, signal }) {
    if (text !== 'wait') return yield artifact('answer', message.parts)
    yield working('Waiting')
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
)

let repeating: Served
let origin = ''

beforeAll(async () => {
  repeating = await serve(repeater, { port: 0, push: { allowHosts: ['127.0.0.1'] } })
  origin = repeating.url.replace(/\/$/, '')
})

afterAll(() => repeating.close({ deadlineMs: 0 }))

interface Task {
  readonly id: string
  readonly status: { readonly state: string }
  readonly artifacts?: readonly { readonly parts: readonly Json[] }[]
}

/** The oneof of the draft: text, file by bytes, file by address. */
const draftParts = [
  { text: 'hi' },
  { file: { fileWithBytes: 'AQID', mediaType: 'application/octet-stream', name: 'a.bin' } },
  { file: { fileWithUri: 'https://files.example/b.pdf', mediaType: 'application/pdf' }, metadata: { page: 1 } },
]
const releasedParts = [
  { text: 'hi' },
  { raw: 'AQID', mediaType: 'application/octet-stream', filename: 'a.bin' },
  { url: 'https://files.example/b.pdf', mediaType: 'application/pdf', metadata: { page: 1 } },
]

describe('operations of the draft, by the names of its table', () => {
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: draftParts }
  const sleeping = { messageId: 'm2', role: 'ROLE_USER', parts: [{ text: 'wait' }] }

  it('SendMessage takes the parts of the draft; GetTask and ListTasks find the task', async () => {
    const { task } = await result<{ task: Task }>(origin, 'SendMessage', { message })
    expect(task.artifacts).toMatchObject([{ parts: releasedParts }])
    expect(await result(origin, 'GetTask', { id: task.id })).toMatchObject({ id: task.id })
    const { tasks } = await result<{ tasks: Task[] }>(origin, 'ListTasks', { status: 'TASK_STATE_COMPLETED' })
    expect(tasks.map(({ id }) => id)).toContain(task.id)
    const both = { fileWithBytes: 'AQID', fileWithUri: 'https://files.example/' }
    for (const file of [{}, both, { fileWithBytes: 'no base64!' }, 'a.bin', { bytes: 'AQID' }])
      expect(await call(origin, 'SendMessage', { message: { ...message, parts: [{ file }] } })).toMatchObject({
        error: { code: -32602, message: expect.stringContaining('message.parts[0]') },
      })
    const two = { ...message, parts: [{ text: 'hi', file: { fileWithBytes: 'AQID' } }] }
    expect(await call(origin, 'SendMessage', { message: two })).toMatchObject({ error: { code: -32602 } })
  })

  it('SendStreamingMessage, SubscribeToTask and CancelTask; ListTasks takes TASK_STATE_CANCELLED', async () => {
    const request = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message: sleeping } }
    const stream = eventsIn(await post(origin, request))
    const first = (await stream.next()).value?.data.result as { task: Task }
    const { id } = first.task
    const again = await post(origin, { jsonrpc: '2.0', id: 2, method: 'SubscribeToTask', params: { id } })
    expect(await result(origin, 'CancelTask', { id })).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } })
    for (const response of [stream, again])
      expect((await eventsOf(response)).at(-1)?.data).toMatchObject({
        result: { statusUpdate: { taskId: id, status: { state: 'TASK_STATE_CANCELED' } } },
      })
    for (const status of ['TASK_STATE_CANCELLED', 'TASK_STATE_CANCELED', 5])
      expect(await result(origin, 'ListTasks', { status })).toMatchObject({ tasks: [{ id }] })
    const overRest = await fetch(`${origin}/tasks?status=TASK_STATE_CANCELLED`, { headers: { 'A2A-Version': '1.0' } })
    expect(await overRest.json()).toMatchObject({ tasks: [{ id }] })
  })

  it('Set-, Get-, List- and DeleteTaskPushNotificationConfig', async () => {
    const { task } = await result<{ task: Task }>(origin, 'SendMessage', { message })
    const config = { taskId: task.id, id: 'c1', url: 'http://127.0.0.1:9/hook' }
    expect(await result(origin, 'SetTaskPushNotificationConfig', config)).toMatchObject(config)
    expect(await result(origin, 'GetTaskPushNotificationConfig', { taskId: task.id, id: 'c1' })).toMatchObject(config)
    expect(await result(origin, 'ListTaskPushNotificationConfig', { taskId: task.id })).toMatchObject({
      configs: [config],
    })
    expect(await result(origin, 'DeleteTaskPushNotificationConfig', { taskId: task.id, id: 'c1' })).toEqual({})
  })

  it('GetExtendedAgentCard', async () => {
    expect(await result(origin, 'GetExtendedAgentCard', {})).toMatchObject({ name: 'Repeater' })
  })
})

describe('the same operations in the table of bindings', () => {
  const message = { kind: 'message', messageId: 'm1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }

  it('message/send, tasks/get, tasks/list, tasks/cancel, message/stream and tasks/subscribe over JSON-RPC', async () => {
    const task = await result<Task>(origin, 'message/send', { message })
    expect(await result(origin, 'tasks/get', { id: task.id })).toMatchObject({ id: task.id })
    const { tasks } = await result<{ tasks: Task[] }>(origin, 'tasks/list', {})
    expect(tasks.map(({ id }) => id)).toContain(task.id)
    const waiting = { ...message, parts: [{ kind: 'text', text: 'wait' }] }
    const request = { jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message: waiting } }
    const stream = eventsIn(await post(origin, request))
    const first = (await stream.next()).value?.data.result as Task
    const { id } = first
    const again = await post(origin, { jsonrpc: '2.0', id: 2, method: 'tasks/subscribe', params: { id } })
    expect(await result(origin, 'tasks/cancel', { id })).toMatchObject({ status: { state: 'canceled' } })
    for (const response of [stream, again])
      expect((await eventsOf(response)).at(-1)?.data).toMatchObject({ result: { taskId: id, final: true } })
  })

  it('POST /v1/message:send to GET /v1/tasks/{id}:subscribe over HTTP', async () => {
    const body = (text: string) => ({ message: { messageId: 'm1', role: 'ROLE_USER', content: [{ text }] } })
    const sent = await post(`${origin}/v1/message:send`, body('hi'))
    const { task } = (await sent.json()) as { task: Task }
    expect(await (await fetch(`${origin}/v1/tasks/${task.id}`)).json()).toMatchObject({ id: task.id })
    const listed = (await (await fetch(`${origin}/v1/tasks`)).json()) as { tasks: Task[] }
    expect(listed.tasks.map(({ id }) => id)).toContain(task.id)
    const stream = eventsIn(await post(`${origin}/v1/message:stream`, body('wait')))
    const first = (await stream.next()).value?.data as { task: Task }
    const { id } = first.task
    const again = await fetch(`${origin}/v1/tasks/${id}:subscribe`)
    expect(await (await post(`${origin}/v1/tasks/${id}:cancel`, {})).json()).toMatchObject({
      status: { state: 'TASK_STATE_CANCELLED' },
    })
    for (const response of [stream, again])
      expect((await eventsOf(response)).at(-1)?.data).toMatchObject({ statusUpdate: { taskId: id, final: true } })
  })

  it('GET /.well-known/agent-card.json has the members of the draft', async () => {
    expect(await (await fetch(`${origin}/.well-known/agent-card.json`)).json()).toMatchObject({
      protocolVersion: expect.any(String),
      name: 'Repeater',
      description: expect.any(String),
      supportedInterfaces: expect.arrayContaining([
        expect.objectContaining({ url: `${origin}/`, protocolBinding: 'JSONRPC' }),
      ]),
      version: expect.any(String),
      capabilities: { streaming: true, pushNotifications: true },
      defaultInputModes: ['text/plain', '*/*'],
      defaultOutputModes: ['text/plain'],
      skills: [
        {
          id: expect.any(String),
          name: expect.any(String),
          description: expect.any(String),
          tags: [expect.any(String)],
        },
      ],
      supportsAuthenticatedExtendedCard: true,
    })
  })
})

/** The messages as the documents print them; requests as the drafts have them, under the package they had. */
const draftProto = `
syntax = "proto3";
package a2a.v1;
enum TaskState {
  TASK_STATE_UNSPECIFIED = 0; TASK_STATE_SUBMITTED = 1; TASK_STATE_WORKING = 2; TASK_STATE_COMPLETED = 3;
  TASK_STATE_FAILED = 4; TASK_STATE_CANCELLED = 5; TASK_STATE_INPUT_REQUIRED = 6; TASK_STATE_REJECTED = 7;
  TASK_STATE_AUTH_REQUIRED = 8;
}
enum Role { ROLE_UNSPECIFIED = 0; ROLE_USER = 1; ROLE_AGENT = 2; }
message FilePart { oneof file { string file_with_uri = 1; bytes file_with_bytes = 2; } string media_type = 3; string name = 4; }
message Part { oneof part { string text = 1; FilePart file = 2; } }
message Message {
  string message_id = 1; string context_id = 2; string task_id = 3; Role role = 4; repeated Part parts = 5;
  repeated string extensions = 7; repeated string reference_task_ids = 8;
}
message Artifact { string artifact_id = 1; string name = 3; string description = 4; repeated Part parts = 5; }
message TaskStatus { TaskState state = 1; Message message = 2; }
message Task { string id = 1; string context_id = 2; TaskStatus status = 3; repeated Artifact artifacts = 4; repeated Message history = 5; }
message TaskStatusUpdateEvent { string task_id = 1; string context_id = 2; TaskStatus status = 3; bool final = 4; }
message TaskArtifactUpdateEvent { string task_id = 1; string context_id = 2; Artifact artifact = 3; bool append = 4; bool last_chunk = 5; }
message StreamResponse {
  oneof payload { Task task = 1; Message msg = 2; TaskStatusUpdateEvent status_update = 3; TaskArtifactUpdateEvent artifact_update = 4; }
}
message AgentInterface { string url = 1; string protocol_binding = 2; }
message AgentCard { optional string protocol_version = 16; string name = 1; repeated AgentInterface supported_interfaces = 19; }
message SendMessageRequest { Message message = 1; }
message SendMessageResponse { oneof payload { Task task = 1; Message msg = 2; } }
message NameRequest { string name = 1; }
message ListTasksRequest { string context_id = 1; TaskState status = 2; int32 page_size = 3; int64 last_updated_after = 6; }
message ListTasksResponse { repeated Task tasks = 1; string next_page_token = 2; int32 page_size = 3; int32 total_size = 4; }
message PushNotificationConfig { string id = 1; string url = 2; string token = 3; }
message TaskPushNotificationConfig { string name = 1; PushNotificationConfig push_notification_config = 2; }
message SetTaskPushNotificationConfigRequest { string parent = 1; string config_id = 2; TaskPushNotificationConfig config = 3; }
message ListTaskPushNotificationConfigRequest { string parent = 1; }
message ListTaskPushNotificationConfigResponse { repeated TaskPushNotificationConfig configs = 1; }
message Empty {}
`

describe('gRPC with the names of the draft', () => {
  let client: Client
  const types = protobuf.parse(draftProto).root

  beforeAll(() => {
    client = new Client(new URL(origin).host, credentials.createInsecure())
  })

  afterAll(() => client.close())

  const encode = (type: string) => (message: object) =>
    Buffer.from(types.lookupType(type).encode(types.lookupType(type).fromObject(message)).finish())
  const decode = (type: string) => (bytes: Buffer) =>
    types.lookupType(type).toObject(types.lookupType(type).decode(bytes), { enums: String, bytes: String }) as Json

  function unary(rpc: string, [input, output]: readonly [string, string], request: object): Promise<Json> {
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(`/a2a.v1.A2AService/${rpc}`, encode(input), decode(output), request, (error, answer) =>
        error ? reject(error) : resolve(answer as Json),
      )
    })
  }

  const stream = (rpc: string, input: string, request: object) =>
    client.makeServerStreamRequest(`/a2a.v1.A2AService/${rpc}`, encode(input), decode('StreamResponse'), request)

  const send = (...parts: object[]) => ({
    message: { messageId: 'm1', role: 'ROLE_USER', parts, referenceTaskIds: ['t0'] },
  })

  it('answers all eleven operations', async () => {
    const file = { fileWithUri: 'https://files.example/b.pdf', mediaType: 'application/pdf', name: 'b.pdf' }
    const sent = await unary(
      'SendMessage',
      ['SendMessageRequest', 'SendMessageResponse'],
      send({ text: 'hi' }, { file }),
    )
    const { task } = sent as unknown as { task: Task }
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'hi' }, { file }] }],
    })
    const name = `tasks/${task.id}`
    expect(await unary('GetTask', ['NameRequest', 'Task'], { name })).toMatchObject({ id: task.id })

    const running = stream('SendStreamingMessage', 'SendMessageRequest', send({ text: 'wait' }))
    const first = await new Promise<Json>((resolve) => running.once('data', resolve))
    const waiting = `tasks/${(first as unknown as { task: Task }).task.id}`
    const again = stream('SubscribeToTask', 'NameRequest', { name: waiting })
    await new Promise((resolve) => again.once('data', resolve))
    expect(await unary('CancelTask', ['NameRequest', 'Task'], { name: waiting })).toMatchObject({
      status: { state: 'TASK_STATE_CANCELLED' },
    })
    const lists = ['ListTasksRequest', 'ListTasksResponse'] as const
    expect(await unary('ListTasks', lists, { status: 'TASK_STATE_CANCELLED', pageSize: 1 })).toMatchObject({
      tasks: [{ id: waiting.slice('tasks/'.length) }],
      pageSize: 1,
    })
    const later = await unary('ListTasks', lists, { lastUpdatedAfter: Date.now() + 60_000 })
    expect(later.tasks ?? []).toEqual([])

    const config = { id: 'c1', url: 'http://127.0.0.1:9/hook', token: 't' }
    const configName = `${name}/pushNotificationConfigs/c1`
    const request = { parent: name, configId: 'c1', config: { pushNotificationConfig: config } }
    const sets = ['SetTaskPushNotificationConfigRequest', 'TaskPushNotificationConfig'] as const
    expect(await unary('SetTaskPushNotificationConfig', sets, request)).toEqual({
      name: configName,
      pushNotificationConfig: config,
    })
    const gets = ['NameRequest', 'TaskPushNotificationConfig'] as const
    expect(await unary('GetTaskPushNotificationConfig', gets, { name: configName })).toMatchObject({ name: configName })
    const all = ['ListTaskPushNotificationConfigRequest', 'ListTaskPushNotificationConfigResponse'] as const
    expect(await unary('ListTaskPushNotificationConfig', all, { parent: name })).toMatchObject({
      configs: [{ name: configName }],
    })
    expect(await unary('DeleteTaskPushNotificationConfig', ['NameRequest', 'Empty'], { name: configName })).toEqual({})
    expect(await unary('GetExtendedAgentCard', ['Empty', 'AgentCard'], {})).toMatchObject({
      name: 'Repeater',
      supportedInterfaces: expect.arrayContaining([{ url: new URL(origin).host, protocolBinding: 'GRPC' }]),
    })
  })
})

describe('gRPC of the released service', () => {
  it('answers the names of the draft too', async () => {
    const { root } = protobuf.loadSync(fileURLToPath(new URL('../../proto/a2a_v1.proto', import.meta.url)))
    using client = Object.assign(new Client(new URL(origin).host, credentials.createInsecure()), {
      [Symbol.dispose]: () => client.close(),
    })
    const unary = (rpc: string, [input, output]: readonly [string, string], request: object): Promise<Json> =>
      new Promise((resolve, reject) => {
        const [from, to] = [root.lookupType(input), root.lookupType(output)]
        client.makeUnaryRequest(
          `/lf.a2a.v1.A2AService/${rpc}`,
          (message: object) => Buffer.from(from.encode(message).finish()),
          (bytes) => to.toObject(to.decode(bytes)) as Json,
          request,
          (error, answer) => (error ? reject(error) : resolve(answer as Json)),
        )
      })
    const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    const { task } = await result<{ task: Task }>(origin, 'SendMessage', { message })
    const config = { taskId: task.id, id: 'c1', url: 'http://127.0.0.1:9/hook' }
    const name = 'TaskPushNotificationConfig'
    expect(await unary('SetTaskPushNotificationConfig', [name, name], config)).toMatchObject(config)
    const lists = [`List${name}sRequest`, `List${name}sResponse`] as const
    expect(await unary('ListTaskPushNotificationConfig', lists, { taskId: task.id })).toMatchObject({
      configs: [config],
    })
  })
})

describe('a server of the draft', () => {
  let server: Server
  let address = ''

  const draftTask = {
    id: 't1',
    contextId: 'c1',
    status: { state: 'TASK_STATE_CANCELLED' },
    artifacts: [{ artifactId: 'a1', parts: draftParts }],
  }

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      response.setHeader('content-type', 'application/json')
      if (request.method === 'GET') {
        response.end(JSON.stringify(card()))
        return
      }
      const { id, method } = (await json(request)) as { id: unknown; method: string }
      const answer = (value: Json) => JSON.stringify({ jsonrpc: '2.0', id, result: value })
      if (method !== 'SendStreamingMessage') {
        response.end(answer(method === 'GetTask' ? draftTask : { task: draftTask }))
        return
      }
      response.setHeader('content-type', 'text/event-stream')
      response.end(`data: ${answer({ msg: { messageId: 'm9', role: 'ROLE_AGENT', parts: draftParts } })}\n\n`)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on TCP
  })

  afterAll(() => new Promise((resolve) => server.close(resolve)))

  const card = () => ({
    protocolVersion: '1.0',
    name: 'Drafted',
    description: 'Serves the draft',
    supportedInterfaces: [{ url: `${address}/`, protocolBinding: 'JSONRPC' }],
    version: '1.0.0',
    capabilities: { streaming: true },
    security: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    supportsAuthenticatedExtendedCard: false,
  })

  it('can be read by the client: its state, its files and its `msg`', async () => {
    await using client = await connect(address)
    const read = { status: { state: 'TASK_STATE_CANCELED' }, artifacts: [{ parts: releasedParts }] }
    expect(await client.getTask({ id: 't1' })).toMatchObject(read)
    const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hi' }] } as const
    expect(await client.sendMessage({ message })).toMatchObject({ task: read })
    const events: unknown[] = []
    for await (const event of client.sendStreamingMessage({ message })) events.push(event)
    expect(JSON.stringify(events)).toContain(JSON.stringify(releasedParts[1]?.raw))
  })
})

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

  it('answers tasks/send with a task, with the id of the caller or a generated id', async () => {
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

  it('has the states pending, processing, completed, failed and canceled', async () => {
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

  it('has no other methods', async () => {
    expect(await call(url, 'message/send', {})).toMatchObject({ error: { code: -32601 } })
  })

  it('shares an address with other versions, but not with v0.1', async () => {
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

describe('the struct of functions', () => {
  const message = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] })
  let served: Awaited<ReturnType<typeof start>>
  let url = ''

  beforeAll(async () => {
    served = await start({ allowWebhooks: ['127.0.0.1'] })
    url = served.url
  })

  afterAll(() => served.close({ deadlineMs: 0 }))

  it('has a function for the card', async () => {
    expect(await (await fetch(`${url}.well-known/agent.json`)).json()).toMatchObject({
      name: 'Reporter',
      description: 'Writes reports',
    })
  })

  it('stores the result of SendTaskFunc under the id of the caller or of the server; GetTaskFunc finds it', async () => {
    const { reads } = served.counts
    for (const id of ['job-1', undefined]) {
      const sent = await result<Task>(url, 'tasks/send', { id, message: message('owls') })
      expect(sent).toMatchObject({
        id: id ?? expect.stringMatching(/./),
        status: { state: 'completed' },
        artifacts: [{ name: 'report', parts: [{ text: 'Report on owls' }] }],
      })
      const { metadata, ...found } = await result<Task & { metadata: Json }>(url, 'tasks/get', { id: sent.id })
      expect(found).toEqual(sent)
      expect(metadata.reads).toBeGreaterThan(reads)
      const { tasks } = await result<{ tasks: Task[] }>(url, 'ListTasks', {})
      expect(tasks.map((task) => task.id)).toContain(sent.id)
    }
    expect(await result(url, 'tasks/send', { id: 'job-2', message: message('') })).toMatchObject({
      status: { state: 'failed' },
      metadata: { a2aState: 'TASK_STATE_REJECTED' },
    })
  })

  it('streams and stores the updates and the result of SendTaskSubscribeFunc', async () => {
    const params = { id: 'streamed', message: message('owls') }
    const events = await eventsOf(await post(url, { jsonrpc: '2.0', id: 1, method: 'tasks/sendSubscribe', params }))
    const changes = events.slice(1).map(({ data }) => (data.artifact as Json | undefined)?.name ?? data.status)
    expect(changes).toMatchObject([
      { state: 'processing', message: { parts: [{ text: 'Reading' }] } },
      'outline',
      'report',
      { state: 'completed' },
    ])
    expect(await result(url, 'tasks/get', { id: 'streamed' })).toMatchObject({
      artifacts: [{ parts: [{ text: '1. owls' }] }, { parts: [{ text: 'Report on owls' }] }],
    })
  })

  it('asks ResubscribeFunc before a stream is joined, and CancelTaskFunc before a task is canceled', async () => {
    const params = { id: 'slow', message: message('slowly') }
    const stream = eventsIn(await post(url, { jsonrpc: '2.0', id: 1, method: 'tasks/sendSubscribe', params }))
    await stream.next()
    const { joins } = served.counts
    const again = eventsIn(
      await post(url, { jsonrpc: '2.0', id: 2, method: 'tasks/resubscribe', params: { id: 'slow' } }),
    )
    await again.next()
    expect(served.counts.joins).toBe(joins + 1)
    expect(await call(url, 'tasks/cancel', { id: 'slow' })).toMatchObject({ error: { code: -32002 } })
    expect(await result(url, 'tasks/cancel', { id: 'slow', metadata: { reason: 'too slow' } })).toMatchObject({
      status: { state: 'canceled' },
    })
    expect((await eventsOf(again)).at(-1)?.data).toMatchObject({ status: { state: 'canceled' }, final: true })
    expect(await result(url, 'tasks/get', { id: 'slow' })).toMatchObject({ status: { state: 'canceled' } })
  })

  it('stores the result of SetTaskPushNotificationsFunc; GetTaskPushNotificationsFunc finds it', async () => {
    await result(url, 'tasks/send', { id: 'told', message: message('owls') })
    const config = { url: 'http://127.0.0.1:9/hook' }
    const params = { id: 'told', pushNotificationConfig: config }
    expect(await result(url, 'tasks/pushNotification/set', params)).toEqual({ ...config, token: 'reports' })
    expect(await result(url, 'tasks/pushNotification/get', { id: 'told' })).toEqual(config)
    expect(await result(url, 'ListTaskPushNotificationConfigs', { taskId: 'told' })).toMatchObject({
      configs: [{ ...config, token: 'reports' }],
    })
  })
})

describe('the stores of the Go library', () => {
  it.each(['memory', 'file'])('%s: tasks/get finds the task of tasks/send', async (kind) => {
    const folder = await mkdtemp(join(tmpdir(), 'documents-'))
    try {
      const options = { port: 0, dialects: [{ dialect: 'v0.1-go', path: '/' }] as const }
      const store = kind === 'file' ? `file:${folder}` : kind
      let sent: unknown
      {
        await using served = await serve(echoAgent, { ...options, store })
        const params = { id: '../job', message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } }
        sent = await result(served.url, 'tasks/send', params)
        expect(await result(served.url, 'tasks/get', { id: '../job' })).toEqual(sent)
      }
      await using again = await serve(echoAgent, { ...options, store })
      const found = await call(again.url, 'tasks/get', { id: '../job' })
      expect(found).toMatchObject(kind === 'file' ? { result: sent } : { error: { code: -32001 } })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
