import { agent, artifact } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { type Json, testServer } from './fixture.js'
import { checkRestError, message03, OlderClient, type OldTask, protoMessage, readEvents } from './older-fixture.js'
import { proves } from './proves.js'

const mirror = agent({ name: 'Mirror', capabilities: { pushNotifications: true } }, async function* ({ message }) {
  yield artifact('same', message.parts)
})

interface ProtoTask {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string; readonly message?: Json }
  readonly artifacts?: readonly { readonly parts: readonly Json[] }[]
  readonly history?: readonly Json[]
}

const send = async (client: OlderClient, body: unknown): Promise<ProtoTask> =>
  (await client.fetch<{ task: ProtoTask }>('POST', '/v1/message:send', body)).task

describe('0.3 over HTTP+JSON', () => {
  it(proves(['R3-PB-2', 'R3-PB-6'], 'answers in the protobuf’s JSON'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const task = await send(client, { message: protoMessage('hello'), configuration: { blocking: true } })
    expect(task).toEqual({
      id: expect.stringMatching(/^\S+$/),
      contextId: expect.stringMatching(/^\S+$/),
      status: { state: 'TASK_STATE_COMPLETED', timestamp: expect.stringMatching(/Z$/) },
      artifacts: [{ artifactId: expect.any(String), parts: [{ text: 'hello' }] }],
      history: [
        {
          messageId: expect.any(String),
          contextId: task.contextId,
          taskId: task.id,
          role: 'ROLE_USER',
          content: [{ text: 'hello' }],
        },
      ],
    })
    expect(await client.fetch('GET', `/v1/tasks/${task.id}`)).toEqual(task)
    expect(await client.fetch('POST', '/v1/message:send', { message: protoMessage('msg hi') })).toEqual({
      message: {
        messageId: expect.any(String),
        contextId: expect.any(String),
        role: 'ROLE_AGENT',
        content: [{ text: 'hi' }],
      },
    })
  })

  it(proves(['R3-PB-2', 'R3-CANCEL-1'], 'encodes states as its protobuf does'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id, status } = await send(client, { message: protoMessage('ask') })
    expect(status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { role: 'ROLE_AGENT', content: [{ text: 'What is the second text?' }] },
    })
    const canceled = await client.fetch<ProtoTask>('POST', `/v1/tasks/${id}:cancel`)
    expect(canceled.status.state).toBe('TASK_STATE_CANCELLED')
  })

  it.each([
    ['the shape of JSON-RPC', { message: message03('hello') }],
    [
      'snake_case',
      {
        message: { message_id: 'm', role: 'ROLE_USER', content: [{ text: 'hello' }], context_id: 'c' },
        configuration: { accepted_output_modes: ['text/plain'], history_length: 1, blocking: true },
      },
    ],
    ['the name of the protobuf’s field', { request: protoMessage('hello') }],
    ['literal nulls', { message: { ...protoMessage('hello'), taskId: null }, configuration: null, metadata: null }],
    [
      'an empty text beside the member that is meant',
      {
        message: protoMessage({
          content: [{ text: 'hello' }, { file: { file_with_uri: '', file_with_bytes: 'aGk=' } }],
        }),
      },
    ],
  ])(proves(['R3-PB-2', 'R3-PB-3', 'RL-02-5'], 'reads %s'), async (_what, body) => {
    await using server = await testServer(mirror)
    const task = await send(new OlderClient(server), body)
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: expect.arrayContaining([{ text: 'hello' }]) }],
    })
  })

  it.each([[undefined], ['null'], ['{}'], ['']])(
    proves('R3-PB-3', 'takes %j as the body of an action that needs none'),
    async (body) => {
      await using server = await testServer(echoAgent)
      const client = new OlderClient(server)
      const { id } = await send(client, { message: protoMessage('ask') })
      const task = await client.fetch<ProtoTask>('POST', `/v1/tasks/${id}:cancel`, body)
      expect(task.status.state).toBe('TASK_STATE_CANCELLED')
    },
  )

  it(proves(['R3-PB-3', 'R3-GET-2'], 'reads the length of history by either name, and 0 as everything'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id } = await send(client, { message: protoMessage('ask') })
    await send(client, { message: protoMessage({ taskId: id }) })
    const length = async (query: string) =>
      (await client.fetch<ProtoTask>('GET', `/v1/tasks/${id}${query}`)).history?.length
    expect(await length('')).toBe(3)
    expect(await length('?historyLength=1')).toBe(1)
    expect(await length('?history_length=2')).toBe(2)
    expect(await length('?historyLength=0')).toBe(3)
  })

  it(
    proves(['R3-PB-4', 'RM-PART-1', 'RM-PART-2'], 'nests data once and keeps names and metadata of parts'),
    async () => {
      const teller = agent('Teller', async function* ({ message }) {
        yield artifact('told', [...message.parts, { data: { answer: 42 } }, { data: [1, 2] }, { data: null }])
      })
      await using server = await testServer(teller)
      const given = [
        { data: { data: { deep: { list: [1] } } }, metadata: { mark: 1 } },
        { file: { fileWithBytes: 'aGk=', mimeType: 'text/plain', name: 'a.txt' }, metadata: { mark: 2 } },
        { text: 'x', metadata: { mark: 3 } },
      ]
      const client = new OlderClient(server, { headers: { 'User-Agent': 'node' } })
      const { artifacts } = await send(client, { message: protoMessage({ content: given }) })
      expect(artifacts?.[0]?.parts).toEqual([
        ...given,
        { data: { data: { answer: 42 } } },
        { data: { data: { value: [1, 2] } }, metadata: { data_part_compat: true } },
        { data: { data: { value: null } }, metadata: { data_part_compat: true } },
      ])
    },
  )

  it.each([
    [
      'with parent and id',
      (id: string, hook: Json) => ({
        parent: `tasks/${id}`,
        config_id: 'c',
        config: { name: `tasks/${id}/pushNotificationConfigs/c`, push_notification_config: hook },
      }),
      'c',
    ],
    ['in `config`', (_id: string, hook: Json) => ({ config: { pushNotificationConfig: hook } }), undefined],
    [
      'as a task’s config',
      (id: string, hook: Json) => ({ name: `tasks/${id}/pushNotificationConfigs/c`, pushNotificationConfig: hook }),
      'c',
    ],
    ['bare', (_id: string, hook: Json) => hook, undefined],
  ])(proves(['R3-PB-5', 'RM-ID-3'], 'creates a webhook from a body %s'), async (_what, bodyOf, named) => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id } = await send(client, { message: protoMessage('ask') })
    const hook = { url: 'https://client.example/hook', token: 'tk' }
    const path = `/v1/tasks/${id}/pushNotificationConfigs`
    const configId = named ?? id
    const stored = {
      name: `tasks/${id}/pushNotificationConfigs/${configId}`,
      pushNotificationConfig: { id: configId, ...hook },
    }
    expect(await client.fetch('POST', path, bodyOf(id, hook))).toEqual(stored)
    expect(await client.fetch('GET', `${path}/${configId}`)).toEqual(stored)
    expect(await client.fetch('GET', path)).toMatchObject({ configs: [stored] })
    expect(await client.fetch('DELETE', `${path}/${configId}`)).toEqual({})
    expect(await client.fetch('GET', path)).toMatchObject({ configs: [] })
  })

  it(proves('RM-ID-3', 'percent-codes slashes in names of resources'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id } = await send(client, { message: protoMessage('ask') })
    const path = `/v1/tasks/${id}/pushNotificationConfigs`
    const hook = { id: 'a/b c', url: 'https://client.example/hook' }
    const stored = { pushNotificationConfig: hook, name: `tasks/${id}/pushNotificationConfigs/a%2Fb c` }
    expect(await client.fetch('POST', path, hook)).toEqual(stored)
    expect(await client.fetch('GET', `${path}/a%2Fb%20c`)).toEqual(stored)
  })

  it(proves(['R3-PB-7', 'R3-STRM-3', 'R3-STRM-4'], 'streams stream responses without an envelope'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const body = { message: protoMessage('chunks 2') }
    const events = (await readEvents(await client.request('POST', '/v1/message:stream', body))).map(
      ({ data: each }) => each as Json,
    )
    expect(events.map((event) => Object.keys(event).join())).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
    expect(events.at(-1)).toMatchObject({ statusUpdate: { final: true, status: { state: 'TASK_STATE_COMPLETED' } } })
    expect(JSON.stringify(events)).not.toMatch(/jsonrpc|"kind"/)
  })

  it.each(['GET', 'POST'])(proves('R3-STRM-6', 'subscribes by %s'), async (verb) => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id } = await send(client, { message: protoMessage('hello') })
    const events = await readEvents(await client.request(verb, `/v1/tasks/${id}:subscribe`))
    expect(events.map((each) => each.data)).toMatchObject([{ task: { id } }])
  })

  it.each([
    ['GET', '/v1/tasks/nope', undefined, 404, -32001],
    ['POST', '/v1/tasks/nope:cancel', undefined, 404, -32001],
    ['POST', '/v1/tasks/nope:subscribe', undefined, 404, -32001],
    ['GET', '/v1/tasks/nope/pushNotificationConfigs', undefined, 404, -32001],
    ['POST', '/v1/message:send', {}, 400, -32602],
    ['POST', '/v1/message:send', '{', 400, -32700],
    ['POST', '/v1/message:send', '[]', 400, -32602],
    ['POST', '/v1/message:stream', { message: protoMessage({ taskId: 'nope' }) }, 404, -32001],
    ['GET', '/v1/card', undefined, 400, -32004],
  ])(
    proves(['R3-PB-8', 'RM-ERR-3', 'R3-ERR-2', 'R3-ERR-4'], 'refuses with the bare error, and as SDKs read it: %s %s'),
    async (verb, path, body, http, code) => {
      await using server = await testServer(echoAgent)
      const answer = await new OlderClient(server).send(verb, path, body)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([http, 'application/json'])
      expect(checkRestError(answer.body, http).code).toBe(code)
    },
  )
})

