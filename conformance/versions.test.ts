import { agent, artifact, type Task } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, readRefusal, testServer, textIn, userMessage } from './fixture.js'
import { proves } from './proves.js'

const emptyList = { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 }

describe.each(bindings)('versions over %s', (binding) => {
  it.each(['a2a-version', 'A2A-VERSION', 'A2A-Version'])(
    proves('R-SVC-1', 'are read from the header however its name is written: %s'),
    async (name) => {
      await using server = await testServer(echoAgent)
      const client = server.over(binding)
      expect(await client.call('ListTasks', {}, { 'A2A-Version': undefined, [name]: '1.0' })).toEqual(emptyList)
      expect((await client.refusal('ListTasks', {}, { 'A2A-Version': undefined, [name]: '99.0' })).reason).toBe(
        'VERSION_NOT_SUPPORTED',
      )
    },
  )

  it.each(['99.0', '2.0', '1.1', '0.3', '0.1', '1', 'one', '1.0-beta'])(
    proves('R-VER-4', 'that are not offered are refused: %s'),
    async (version) => {
      await using server = await testServer(echoAgent, { dialects: ['v1'] })
      const client = server.over(binding)
      for (const operation of ['ListTasks', 'SubscribeToTask'] as const) {
        expect((await client.refusal(operation, { id: 'any' }, { 'A2A-Version': version })).reason).toBe(
          'VERSION_NOT_SUPPORTED',
        )
      }
    },
  )

  it.each(['1.0', '1.0.0', '1.0.1', '1.0.99', ' 1.0 '])(
    proves('R-VER-5', 'match with any patch number: %j'),
    async (version) => {
      await using server = await testServer(echoAgent)
      expect(await server.over(binding).call('ListTasks', {}, { 'A2A-Version': version })).toEqual(emptyList)
    },
  )

  it.each([undefined, '', ' '])(proves('R-VER-3', 'that are absent or empty mean 0.3: %j'), async (version) => {
    await using server = await testServer(echoAgent, { dialects: ['v1'], advanced: { assumeV1: false } })
    const refusal = await server.over(binding).refusal('ListTasks', {}, { 'A2A-Version': version })
    expect(refusal).toMatchObject({ reason: 'VERSION_NOT_SUPPORTED', metadata: { requestedVersion: '0.3' } })
  })

  it.each([undefined, ''])(
    proves('R-VER-3', 'that are absent or empty are accepted where 0.3 is not served: %j'),
    async (version) => {
      await using server = await testServer(echoAgent, { dialects: ['v1'] })
      expect(await server.over(binding).call('ListTasks', {}, { 'A2A-Version': version })).toEqual(emptyList)
    },
  )

  it(proves('R-VER-8', 'that are offered are named when another one was asked for'), async () => {
    await using server = await testServer(echoAgent, { dialects: ['v1', 'v0.3'] })
    const { metadata } = await server.over(binding).refusal('ListTasks', {}, { 'A2A-Version': '99.0' })
    expect(metadata).toEqual({ requestedVersion: '99.0', supportedVersions: '1.0, 0.3, 0.2' })
  })
})

describe('versions in the query', () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'ListTasks' }

  it.each([
    ['POST', '/', list],
    ['GET', '/tasks', undefined],
  ])(proves('R-VER-2', 'count at %s %s'), async (method, path, body) => {
    await using server = await testServer(echoAgent, { advanced: { assumeV1: false } })
    const ask = (query: string, version?: string) =>
      server.rest(method, `${path}?${query}`, body, { 'A2A-Version': version })
    expect((await ask('A2A-Version=1.0')).status).toBe(200)
    expect((await ask('A2A-Version=1.0')).body).not.toHaveProperty('error')
    expect(readRefusal(await ask('A2A-Version=99.0')).metadata).toMatchObject({ requestedVersion: '99.0' })
    expect((await ask('A2A-Version=99.0', '1.0')).body).not.toHaveProperty('error')
    expect(readRefusal(await ask('A2A-Version=1.0', '99.0')).metadata).toMatchObject({ requestedVersion: '99.0' })
  })

  it(proves('R-VER-4', 'are looked at before the method'), async () => {
    await using server = await testServer(echoAgent)
    const answer = await server.rpc('NoSuchMethod', {}, { 'A2A-Version': '99.0' })
    expect(readRefusal(answer).reason).toBe('VERSION_NOT_SUPPORTED')
  })
})

/** Says which extensions it was asked to use, and passes on what came with the message. */
const extensible = agent(
  {
    name: 'Extensible',
    extensions: [
      { uri: 'urn:test:a', description: 'A', params: { level: 1 } },
      { uri: 'urn:test:b:v1', required: false },
    ],
  },
  async function* ({ extensions, message }) {
    yield JSON.stringify({ extensions, named: message.extensions ?? [], metadata: message.metadata ?? {} })
  },
)

const demanding = agent(
  { name: 'Demanding', extensions: [{ uri: 'urn:test:b:v1', required: true }] },
  async function* ({ text }) {
    yield text
  },
)

