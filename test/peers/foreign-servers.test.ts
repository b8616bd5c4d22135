/** Dragoman's client against foreign servers: discovery, negotiation, then every scenario. */
import { A2AError, type AgentClient, type CardDocument, type ConnectOptions, collect, connect } from 'dragoman/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ownClient } from '../matrix/own-client.js'
import { scenarios } from '../matrix/scenarios.js'
import type { Piece, WireClient } from '../matrix/wire-client.js'
import { cuttingProxy } from './cutting-proxy.js'
import { type ForeignServer, serveV1, serveV02, serveV03 } from './foreign-servers.js'

const bindings = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const

interface Tested {
  readonly start: () => Promise<ForeignServer>
  readonly ways: readonly Pick<ConnectOptions, 'dialect' | 'binding'>[]
}

const servers: Readonly<Record<string, Tested>> = {
  '0.2.5': { start: serveV02, ways: [{ dialect: 'v0.3', binding: 'JSONRPC' }] },
  '0.3.14': { start: serveV03, ways: bindings.map((binding) => ({ dialect: 'v0.3', binding })) },
  '1.3.0': { start: serveV1, ways: bindings.map((binding) => ({ dialect: 'v1', binding })) },
  '1.3.0 with its layer for 0.3': {
    start: () => serveV1({ isOld: true }),
    ways: bindings.map((binding) => ({ dialect: 'v0.3', binding })),
  },
}

/** Known faults of the foreign servers. These scenarios must fail: delete the entry of one that passes. */
const exceptions: readonly (readonly [server: string, binding: string, scenario: string, because: string])[] = [
  // These 0.x releases reject messages to ended tasks as invalid requests; 0.3 defines an unsupported operation.
  ['0.2.5', 'JSONRPC', 'cannot continue a task that has ended', 'answers -32600'],
  ['0.3.14', 'JSONRPC', 'cannot continue a task that has ended', 'answers -32600'],
  ['0.3.14', 'HTTP+JSON', 'cannot continue a task that has ended', 'answers -32600'],
  ['0.3.14', 'GRPC', 'cannot continue a task that has ended', 'answers INVALID_ARGUMENT without details'],
  // FAILED_PRECONDITION encodes several errors, and the server sends no further details.
  ['0.3.14', 'GRPC', 'cancels', 'answers FAILED_PRECONDITION without details'],
  // Servers of 0.3 read the whole request from the body, as we send it. This layer reads only the config.
  ['1.3.0 with its layer for 0.3', 'HTTP+JSON', 'stores a webhook', 'reads the body as the config'],
]

/** The piece after the servers' own conversions. */
const carriers: Readonly<Record<string, (piece: Piece) => Piece | undefined>> = {
  // The protobuf of 0.3 has no file names, and drops the metadata that marks data that is not an object.
  '0.3.14 HTTP+JSON': withoutNames,
  '0.3.14 GRPC': (piece) => (hasNull(piece) ? undefined : withoutNames(piece)), // nulls become zeros
  '1.3.0 JSONRPC': (piece) => (isNull(piece) ? undefined : piece), // a null in JSON is nothing at all
  '1.3.0 HTTP+JSON': (piece) => (isNull(piece) ? undefined : piece),
  '1.3.0 with its layer for 0.3 HTTP+JSON': withoutNames,
  '1.3.0 with its layer for 0.3 GRPC': withoutNames,
}

function isPlain(data: unknown): boolean {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}

function withoutNames(piece: Piece): Piece | undefined {
  if ('bytes' in piece) return { ...piece, name: '' }
  return 'data' in piece && !isPlain(piece.data) ? undefined : piece
}

function isNull(piece: Piece): boolean {
  return 'data' in piece && piece.data === null
}

function hasNull(piece: Piece): boolean {
  return 'data' in piece && JSON.stringify(piece.data).includes('null')
}

