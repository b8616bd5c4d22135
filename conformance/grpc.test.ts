/** Both gRPC services on a real port, called by clients made from the protocol files. */
import { Client, credentials, type deserialize, Metadata, type ServiceDefinition, status } from '@grpc/grpc-js'
import { agent, apiKey, artifact, ask, reply, type ServeOptions, serve, working } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { definitions, drain, failureOf } from '../src/transports/grpc/grpc.fixture.js'
import type { Json } from './fixture.js'
import type { OldTask } from './older-fixture.js'
import { proves } from './proves.js'

const v1 = 'lf.a2a.v1.A2AService'
const v03 = 'a2a.v1.A2AService'

interface Caller extends AsyncDisposable {
  readonly url: string
  call(service: string, rpc: string, request: Json, metadata?: Json): Promise<Json>
  stream(service: string, rpc: string, request: Json, metadata?: Json): ReturnType<Client['makeServerStreamRequest']>
}

async function served(given: Parameters<typeof serve>[0], options: ServeOptions = {}): Promise<Caller> {
  const server = await serve(given, options)
  const client = new Client(new URL(server.url).host, credentials.createInsecure())
  const method = (service: string, rpc: string) =>
    (definitions[service] as ServiceDefinition)[rpc] as ServiceDefinition[string]
  return {
    url: server.url,
    call(service, rpc, request, metadata = {}) {
      const { path, requestSerialize, responseDeserialize } = method(service, rpc)
      return new Promise((resolve, reject) => {
        const read = responseDeserialize as deserialize<Json>
        client.makeUnaryRequest(path, requestSerialize, read, request, metadataOf(metadata), (error, answer) =>
          error ? reject(error) : resolve(answer as Json),
        )
      })
    },
    stream(service, rpc, request, metadata = {}) {
      const { path, requestSerialize, responseDeserialize } = method(service, rpc)
      return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadataOf(metadata))
    },
    async [Symbol.asyncDispose]() {
      client.close()
      await server.close({ deadlineMs: 0 })
    },
  }
}

function metadataOf(entries: Json): Metadata {
  const metadata = new Metadata()
  for (const [key, value] of Object.entries(entries)) metadata.set(key, String(value))
  return metadata
}

const message = (text: string, more: Json = {}) => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], ...more },
})
const request = (text: string, more: Json = {}) => ({
  request: { messageId: 'm', role: 'ROLE_USER', content: [{ text }], ...more },
})

/** Members that must never be empty (required in the protocol file). */
const required: Readonly<Record<string, readonly string[]>> = {
  task: ['id', 'contextId', 'status'],
  status: ['state'],
  message: ['messageId', 'role', 'parts'],
  artifact: ['artifactId', 'parts'],
  statusUpdate: ['taskId', 'contextId', 'status'],
  artifactUpdate: ['taskId', 'contextId', 'artifact'],
}
const lists: Readonly<Record<string, string>> = { artifacts: 'artifact', history: 'message' }

/** Paths of required members that an answer leaves at their defaults. */
function missingIn(value: unknown, name = '', path = name): string[] {
  if (Array.isArray(value))
    return value.flatMap((each, place) => missingIn(each, lists[name] ?? '', `${path}[${place}]`))
  if (typeof value !== 'object' || value === null) return []
  const members = value as Json
  const isEmpty = (member: string) => {
    const found = members[member]
    return (
      found === undefined ||
      found === '' ||
      String(found).endsWith('_UNSPECIFIED') ||
      (Array.isArray(found) && found.length === 0)
    )
  }
  const missing = (required[name] ?? []).filter(isEmpty).map((member) => `${path}.${member}`)
  return [...missing, ...Object.entries(members).flatMap(([key, each]) => missingIn(each, key, `${path}.${key}`))]
}

