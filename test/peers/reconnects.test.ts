/** Streams that resume and calls that are retried, on a real server behind a proxy that cuts connections. */
import { agent, type Served, serve } from 'dragoman'
import { type CardDocument, type ConnectOptions, collect, connect, type Update } from 'dragoman/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { matrixAgent } from '../matrix/scenarios.js'
import { type CutOptions, cuttingProxy } from './cutting-proxy.js'

/** Number of runs of the handler of `once`, by text. */
const runs = new Map<string, number>()
const tested = agent(matrixAgent.card, async function* (turn) {
  const isCounted = turn.text.startsWith('once')
  if (isCounted) runs.set(turn.text, (runs.get(turn.text) ?? 0) + 1)
  yield* matrixAgent.handler(turn as never) // it has no skills with schemas
})

let served: Served
beforeAll(async () => {
  served = await serve(tested, { dialects: 'all' })
})
afterAll(() => served.close({ deadlineMs: 0 }))

const count = 200
const expected = Array.from({ length: count }, (_, place) => `chunk ${place + 1} `)
const hasty: ConnectOptions = { retry: { attempts: 12, firstDelayMs: 1, maxDelayMs: 20 }, breaker: { failures: 0 } }
const newest = '/.well-known/agent-card.json'
const oldest = '/.well-known/agent.json'

type Way = readonly [name: string, options: ConnectOptions, cardPath: string]

const ways: readonly Way[] = [
  ['v1 over JSON-RPC', { dialect: 'v1', binding: 'JSONRPC' }, newest],
  ['v1 over HTTP+JSON', { dialect: 'v1', binding: 'HTTP+JSON' }, newest],
  ['v1 over gRPC', { dialect: 'v1', binding: 'GRPC' }, newest],
  ['v0.3 over JSON-RPC', { dialect: 'v0.3', binding: 'JSONRPC' }, newest],
  ['v0.3 over HTTP+JSON', { dialect: 'v0.3', binding: 'HTTP+JSON' }, newest],
  ['v0.3 over gRPC', { dialect: 'v0.3', binding: 'GRPC' }, newest],
]
const oldWays: readonly Way[] = [
  ['v0.1', { dialect: 'v0.1' }, oldest],
  ['v0.1-go', { dialect: 'v0.1-go' }, `/go${oldest}`],
]

describe.each(ways)('a stream of %s that is cut repeatedly', (_name, options, cardPath) => {
  it.each([
    ['while the agent works', 1, `chunks ${count} 2`],
    ['after its end', 3, `chunks ${count}`],
  ])('has every event once, in order, without a reset: %s (%i)', async (_when, seed, say) => {
    // The byte count includes response headers, so a connection carries a few events or none.
    const cut = { seed, minBytes: 100, maxBytes: options.binding === 'GRPC' ? 1500 : 2500 }
    await using wire = await wireTo(options, cardPath, cut)
    const updates = await wire.stream(say, `${seed} ${say}`)
    expect(wire.cuts).toBeGreaterThanOrEqual(30)
    expect(updates.filter((update) => 'reset' in update)).toEqual([])
    expect(updates.filter((update) => 'task' in update)).toHaveLength(1)
    expect(chunksIn(updates)).toEqual(expected)
    expect(statesIn(updates)).toEqual(['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'])
  })
})

describe.each(oldWays)('a stream of %s that is cut repeatedly', (_name, options, cardPath) => {
  it.each([1, 13, 19, 23])('is sent again and ends complete (%i)', async (seed) => {
    await using wire = await wireTo(options, cardPath, { seed, minBytes: 150, maxBytes: 20_000 })
    const updates = await wire.stream(`chunks ${count} 2`, `${seed}`)
    expect(wire.cuts).toBeGreaterThanOrEqual(1)
    const { text, state } = await collect(inOrder(updates))
    expect([state, text]).toEqual(['TASK_STATE_COMPLETED', expected.join('')])
  })
})

describe.each([...ways, ...oldWays])('a send of %s whose answer was lost', (name, options, cardPath) => {
  it.each(['ask', 'stream'] as const)('is retried with its key and runs once: %s', async (verb) => {
    const cut: CutOptions = { seed: 5, minBytes: 20, maxBytes: 60, maxCuts: 3 }
    await using wire = await wireTo(options, cardPath, cut)
    const say = `once ${name} ${verb}`
    const { text } =
      verb === 'ask'
        ? await wire.agent.ask(say, { idempotencyKey: say })
        : await collect(inOrder(await wire.stream(say, say)))
    expect([text, wire.cuts, runs.get(say)]).toEqual([say, 3, 1])
  })

  it('fails without a key, and is not retried', async () => {
    await using wire = await wireTo(options, cardPath, { seed: 5, minBytes: 20, maxBytes: 60, maxCuts: 1 })
    const say = `once ${name} without a key`
    await expect(wire.agent.ask(say)).rejects.toMatchObject({ name: 'TransportError' })
    expect(runs.get(say) ?? 0).toBeLessThanOrEqual(1)
  })
})

async function wireTo(options: ConnectOptions, cardPath: string, cut: CutOptions) {
  const { host, port } = new URL(served.url)
  const proxy = await cuttingProxy(Number(port), cut)
  const card = await (await fetch(new URL(cardPath, served.url))).text()
  // The server's card, with every address behind the proxy.
  const agent = await connect(JSON.parse(card.replaceAll(host, `127.0.0.1:${proxy.port}`)) as CardDocument, {
    ...hasty,
    ...options,
  })
  return {
    agent,
    get cuts() {
      return proxy.cuts
    },
    async stream(say: string, key: string): Promise<Update[]> {
      const updates: Update[] = []
      const idempotencyKey = `${JSON.stringify(options)} ${key}`
      for await (const update of agent.stream(say, { idempotencyKey })) updates.push(update)
      return updates
    },
    async [Symbol.asyncDispose]() {
      await agent.close()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

async function* inOrder(updates: readonly Update[]): AsyncGenerator<Update> {
  yield* updates
}

function chunksIn(updates: readonly Update[]): readonly string[] {
  return updates.flatMap((update) =>
    'artifactUpdate' in update
      ? update.artifactUpdate.artifact.parts.map((part) => ('text' in part ? part.text : ''))
      : [],
  )
}

function statesIn(updates: readonly Update[]): readonly string[] {
  return updates.flatMap((update) => ('statusUpdate' in update ? [update.statusUpdate.status.state] : []))
}