describe('file content over HTTP+JSON', () => {
  // Built from R3-PB-12, not recorded: 00 01 ff fe, and the bytes of its base64 text `AAH//g==`.
  const raw = 'AAH//g=='
  const asText = 'QUFILy9nPT0='

  it.each([
    ['node', raw, raw],
    ['Deno/2.5.4', raw, raw],
    ['Bun/1.3.0', raw, raw],
    ['python-httpx/0.28.1', asText, asText],
    ['Go-http-client/1.1', asText, asText],
    ['Java-http-client/17.0.9', asText, asText],
    ['dragoman/0.1.0', asText, asText],
    ['Mozilla/5.0 (X11; Linux x86_64)', raw, asText],
    ['Mozilla/5.0 (X11; Linux x86_64)', asText, asText],
    [undefined, raw, asText],
  ])(proves('R3-PB-12', 'is read and written as %s has it: %s, then %s'), async (userAgent, sent, answered) => {
    await using server = await testServer(mirror)
    const client = new OlderClient(server, { headers: { 'User-Agent': userAgent } })
    const body = { message: protoMessage({ content: [{ file: { fileWithBytes: sent } }] }) }
    const { id, artifacts } = await send(client, body)
    expect(artifacts).toMatchObject([{ parts: [{ file: { fileWithBytes: answered } }] }])
    const events = await readEvents(await client.request('POST', '/v1/message:stream', body))
    expect(JSON.stringify(events)).toContain(`"fileWithBytes":"${answered}"`)
    expect(JSON.stringify(await client.fetch('GET', `/v1/tasks/${id}`))).toContain(`"fileWithBytes":"${answered}"`)
    // Every other dialect has the bytes themselves.
    const task = await server.over('JSON-RPC').call('GetTask', { id })
    expect(task).toMatchObject({ artifacts: [{ parts: [{ raw }] }] })
  })
})

