import { agent, artifact, connect, serve, textOf } from 'dragoman'
import { type CardDocument, createPushReceiver, type PushDelivery } from 'dragoman/client'
import { type Dialect, findDialect, type JsonRpcForm, type RestForm, type RestRoute } from 'dragoman/dialects'
import { createHandler, type DialectChoice } from 'dragoman/server'
import { dialectContract } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { toy, toyClient } from './fixtures/toy-dialect/index.js'

const shout = agent('Shout', async function* ({ message }) {
  yield artifact('words', textOf(message.parts).toUpperCase())
})

dialectContract({ describe, it }, { server: toy, client: toyClient })

describe('a dialect of the user', () => {
  it('is served beside those of the package, and listed in the card', async () => {
    await using served = await serve(shout, { port: 0, dialects: ['v1', toy] })
    const response = await fetch(served.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(toy.example.body),
    })
    expect(await response.json()).toMatchObject({ result: { is: 'done', words: 'HI' } })
    await using newest = await connect(served.url)
    expect(newest.choice.dialect).toBe('v1')
    expect(newest.card.supportedInterfaces).toContainEqual({
      url: served.url,
      protocolBinding: 'JSONRPC',
      protocolVersion: '7.0',
    })
    const card = await fetch(`${served.url}.well-known/agent-card.json`, { headers: { 'a2a-version': '7.0' } })
    expect(await card.json()).toEqual({ toyAgent: 'Shout', at: served.url })
  })

  it('is used by clients: calls, streams, tasks and errors', async () => {
    await using served = await serve(shout, { port: 0, dialects: ['v1', toy] })
    await using client = await connect(served.url, { dialects: [toyClient], dialect: 'toy' })
    expect(client.choice).toMatchObject({ dialect: 'toy', binding: 'JSONRPC' })
    const { text, task } = await client.ask('hello')
    expect(text).toBe('HELLO')
    expect(await client.getTask({ id: task?.id ?? '' })).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
    const texts: string[] = []
    for await (const update of client.stream('hello'))
      if ('artifactUpdate' in update) texts.push(textOf(update.artifactUpdate.artifact.parts))
    expect(texts).toEqual(['HELLO'])
    await expect(client.getTask({ id: 'none' })).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    await expect(client.cancelTask({ id: 'none' })).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
  })

  it('is the only one at a path that it is pinned to, where its own card is', async () => {
    await using served = await serve(shout, { port: 0, dialects: ['v1', { dialect: toy, path: '/toy' }] })
    const card = await (await fetch(`${served.url}toy/.well-known/agent-card.json`)).json()
    expect(card).toEqual({ toyAgent: 'Shout', at: `${served.url}toy` })
    await using client = await connect(card as CardDocument, { dialects: [toyClient] })
    expect((await client.ask('hello')).text).toBe('HELLO')
  })

  it('reads its own webhook bodies', async () => {
    const deliveries: PushDelivery[] = []
    const receive = createPushReceiver({ dialects: [toyClient], onDelivery: (each) => void deliveries.push(each) })
    const body = JSON.stringify({ job: 't1', talk: 'c1', is: 'done', words: '' })
    const request = new Request('https://hooks.example', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    expect((await receive(request)).status).toBe(200)
    expect(deliveries).toMatchObject([{ dialect: 'toy', taskId: 't1' }])
  })

  it('gets 500 in the newest dialect and a log entry if it cannot encode an error', async () => {
    const log: unknown[] = []
    const encodeError = () => {
      throw new Error('secret')
    }
    const broken = { ...toy, jsonrpc: { ...toy.jsonrpc, encodeError } } as Dialect
    const handler = await createHandler(shout, { dialects: ['v1', broken], log: (entry) => void log.push(entry) })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'toy.look', params: { job: 'none' } })
    const headers = { 'content-type': 'application/json' }
    const response = await handler.fetch(new Request('http://localhost/', { method: 'POST', headers, body }))
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ id: 5, error: { code: -32603, message: 'Internal error' } })
    expect(log).toContainEqual(expect.objectContaining({ level: 'error', error: new Error('secret') }))
    await handler.close()
  })

  it('must encode results as text, and events without line breaks', async () => {
    const { jsonrpc } = toy
    const post = async (method: string, form: object) => {
      const dialect = { ...toy, jsonrpc: { ...jsonrpc, ...form } } as Dialect
      const handler = await createHandler(shout, { dialects: ['v1', dialect], log: false })
      const body = JSON.stringify({ jsonrpc: '2.0', id: 5, method, params: { words: 'hi' } })
      const headers = { 'content-type': 'application/json' }
      const response = await handler.fetch(new Request('http://localhost/', { method: 'POST', headers, body }))
      const text = await response.text()
      await handler.close()
      return text
    }
    const sendMessage = { ...jsonrpc?.operations.sendMessage, encode: () => undefined }
    const result = await post('toy.say', { operations: { ...jsonrpc?.operations, sendMessage } })
    expect(JSON.parse(result)).toMatchObject({ id: 5, error: { message: 'Internal error' } })
    const stream = (frame: object) => post('toy.chat', { createStreamEncoder: () => ({ encode: () => [frame] }) })
    expect(await stream({ data: 'one\ntwo\r\nthree', isBare: true })).toContain('data: one\ndata: two\ndata: three\n\n')
    const injected = await stream({ data: '{}', event: 'a\ndata: injected' })
    expect(injected).not.toContain('injected')
    expect(injected).toContain('Internal error')
  })

  it('must have a name that no other dialect has', async () => {
    const named = { ...toy, name: 'v1' }
    await expect(createHandler(shout, { dialects: [named] })).rejects.toThrow('A dialect is called v1 already')
    await expect(connect('http://localhost:1', { dialects: [{ ...toyClient, name: 'v1' }] })).rejects.toThrow(
      'A dialect is called v1 already',
    )
    await expect(connect('http://localhost:1', { dialects: [toyClient], dialect: 'v2' })).rejects.toThrow(
      "Write 'toy', 'v1'",
    )
  })

  it('must not share its name with another dialect of the user', async () => {
    const problem = 'Two dialects are called toy: give one of them another name'
    const second = { ...toy, versions: ['8.0'] }
    await expect(createHandler(shout, { dialects: [toy, { dialect: second, path: '/x' }] })).rejects.toThrow(problem)
    const clients = [toyClient, { ...toyClient, versions: ['8.0'] }]
    await expect(connect('http://localhost:1', { dialects: clients })).rejects.toThrow(problem)
  })

  it('cannot take over versions or methods of another dialect, unless it is pinned', async () => {
    const sameVersion = { ...toy, versions: ['7.0', '1.0'] }
    await expect(createHandler(shout, { dialects: ['v1', sameVersion] })).rejects.toThrow(
      "toy and v1 have the same version 1.0: pin toy to a path: { dialect: …, path: '/toy' }",
    )
    const methods = new Map([...(toy.jsonrpc?.methods ?? []), ['message/send', 'sendMessage'] as const])
    const sameMethod = { ...toy, jsonrpc: toy.jsonrpc && { ...toy.jsonrpc, methods } } as typeof toy
    await expect(createHandler(shout, { dialects: ['v0.3', sameMethod] })).rejects.toThrow(
      'toy and v0.3 have the same method message/send',
    )
    const handler = await createHandler(shout, { dialects: ['v0.3', { dialect: sameMethod, path: '/toy' }] })
    await handler.close()
  })

  const { jsonrpc, ...formless } = toy
  const withRoutes = (name: string, routes: readonly (readonly [RestRoute['method'], string])[]): Dialect => ({
    ...formless,
    name,
    versions: [],
    rest: {
      ...(findDialect('v1')?.rest as RestForm),
      routes: routes.map(([method, path]) => ({ method, path, operation: 'getTask' })),
    },
  })
  const withPaths = (name: string, paths: readonly string[]): Dialect => ({
    ...formless,
    name,
    versions: [],
    jsonrpc: { ...(jsonrpc as JsonRpcForm), paths },
  })

  it.each<[string, DialectChoice, string]>([
    [
      'a route of the package',
      ['v1', withRoutes('own', [['POST', '/message:send']])],
      'own and v1 have the same path POST /message:send',
    ],
    [
      'a parameter of the package',
      ['v1', withRoutes('own', [['GET', '/tasks/mine']])],
      'own and v1 have the same path GET /tasks/mine',
    ],
    [
      'an own parameter',
      ['task-rest', withRoutes('own', [['POST', '/{some}/send']])],
      'own and task-rest have the same path POST /tasks/send',
    ],
    [
      'a route of another own one',
      [withRoutes('one', [['GET', '/a/{x}']]), withRoutes('two', [['GET', '/a/{y}']])],
      'one and two have the same path GET /a/x',
    ],
    [
      'a path of the package',
      ['invoke', withPaths('own', ['/a2a/invoke'])],
      'own and invoke have the same path POST /a2a/invoke',
    ],
    [
      'a path and a route of own ones',
      [withPaths('one', ['/a/']), withRoutes('two', [['POST', '/a']])],
      'one and two have the same path POST /a',
    ],
    [
      'the paths of own ones',
      [withPaths('one', ['/a']), withPaths('two', ['/a/'])],
      'one and two have the same method toy.say',
    ],
    [
      'a pinned path',
      [{ dialect: 'v1', path: '/a' }, withRoutes('own', [['GET', '/a/{x}']])],
      'own has the path GET /a/x, and v1 is pinned to /a: give v1 another path',
    ],
    [
      'the path of a pinned own one',
      [{ dialect: toy, path: '/a' }, withPaths('own', ['/a'])],
      'own has the path POST /a, and toy is pinned to /a',
    ],
  ])('cannot claim %s', async (_, dialects, problem) => {
    await expect(createHandler(shout, { dialects })).rejects.toThrow(problem)
  })

  it('can claim paths that no other dialect has', async () => {
    const own = withRoutes('own', [
      ['GET', '/message:send'],
      ['POST', '/b/{x}/y'],
    ])
    const dialects = ['v1', own, withPaths('two', ['/b']), { dialect: withPaths('three', ['/b']), path: '/bb' }]
    const handler = await createHandler(shout, { dialects })
    await handler.close()
  })

  it.each(['', '/.well-known', '/healthz', 'toy'])('cannot have the default path %j', async (defaultPath) => {
    await expect(createHandler(shout, { dialects: ['v1', { ...toy, defaultPath }] })).rejects.toThrow(
      'A dialect cannot be pinned to',
    )
  })

  it.each([
    [{ name: '' }, 'A dialect must be an object with a `name`'],
    [{ versions: undefined }, 'Invalid dialect toy: `versions` must be a list of strings'],
    [{ jsonrpc: {} }, 'Invalid dialect toy: `jsonrpc.operations` must be an object'],
    [{ jsonrpc: { ...toy.jsonrpc, methods: { 'toy.say': 'sendMessage' } } }, '`jsonrpc.methods` must be a Map'],
    [{ defaultPath: 5 }, 'Invalid dialect toy: `defaultPath` must be a string'],
  ])('is refused on the server with %j', async (wrong, problem) => {
    const dialects = ['v1', { ...toy, ...wrong } as typeof toy]
    await expect(createHandler(shout, { dialects })).rejects.toThrow(problem)
  })

  it('is refused on the server if it is no object, or its path is no string', async () => {
    await expect(createHandler(shout, { dialects: [null as never] })).rejects.toThrow('A dialect must be an object')
    const pinned = { dialect: toy, path: 5 as never }
    await expect(createHandler(shout, { dialects: [pinned] })).rejects.toThrow('must be a string')
  })

  it.each([
    [{ name: '' }, 'A dialect must be an object with a `name`'],
    [{ versions: '7.0' }, 'Invalid dialect toy: `versions` must be a list of strings'],
    [{ jsonrpc: { ...toyClient.jsonrpc, methods: new Map() } }, '`jsonrpc.methods` must be an object'],
  ])('is refused in the client with %j', async (wrong, problem) => {
    const dialects = [{ ...toyClient, ...wrong } as typeof toyClient]
    await expect(connect('http://localhost:1', { dialects })).rejects.toThrow(problem)
  })
})