describe('gRPC', () => {
  const busy = agent('Busy', async function* ({ text }) {
    if (text === 'msg') yield reply('Direct')
    else if (text === 'ask') yield ask('Which?')
    else {
      yield working('Thinking')
      yield artifact('one', [{ text: 'a' }, { text: '' }])
      yield artifact('one', [{ text: 'b' }], { append: true })
      yield 'words'
    }
  })

  it.each(['go', 'msg', 'ask', 'x'])(
    proves('R-GRPC-4', 'leaves no required member out of its answers to %s'),
    async (text) => {
      await using caller = await served(busy)
      const answer = await caller.call(v1, 'SendMessage', message(text))
      const { messages, error } = await drain(caller.stream(v1, 'SendStreamingMessage', message(text)))
      expect(error).toBeUndefined()
      expect([answer, ...messages].flatMap((each) => missingIn(each))).toEqual([])
      // The check can fail.
      expect(missingIn({ task: { id: 'x', status: {} } })).toEqual(['.task.contextId', '.task.status.state'])
    },
  )

  it(
    proves(['R3-PB-1', 'R3-MTH-2', 'RL-ALL-1'], 'has the service of 0.3 beside v1.0’s, with the same tasks as HTTP'),
    async () => {
      await using caller = await served(echoAgent)
      const { task } = (await caller.call(v03, 'SendMessage', request('ask'))) as { task: { id: string; status: Json } }
      expect(task.status).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', update: { role: 'ROLE_AGENT' } })
      const { id } = task
      expect(await caller.call(v1, 'GetTask', { id })).toMatchObject({
        id,
        status: { state: 'TASK_STATE_INPUT_REQUIRED' },
      })
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tasks/get', params: { id } })
      const response = await fetch(caller.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      const { result } = (await response.json()) as { result: OldTask }
      expect(result).toMatchObject({ kind: 'task', id, status: { state: 'input-required' } })
      await caller.call(v1, 'SendMessage', message('second', { taskId: id }))
      expect(await caller.call(v03, 'GetTask', { name: `tasks/${id}` })).toMatchObject({
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ parts: [{ text: 'ask\nsecond' }] }],
      })
    },
  )

  it(proves('R3-MTH-2', 'refuses in 0.3 what the other bindings refuse'), async () => {
    await using caller = await served(echoAgent)
    const { task } = (await caller.call(v03, 'SendMessage', request('hello'))) as { task: { id: string } }
    const name = `tasks/${task.id}`
    const code = async (rpc: string, params: Json) => (await failureOf(caller.call(v03, rpc, params))).code
    expect(await code('GetTask', { name: 'tasks/nope' })).toBe(status.NOT_FOUND)
    expect(await code('CancelTask', { name })).toBe(status.FAILED_PRECONDITION)
    expect(await code('SendMessage', request('more', { taskId: task.id }))).toBe(status.FAILED_PRECONDITION)
    expect(await code('SendMessage', {})).toBe(status.INVALID_ARGUMENT)
    expect(await code('GetTaskPushNotificationConfig', { name: `${name}/pushNotificationConfigs/x` })).toBe(
      status.NOT_FOUND,
    )
    expect(await code('GetAgentCard', {})).toBe(status.FAILED_PRECONDITION)
  })

  it(proves('R3-ERR-4', 'names the error class of the official SDKs in the text of a 0.3 status'), async () => {
    await using caller = await served(echoAgent)
    const text = async (service: string, rpc: string, params: Json) =>
      (await failureOf(caller.call(service, rpc, params))).details
    expect(await text(v03, 'GetTask', { name: 'tasks/nope' })).toBe('TaskNotFoundError: Task not found: nope')
    expect(await text(v03, 'SendMessage', {})).toMatch(/^InvalidParamsError: message: /)
    expect(await text(v1, 'GetTask', { id: 'nope' })).toBe('Task not found: nope')
  })

  it.each([
    ['no configuration', undefined, /COMPLETED$/],
    ['blocking: true', { blocking: true }, /COMPLETED$/],
    ['blocking: false', { blocking: false }, /SUBMITTED$|WORKING$/],
    ['a configuration without blocking', { acceptedOutputModes: ['text/plain'] }, /SUBMITTED$|WORKING$/],
  ])(proves('R3-SEND-5', 'waits in 0.3, or does not, by %s'), async (_what, configuration, state) => {
    await using caller = await served(echoAgent)
    const { task } = (await caller.call(v03, 'SendMessage', { ...request('sleep 50'), configuration })) as {
      task: { status: { state: string } }
    }
    expect(task.status.state).toMatch(state)
  })

  it(proves(['R3-CARD-3', 'R3-CARD-4'], 'is listed in the card of 0.3 with its own address'), async () => {
    await using caller = await served(echoAgent)
    const headers = { 'A2A-Version': '0.3' }
    const card = (await (await fetch(`${caller.url}.well-known/agent-card.json`, { headers })).json()) as Json
    expect(card.additionalInterfaces).toEqual([
      { url: caller.url, transport: 'JSONRPC' },
      { url: caller.url.replace(/\/$/, ''), transport: 'HTTP+JSON' },
      { url: new URL(caller.url).host, transport: 'GRPC' },
    ])
  })

  it.each([
    [v1, 'SendMessage', message('hi')],
    [v1, 'GetTask', { id: 'x' }],
    [v03, 'SendMessage', request('hi')],
    [v03, 'GetTask', { name: 'tasks/x' }],
    [v03, 'CancelTask', { name: 'tasks/x' }],
    [v03, 'ListTaskPushNotificationConfig', { parent: 'tasks/x' }],
    [v03, 'GetAgentCard', {}],
  ])(proves(['RL-ALL-2', 'R3-SEC-1'], 'rejects calls without a key: %s %s'), async (service, rpc, params) => {
    await using caller = await served(echoAgent, { auth: [apiKey('k')] })
    expect((await failureOf(caller.call(service, rpc, params))).code).toBe(status.UNAUTHENTICATED)
    const wrong = failureOf(caller.call(service, rpc, params, { 'x-api-key': 'wrong' }))
    expect((await wrong).code).toBe(status.UNAUTHENTICATED)
  })

  it(proves('RL-ALL-3', 'has no service for a version that is switched off'), async () => {
    await using caller = await served(echoAgent, { dialects: ['v1'] })
    expect((await failureOf(caller.call(v03, 'SendMessage', request('hi')))).code).toBe(status.UNIMPLEMENTED)
    expect(await caller.call(v1, 'SendMessage', message('hi'))).toHaveProperty('task')
  })
})