describe('sends over HTTP+JSON', () => {
  it.each([
    ['no configuration', undefined, /COMPLETED$/],
    ['blocking: true', { blocking: true }, /COMPLETED$/],
    ['blocking: false', { blocking: false }, /SUBMITTED$|WORKING$/],
    ['a configuration without blocking', { acceptedOutputModes: ['text/plain'] }, /SUBMITTED$|WORKING$/],
    ['an empty configuration', {}, /SUBMITTED$|WORKING$/],
  ])(proves('R3-SEND-5', 'wait, or do not, by %s'), async (_what, configuration, state) => {
    await using server = await testServer(echoAgent)
    const sent = await send(new OlderClient(server), { message: protoMessage('sleep 50'), configuration })
    expect(sent.status.state).toMatch(state)
  })
})

describe('the bindings of 0.3', () => {
  /** Ids and times differ from server to server: number them in the order they appear. */
  function normalise(value: unknown): unknown {
    const seen = new Map<string, string>()
    return JSON.parse(
      JSON.stringify(value).replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z/g, (each) => {
        if (each.includes('T')) return 'time'
        if (!seen.has(each)) seen.set(each, `id-${seen.size}`)
        return seen.get(each) ?? ''
      }),
    )
  }

  /** Converts the protobuf’s JSON to the JSON of JSON-RPC. */
  function plain(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(plain)
    if (typeof value === 'string') {
      return value
        .replace(/^TASK_STATE_/, 'state ')
        .replace('CANCELLED', 'CANCELED')
        .replace(/^ROLE_/, '')
        .replaceAll('_', '-')
        .toLowerCase()
        .replace(/^state (?=.)/, '')
    }
    if (typeof value !== 'object' || value === null) return value
    const members = Object.entries(value).filter(([name]) => name !== 'kind')
    return Object.fromEntries(members.map(([name, each]) => [name === 'content' ? 'parts' : name, plain(each)]))
  }

  it(proves('R3-MTH-2', 'give the same answers and errors'), async () => {
    const overRpc = async () => {
      await using server = await testServer(echoAgent)
      const client = new OlderClient(server)
      const asked = await client.result<OldTask>('message/send', { message: { ...message03('ask'), messageId: 'm' } })
      const { id } = asked
      return [
        asked,
        await client.result('message/send', { message: message03({ messageId: 'n', taskId: id }) }),
        await client.result('tasks/get', { id, historyLength: 1 }),
        ...[
          await client.error('tasks/cancel', { id }),
          await client.error('message/send', { message: message03({ taskId: id }) }),
          await client.error('tasks/get', { id: 'nope' }),
          await client.error('tasks/pushNotificationConfig/get', { id }),
          await client.error('agent/getAuthenticatedExtendedCard'),
        ],
      ]
    }
    const overRest = async () => {
      await using server = await testServer(echoAgent)
      const client = new OlderClient(server)
      const asked = await send(client, { message: { ...protoMessage('ask'), messageId: 'm' } })
      const { id } = asked
      const refusal = async (verb: string, path: string, body?: unknown) => {
        const { code, message } = (await client.send(verb, path, body)).body
        return { code, message }
      }
      return [
        asked,
        await send(client, { message: protoMessage({ messageId: 'n', taskId: id }) }),
        await client.fetch('GET', `/v1/tasks/${id}?historyLength=1`),
        ...[
          await refusal('POST', `/v1/tasks/${id}:cancel`),
          await refusal('POST', '/v1/message:send', { message: protoMessage({ taskId: id }) }),
          await refusal('GET', '/v1/tasks/nope'),
          await refusal('GET', `/v1/tasks/${id}/pushNotificationConfigs/default`),
          await refusal('GET', '/v1/card'),
        ],
      ]
    }
    expect(plain(normalise(await overRest()))).toEqual(plain(normalise(await overRpc())))
  })
})
