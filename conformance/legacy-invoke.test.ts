import { A2AError, agent, apiKey, artifact, bearer, completed, MemoryStore, reply, working } from 'dragoman'

import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { type Answer, type Json, testServer } from './fixture.js'
import { OlderClient, readEvents, readOldError, rpc } from './older-fixture.js'
import { proves } from './proves.js'

const dialects = ['v1', 'invoke'] as const

/** The sentence of an error, after a check of its form. */
function refusal({ status, headers, body }: Answer): [status: number, sentence: string] {
  expect(body).toEqual({ error: expect.stringMatching(/\S/), status: 'error' })
  expect(headers.get('content-type')).toBe('application/json')
  return [status, String(body.error)]
}

/** Replies with the message it received. */
const inquisitive = agent('Inquisitive', async function* ({ message, metadata, caller, contextId }) {
  yield completed([
    { data: { parts: message.parts as never, metadata: metadata as never, caller: caller.id, contextId } },
  ])
})

describe('invoke', () => {
  it.each([[undefined], [null], [''], [{}], [[]]])(
    proves('RL-L1-1', 'refuses %j as input, on both paths and in both envelopes'),
    async (input) => {
      await using server = await testServer(echoAgent, { dialects })
      const client = new OlderClient(server)
      for (const path of ['/a2a/invoke', '/a2a/stream']) {
        const [status, sentence] = refusal(await client.send('POST', path, { input, chat_id: 'c' }))
        expect([status, sentence]).toEqual([400, expect.stringContaining('input')])
        const method = path.slice('/a2a/'.length)
        const error = readOldError(await client.send('POST', path, rpc(method, { input })))
        expect([error.code, error.data?.fieldViolations?.[0]?.field]).toEqual([-32602, 'input'])
      }
    },
  )

  it.each(['fail', 'reject', 'crash'])(
    proves(['RL-L1-1', 'RL-L1-5', 'RL-L1-6'], 'answers `error` and -32603 after %s'),
    async (word) => {
      await using server = await testServer(echoAgent, { dialects })
      const client = new OlderClient(server)
      const [status, sentence] = refusal(await client.send('POST', '/a2a/invoke', { input: word }))
      expect(status).toBe(200)
      expect(sentence).not.toContain('Crashed as asked')
      expect(readOldError(await client.send('POST', '/a2a/invoke', rpc('invoke', { input: word }))).code).toBe(-32603)
      const chunks = (await readEvents(await client.request('POST', '/a2a/stream', { input: word }))).map(
        ({ data }) => data,
      )
      expect(chunks).toEqual([{ error: sentence, status: 'error' }])
    },
  )

  it(proves('RL-L1-2', 'keeps the conversation and further members; a name is no identity'), async () => {
    const store = new MemoryStore()
    await using server = await testServer(inquisitive, { dialects, store })
    const client = new OlderClient(server)
    const body = { input: 'hi', chat_id: 'c1', user_id: 'root', locale: 'en', nested: { deep: [1] } }
    const { output } = await client.fetch('POST', '/a2a/invoke', body, { 'X-Agent-Name': 'caller-7' })
    expect(output).toEqual({
      parts: [{ text: 'hi' }],
      metadata: { user_id: 'root', locale: 'en', nested: { deep: [1] }, agentName: 'caller-7' },
      caller: 'anonymous',
      contextId: 'c1',
    })
    const { tasks } = await store.list({
      agent: 'Inquisitive',
      tenant: '',
      owner: 'anonymous',
      limit: 9,
      history: { messages: 0, characters: 0 },
      includeArtifacts: false,
    })
    expect(tasks.map(({ record }) => [record.contextId, record.owner])).toEqual([['c1', 'anonymous']])
  })

  it.each([
    ['text', 'a text', 'a text'],
    ['an object', { deep: { list: [1, null] } }, { deep: { list: [1, null] } }],
    ['a list', [1, 'two'], [1, 'two']],
    ['a number', 7, 7],
    ['a flag', false, false],
  ])(proves('RL-L1-3', 'takes and gives %s as it is'), async (_what, input, output) => {
    const mirror = agent('Mirror', async function* ({ message }) {
      yield artifact('same', message.parts)
    })
    await using server = await testServer(mirror, { dialects })
    const client = new OlderClient(server)
    expect(await client.fetch('POST', '/a2a/invoke', { input })).toEqual({ output, status: 'success' })
    const wrapped = await client.fetch('POST', '/a2a/invoke', rpc('invoke', { input }))
    expect(wrapped).toEqual({ jsonrpc: '2.0', id: 7, result: { output, status: 'success' } })
    const last = (await readEvents(await client.request('POST', '/a2a/stream', { input }))).at(-1)
    expect(last?.data).toEqual({ output, status: 'success' })
  })

  it.each([
    ['bare', { input: 'chunks 3' }],
    ['in an envelope', rpc('stream', { input: 'chunks 3' })],
  ])(proves(['RL-L1-4', 'RL-L1-6', 'RM-STR-4'], 'streams increments and then everything: %s'), async (_what, body) => {
    await using server = await testServer(echoAgent, { dialects })
    const response = await new OlderClient(server).request('POST', '/a2a/stream', body, { Accept: 'text/event-stream' })
    expect(response.headers.get('cache-control')).toContain('no-cache')
    const chunks = (await readEvents(response)).map(({ data }) => {
      if (!('jsonrpc' in body)) return data
      expect(data).toMatchObject({ jsonrpc: '2.0', id: 7 })
      return (data as Json).result
    })
    expect(chunks).toEqual([
      { output: 'chunk 1 ', status: 'processing' },
      { output: 'chunk 2 ', status: 'processing' },
      { output: 'chunk 3 ', status: 'processing' },
      { output: 'chunk 1 chunk 2 chunk 3 ', status: 'success' },
    ])
  })

  it.each([
    ['of the artifacts', [working('Thinking '), 'the answer'], 'the answer'],
    ['of the status messages where there are none', [working('First '), completed('last')], 'last'],
    ['of a message', [reply('direct')], 'direct'],
  ])(proves('RM-STR-4', 'ends with the text %s'), async (_what, yields, output) => {
    const scripted = agent('Scripted', async function* () {
      yield* yields
    })
    await using server = await testServer(scripted, { dialects })
    const client = new OlderClient(server)
    const last = (await readEvents(await client.request('POST', '/a2a/stream', { input: 'go' }))).at(-1)
    expect(last?.data).toMatchObject({ status: 'success', output: expect.stringContaining(output) })
    expect(await client.fetch('POST', '/a2a/invoke', { input: 'go' })).toMatchObject({
      status: 'success',
      output: expect.stringContaining(output),
    })
  })

  it.each(['ask', 'auth'])(
    proves('RL-L1-5', 'sends a question, and accepts the answer by task_id: %s'),
    async (word) => {
      await using server = await testServer(echoAgent, { dialects })
      const client = new OlderClient(server)
      const asked = await client.fetch('POST', '/a2a/invoke', { input: word, chat_id: 'c' })
      expect(asked).toEqual({
        output: expect.stringMatching(/\S/),
        status: 'input_required',
        task_id: expect.any(String),
        chat_id: 'c',
      })
      const answer = await client.fetch('POST', '/a2a/invoke', { input: 'second', task_id: asked.task_id })
      expect(answer).toEqual({ output: `${word}\nsecond`, status: 'success' })
    },
  )

  it(proves('RL-L1-5', 'ends a stream at a question'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const chunks = await readEvents(await new OlderClient(server).request('POST', '/a2a/stream', { input: 'ask' }))
    expect(chunks.map(({ data }) => data)).toEqual([
      {
        output: 'What is the second text?',
        status: 'input_required',
        task_id: expect.any(String),
        chat_id: expect.any(String),
      },
    ])
  })

  it.each(['/a2a/invoke', '/a2a/stream'])(
    proves('RL-L1-2', 'takes a message for the answer to the only question of its chat: %s'),
    async (path) => {
      await using server = await testServer(echoAgent, { dialects })
      const client = new OlderClient(server)
      await client.fetch('POST', '/a2a/invoke', { input: 'ask', chat_id: 'c' })
      const response = await client.request('POST', path, { input: 'second', chat_id: 'c' })
      const last = path.endsWith('invoke') ? await response.json() : (await readEvents(response)).at(-1)?.data
      expect(last).toEqual({ output: 'ask\nsecond', status: 'success' })
      // The question is closed: the next message is a new one.
      expect(await client.fetch('POST', '/a2a/invoke', { input: 'third', chat_id: 'c' })).toEqual({
        output: 'third',
        status: 'success',
      })
    },
  )

  it(proves('RL-L1-2', 'takes a message for a new one where two questions are open, or in another chat'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server)
    const first = await client.fetch('POST', '/a2a/invoke', { input: 'ask', chat_id: 'c' })
    expect(await client.fetch('POST', '/a2a/invoke', { input: 'else', chat_id: 'other' })).toMatchObject({
      output: 'else',
    })
    expect(await client.fetch('POST', '/a2a/invoke', { input: 'no chat' })).toMatchObject({ output: 'no chat' })
    // A second question in the same chat comes by another way: here it would answer the first.
    await server.over('JSON-RPC').send({ contextId: 'c', parts: [{ text: 'ask' }] })
    expect(await client.fetch('POST', '/a2a/invoke', { input: 'which?', chat_id: 'c' })).toEqual({
      output: 'which?',
      status: 'success',
    })
    expect(await client.fetch('POST', '/a2a/invoke', { input: 'this', task_id: first.task_id })).toMatchObject({
      output: 'ask\nthis',
    })
  })

  it(proves('RL-L1-2', 'rejects answers to questions of other callers'), async () => {
    await using server = await testServer(echoAgent, { dialects, auth: [apiKey({ a: 'alice', b: 'bob' })] })
    const client = new OlderClient(server)
    const asked = await client.fetch('POST', '/a2a/invoke', { input: 'ask', chat_id: 'c' }, { 'X-API-Key': 'a' })
    const bob = { 'X-API-Key': 'b' }
    expect(
      await client.fetch('POST', '/a2a/invoke', { input: 'x', chat_id: 'c', user_id: 'alice' }, bob),
    ).toMatchObject({
      output: 'x',
    })
    const foreign = await client.send('POST', '/a2a/invoke', { input: 'x', task_id: asked.task_id }, bob)
    expect(refusal(foreign)[0]).toBe(404)
  })

  it(proves('RL-L1-6', 'takes its two methods in JSON-RPC, each on its path, and no other'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server)
    expect(await client.fetch('POST', '/a2a/invoke', rpc('invoke', { input: 'hi' }, 'x1'))).toEqual({
      jsonrpc: '2.0',
      id: 'x1',
      result: { output: 'hi', status: 'success' },
    })
    for (const method of ['message/send', 'SendMessage', 'tasks/send']) {
      expect(readOldError(await client.send('POST', '/a2a/invoke', rpc(method, {}))).code).toBe(-32601)
    }
    for (const method of ['invoke', 'stream']) {
      const { body } = await client.send('POST', '/', rpc(method, { input: 'hi' }))
      expect(body).toMatchObject({ error: { code: -32601 } })
    }
    expect((await client.send('POST', '/a2a/invoke', { ...rpc('invoke', {}), jsonrpc: '1.0' })).body).toMatchObject({
      error: { code: -32600 },
    })
  })

  it.each(['/a2a/invoke', '/a2a/stream'])(
    proves('RL-L1-7', 'rejects unauthenticated callers with 401 in its own form: %s'),
    async (path) => {
      await using server = await testServer(echoAgent, { dialects, auth: [apiKey('k')] })
      const client = new OlderClient(server)
      for (const headers of [{}, { 'X-API-Key': 'wrong' }, { 'X-Agent-Name': 'k' }]) {
        const answer = await client.send('POST', path, { input: 'hi', user_id: 'k' }, headers)
        expect(refusal(answer)[0]).toBe(401)
        expect(answer.headers.get('www-authenticate')).toMatch(/^ApiKey/)
      }
    },
  )

  it(proves('RL-L1-7', 'takes a bearer token where the server knows one'), async () => {
    await using server = await testServer(inquisitive, { dialects, auth: [bearer({ 't-1': 'alice' })] })
    const client = new OlderClient(server)
    const ask = (authorization: string | undefined) =>
      client.send('POST', '/a2a/invoke', { input: 'hi', user_id: 'root' }, { Authorization: authorization })
    expect((await ask('Bearer t-1')).body).toMatchObject({ status: 'success', output: { caller: 'alice' } })
    for (const wrong of [undefined, 'Bearer t-2', 't-1']) {
      const answer = await ask(wrong)
      expect(refusal(answer)[0]).toBe(401)
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm=/)
    }
  })

  it.each([
    ['1.0', 200],
    ['', 200],
    [undefined, 200],
    ['2.0', 400],
    ['0.3', 400],
  ])(proves('RL-L1-8', 'takes version %j of itself with %i'), async (version, status) => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server)
    const answer = await client.send('POST', '/a2a/invoke', { input: 'hi' }, { 'X-A2A-Version': version })
    if (status === 200) expect(answer.body).toEqual({ output: 'hi', status: 'success' })
    else expect(refusal(answer)).toEqual([status, expect.stringContaining('X-A2A-Version')])
  })

  it('passes on errors of the agent in its own form', async () => {
    const full = agent('Full', async function* () {
      yield* []
      throw new A2AError('RATE_LIMITED', 'Too many', { retryAfterSeconds: 3 })
    })
    await using server = await testServer(full, { dialects })
    const answer = await new OlderClient(server).send('POST', '/a2a/invoke', { input: 'hi' })
    expect([...refusal(answer), answer.headers.get('retry-after')]).toEqual([429, 'Too many', '3'])
  })
})