describe.each(bindings)('extensions over %s', (binding) => {
  const seenBy = (task: Task) =>
    JSON.parse(task.artifacts?.map(textIn).join() ?? '') as { extensions: string[]; named: string[]; metadata: object }

  it(proves('R-EXT-1', 'are listed in the card and off unless asked for'), async () => {
    await using server = await testServer(extensible)
    const card = (await server.rest('GET', '/.well-known/agent-card.json')).body
    expect(card).toHaveProperty('capabilities.extensions', [
      { uri: 'urn:test:a', description: 'A', params: { level: 1 } },
      { uri: 'urn:test:b:v1', required: false },
    ])
    const client = server.over(binding)
    expect(seenBy(await client.send('hi')).extensions).toEqual([])
    expect((await client.answer('ListTasks')).headers.has('a2a-extensions')).toBe(false)
  })

  it(proves('R-EXT-2', 'that are known are used and echoed, unknown ones ignored'), async () => {
    await using server = await testServer(extensible)
    const client = server.over(binding)
    const headers = { 'A2A-Extensions': 'urn:test:a,urn:test:unknown' }
    expect(seenBy(await client.send('hi', {}, headers)).extensions).toContain('urn:test:a')
    const { status, headers: answered } = await client.answer('ListTasks', {}, headers)
    expect([status, answered.get('a2a-extensions')]).toEqual([200, 'urn:test:a'])
    const stream = await client.stream('SendStreamingMessage', { message: userMessage('hi') }, headers)
    expect(stream.response.headers.get('a2a-extensions')).toBe('urn:test:a')
    await stream.rest()
  })

  it(proves('R-SVC-2', 'travel in one header, with or without blanks, or in several'), async () => {
    await using server = await testServer(extensible)
    const client = server.over(binding)
    for (const list of ['urn:test:a,urn:test:b:v1', ' urn:test:a , urn:test:b:v1 ', 'urn:test:a,,urn:test:b:v1,']) {
      const { headers } = await client.answer('ListTasks', {}, { 'A2A-Extensions': list })
      expect(headers.get('a2a-extensions'), list).toBe('urn:test:a, urn:test:b:v1')
    }
    const [method, path, body] =
      binding === 'JSON-RPC' ? ['POST', '/', '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'] : ['GET', '/tasks', null]
    const repeated = new Headers({ 'A2A-Version': '1.0', 'Content-Type': 'application/json' })
    repeated.append('A2A-Extensions', 'urn:test:a')
    repeated.append('A2A-Extensions', 'urn:test:b:v1')
    const response = await server.fetch(path, { method, body, headers: repeated })
    expect(response.headers.get('a2a-extensions')).toBe('urn:test:a, urn:test:b:v1')
  })

  it.each(['ListTasks', 'GetTask', 'SendMessage', 'SendStreamingMessage', 'SubscribeToTask', 'CancelTask'] as const)(
    proves('R-EXT-3', 'that are required must be named, also for %s'),
    async (operation) => {
      await using server = await testServer(demanding)
      const refusal = await server.over(binding).refusal(operation, { id: 'any', message: userMessage('hi') })
      expect(refusal).toMatchObject({ reason: 'EXTENSION_SUPPORT_REQUIRED', metadata: { extension: 'urn:test:b:v1' } })
    },
  )

  it(proves('R-EXT-3', 'that are required and named let the call through'), async () => {
    await using server = await testServer(demanding)
    const task = await server.over(binding).send('hi', {}, { 'A2A-Extensions': 'urn:test:b:v1' })
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  it.each(['urn:test:b:v2', 'urn:test:b', 'URN:TEST:B:V1'])(
    proves(['R-EXT-4', 'R-SVC-1'], 'are not taken for one another: %s is not urn:test:b:v1'),
    async (uri) => {
      await using server = await testServer(demanding)
      const refusal = await server.over(binding).refusal('ListTasks', {}, { 'A2A-Extensions': uri })
      expect(refusal.reason).toBe('EXTENSION_SUPPORT_REQUIRED')
      await using tolerant = await testServer(extensible)
      const { headers } = await tolerant.over(binding).answer('ListTasks', {}, { 'A2A-Extensions': uri })
      expect(headers.has('a2a-extensions')).toBe(false)
    },
  )

  it(
    proves('R-EXT-5', 'keep their data in metadata and their names in messages and artifacts, untouched'),
    async () => {
      const passing = agent('Passing', async function* ({ message }) {
        yield artifact('same', message.parts, {
          metadata: message.metadata ?? {},
          extensions: message.extensions ?? [],
        })
      })
      await using server = await testServer(passing)
      const carried = { metadata: { 'urn:test:a/level': { value: 3 } }, extensions: ['urn:test:a'] }
      const task = await server.over(binding).send({ ...carried, parts: [{ text: 'hi' }] })
      expect(task.history?.[0]).toMatchObject(carried)
      expect(task.artifacts).toEqual([
        { artifactId: expect.any(String), name: 'same', parts: [{ text: 'hi' }], ...carried },
      ])
    },
  )
})
