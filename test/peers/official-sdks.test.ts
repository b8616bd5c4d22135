/** Foreign clients against a real port: discovery, then every scenario. */
import {
  type AuthenticationHandler,
  createAuthenticatingFetchWithRetry as authenticatingV1,
  ClientFactory as FactoryV1,
  JsonRpcTransportFactory as JsonRpcV1,
  DefaultAgentCardResolver as ResolverV1,
} from 'a2a-sdk-v1/client'
import {
  createAuthenticatingFetchWithRetry as authenticatingV03,
  ClientFactory as FactoryV03,
  JsonRpcTransportFactory as JsonRpcV03,
  DefaultAgentCardResolver as ResolverV03,
} from 'a2a-sdk-v03/client'
import { apiKey, type Served, serve } from 'dragoman'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { all, lastState, matrixAgent, scenarios } from '../matrix/scenarios.js'
import { resultOf, type WireClient } from '../matrix/wire-client.js'
import { sdk1, sdk02, sdk03, transports } from './official-clients.js'

let served: Served
beforeAll(async () => {
  served = await serve(matrixAgent)
})
afterAll(() => served.close({ deadlineMs: 0 }))

const peers: readonly (readonly [name: string, connect: () => Promise<WireClient>])[] = [
  ['0.2.5', async () => sdk02(served.url)],
  ...transports.map((transport) => [`0.3.14 over ${transport}`, () => sdk03(served.url, transport)] as const),
  ...transports.map((transport) => [`1.3.0 over ${transport}`, () => sdk1(served.url, transport)] as const),
]

describe.each(peers)('the official SDK %s', (_name, connect) => {
  it.each(scenarios)('%s', async (_scenario, play) => await play(await connect()))

  it('receives the reason for a rejected stream', async () => {
    using _quiet = vi.spyOn(console, 'error').mockImplementation(() => undefined) // 0.2.5 prints errors of streams
    const wireClient = await connect()
    // Releases before 1.0 have no classes for errors of streams.
    const refusal = wireClient.dialect === 'v1' ? { name: 'TaskNotFoundError' } : {}
    const message = expect.stringContaining('Task not found: nope')
    for (const open of [() => wireClient.stream('more', { taskId: 'nope' }), () => wireClient.subscribe('nope')])
      await expect(all(open())).rejects.toMatchObject({ ...refusal, message })
  })

  it('resubscribes to a running task', async () => {
    const wireClient = await connect()
    const stream = wireClient.stream('chunks 10 20')[Symbol.asyncIterator]()
    const { value: first } = await stream.next()
    const seen = await all(wireClient.subscribe(first.id))
    expect(lastState(seen)).toBe('completed')
    expect(seen.map(({ text }) => text ?? '').join('')).toContain('chunk 10 ')
    await all({ [Symbol.asyncIterator]: () => stream })
    expect(resultOf(await wireClient.get(first.id)).state).toBe('completed')
  })
})

describe('a protected card', () => {
  const sending = (key: string): AuthenticationHandler => ({
    headers: async () => ({ 'x-api-key': key }),
    shouldRetryWithHeaders: async () => undefined,
  })

  it.each<[string, (url: string, key: string) => Promise<{ getAgentCard(): Promise<{ name: string }> }>]>([
    [
      '0.3.14',
      (url, key) => {
        const fetchImpl = authenticatingV03(fetch, sending(key))
        const cardResolver = new ResolverV03({ fetchImpl })
        return new FactoryV03({ transports: [new JsonRpcV03({ fetchImpl })], cardResolver }).createFromUrl(url)
      },
    ],
    [
      '1.3.0',
      (url, key) => {
        const fetchImpl = authenticatingV1(fetch, sending(key))
        const cardResolver = new ResolverV1({ fetchImpl })
        return new FactoryV1({ transports: [new JsonRpcV1({ fetchImpl })], cardResolver }).createFromUrl(url)
      },
    ],
  ])('is read by the official SDK %s that sends an API key', async (_name, connect) => {
    await using guarded = await serve(matrixAgent, { auth: [apiKey('secret')], advanced: { protectCard: true } })
    const client = await connect(guarded.url, 'secret')
    expect((await client.getAgentCard()).name).toBe(matrixAgent.card.name)
    await expect(connect(guarded.url, 'wrong')).rejects.toThrow('401')
  })
})