describe.each(Object.entries(servers))('the official server %s', (name, { start, ways }) => {
  let server: ForeignServer
  beforeAll(async () => {
    // The SDK prints every error that it returns.
    for (const level of ['error', 'warn', 'log'] as const) vi.spyOn(console, level).mockImplementation(() => undefined)
    server = await start()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const speakerFor = (agent: AgentClient): WireClient => {
    const carries = carriers[`${name} ${agent.choice.binding}`]
    return { ...ownClient(agent), ...(carries && { carries }) }
  }

  it('is discovered and called without options', async () => {
    const warnings: string[] = []
    await using agent = await connect(server.url, { onWarning: ({ message }) => warnings.push(message) })
    expect((await agent.ask('hello')).text).toBe('hello')
    const dialect = name.startsWith('1') ? 'v1' : 'v0.3'
    expect(agent.choice).toMatchObject({ dialect, binding: 'JSONRPC' })
    expect(agent.choice.reasons.length).toBeGreaterThan(0)
    expect(warnings.filter((warning) => warning.startsWith('The card is not valid'))).toEqual([])
  })

  it('is called by many concurrent calls, in any order', async () => {
    await using agent = await connect(server.url)
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((say) => agent.ask(say)))
    expect(answers.map(({ text }) => text)).toEqual(['a', 'b', 'c', 'd'])
  })

  describe.each(ways)('with %j', (options) => {
    const open = () => connect(server.url, { ...options, pin: true })

    for (const [scenario, play] of scenarios) {
      const exception = exceptions.find(
        ([where, binding, what]) => where === name && binding === options.binding && what === scenario,
      )
      const run = exception ? it.fails : it
      run(exception ? `${scenario}: ${exception[3]}` : scenario, async () => {
        await using agent = await open()
        expect(agent.choice).toMatchObject(options)
        await play(speakerFor(agent))
      })
    }

    if (options.dialect === 'v0.3' && options.binding !== 'JSONRPC') {
      it('gets raw file content on request, as the JavaScript SDK reads it (R3-PB-12)', async () => {
        await using agent = await connect(server.url, { ...options, pin: true, fileBytes: 'raw' })
        const { text } = await agent.ask([{ text: 'dump' }, { raw: 'AAH//g==' }])
        expect(text).toMatch(/"bytes":"AAH\/\/g=="|"value":\{"0":0,"1":1,"2":255,"3":254\}/)
      })
    }

    it('keeps a conversation through a question', async () => {
      await using agent = await open()
      const talk = agent.conversation()
      const asked = await talk.ask('ask')
      expect(asked).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', text: 'What is the second text?' })
      expect(talk.taskId).toBe(asked.task?.id)
      expect((await talk.ask('second')).text).toBe('ask\nsecond')
      expect([talk.taskId, talk.contextId]).toEqual([undefined, asked.task?.contextId])
    })

    it('lets clients subscribe to a running task and wait for it', async () => {
      await using agent = await open()
      const running = agent.stream('chunks 5 30')[Symbol.asyncIterator]()
      const first = (await running.next()).value as { task: { id: string } } // every stream begins with a task
      const task = agent.task(first.task.id)
      const [seen, waited] = await Promise.all([collect(task.watch()), task.wait()])
      expect(seen).toMatchObject({ state: 'TASK_STATE_COMPLETED', text: 'chunk 1 chunk 2 chunk 3 chunk 4 chunk 5 ' })
      expect(waited.status.state).toBe('TASK_STATE_COMPLETED')
      expect((await task.get()).status.state).toBe('TASK_STATE_COMPLETED')
      await running.return?.()
    })

    it('is polled if it responds before the task has ended', async () => {
      await using agent = await open()
      const answer = await agent.ask('sleep 100', { configuration: { returnImmediately: true } })
      expect(answer).toMatchObject({ state: 'TASK_STATE_COMPLETED', text: 'slept 100' })
    })

    it('reports a rejection', async () => {
      await using agent = await open()
      await expect(agent.task('no-such-task').get()).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
      await expect(agent.ask('x', { taskId: 'no-such-task' })).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
      await expect(collect(agent.task('no-such-task').watch())).rejects.toBeInstanceOf(A2AError)
    })

    it('is read to the end although the connection breaks', async () => {
      await using agent = await open()
      const target = new URL(options.binding === 'GRPC' ? `http://${agent.choice.url}` : agent.choice.url)
      const cut = { seed: 7, minBytes: 1200, maxBytes: 4000, maxCuts: 2 }
      await using proxy = await cuttingProxy(Number(target.port), cut)
      const card = await cardOf(server, { [target.host]: `127.0.0.1:${proxy.port}` })
      await using resuming = await connect(card, { ...options, pin: true, retry: { firstDelayMs: 5 } })
      const { text, state } = await collect(resuming.stream('chunks 60 5'))
      const chunks = Array.from({ length: 60 }, (_, place) => `chunk ${place + 1} `)
      expect([proxy.cuts, state, text]).toEqual([2, 'TASK_STATE_COMPLETED', chunks.join('')])
    })
  })
})

async function cardOf({ url }: ForeignServer, hosts: Readonly<Record<string, string>>): Promise<CardDocument> {
  const places = ['.well-known/agent-card.json', '.well-known/agent.json']
  for (const place of places) {
    const answer = await fetch(url + place, { headers: { 'a2a-version': '1.0' } })
    if (!answer.ok) continue
    let text = await answer.text()
    for (const [from, to] of Object.entries(hosts)) text = text.replaceAll(from, to)
    return JSON.parse(text) as CardDocument
  }
  throw new Error('There is no card')
}
