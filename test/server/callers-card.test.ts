/** Cards that depend on the caller, and extensions that every caller must name, in every dialect. */
import { agent, apiKey, type Served, serve } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { chatRpc, invoke, taskRest } from '../matrix/ad-hoc-clients.js'
import { v1Grpc, v1Peer, v03Grpc, v03Peer } from '../matrix/grpc-clients.js'
import { v01JsonRpc, v03JsonRpc, v03Rest } from '../matrix/v0-clients.js'
import { v1JsonRpc, v1Rest } from '../matrix/v1-client.js'
import { type Fetch, type Json, resultOf, type WireClient } from '../matrix/wire-client.js'

type Headed = Readonly<Record<string, string>>
const hostOf = ({ url }: Served) => new URL(url).host

function as({ url }: Served, headers: Headed): Fetch {
  return (path, init) => fetch(new URL(path, url), { ...init, headers: { ...(init.headers as Headed), ...headers } })
}

const discreet = agent(
  {
    name: 'Discreet',
    capabilities: { extendedAgentCard: true },
    extendedCard: (card, caller) => ({ ...card, description: `For ${caller.id}` }),
  },
  async function* () {
    yield 'x'
  },
)

describe('the extended card', () => {
  const auth = [apiKey({ 'key-a': 'alice', 'key-b': 'bob' })]
  const callers = [
    [{ 'x-api-key': 'key-a' }, 'For alice'],
    [{ 'x-api-key': 'key-b' }, 'For bob'],
  ] as const
  const described = async (fetch: Fetch, path: string, headers: Headed) => {
    const response = await fetch(path, { method: 'GET', headers })
    return { response, card: (await response.json()) as Json }
  }

  it('differs by caller, and only private caches may store it (R-XCARD-3)', async () => {
    await using served = await serve(discreet, { auth })
    for (const [headers, description] of callers) {
      for (const [path, version] of [
        ['/extendedAgentCard', { 'a2a-version': '1.0' }],
        ['/v1/card', {}],
      ] as const) {
        const { response, card } = await described(as(served, headers), path, version)
        expect(card, path).toMatchObject({ description })
        expect(response.headers.get('cache-control')).toBe('private, max-age=60')
        expect(response.headers.get('vary')?.toLowerCase()).toBe('x-api-key, a2a-version')
      }
    }
  })

  it('lets no cache store tasks and errors over HTTP+JSON', async () => {
    await using served = await serve(discreet, { auth })
    const get = (path: string, headers: Headed) => as(served, headers)(path, { method: 'GET', headers: {} })
    const [[alice]] = callers
    for (const path of ['/tasks', '/v1/tasks/none', '/tasks/none', '/tasks?pageSize=x', '/nowhere']) {
      const { headers } = await get(path, alice)
      expect(headers.get('cache-control'), path).toBe('no-store')
      expect((await get(path, {})).headers.get('cache-control'), path).toBe('no-store')
    }
    expect((await get('/tasks', alice)).headers.get('vary')?.toLowerCase()).toBe('x-api-key, a2a-version')
  })

  it('differs by caller over JSON-RPC and gRPC, in old and new dialects (R-XCARD-3)', async () => {
    await using served = await serve(discreet, { auth })
    for (const [headers, description] of callers) {
      for (const [method, version] of [
        ['GetExtendedAgentCard', { 'a2a-version': '1.0' }],
        ['agent/getAuthenticatedExtendedCard', {}],
      ] as const) {
        const response = await as(served, headers)('/', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...version },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
        })
        expect(((await response.json()) as { result: Json }).result, method).toMatchObject({ description })
      }
      for (const [peer, rpc] of [
        [v1Peer(hostOf(served), undefined, headers), 'GetExtendedAgentCard'],
        [v03Peer(hostOf(served), headers), 'GetAgentCard'],
      ] as const) {
        const read = (card: Json) => ({ text: String(card.description) })
        expect(resultOf(await peer.unary(rpc, {}, read)).text, rpc).toBe(description)
        peer.close()
      }
    }
  })

  it('is rejected for unauthenticated callers on every binding (R-XCARD-3)', async () => {
    await using served = await serve(discreet, { auth })
    for (const path of ['/extendedAgentCard', '/v1/card']) {
      expect((await described(as(served, {}), path, { 'a2a-version': '1.0' })).response.status).toBe(401)
    }
    for (const [peer, rpc] of [
      [v1Peer(hostOf(served)), 'GetExtendedAgentCard'],
      [v03Peer(hostOf(served)), 'GetAgentCard'],
    ] as const) {
      expect(await peer.unary(rpc, {}, () => ({}))).toMatchObject({ refused: { code: 'UNAUTHENTICATED' } })
      peer.close()
    }
  })

  it('names the tenants that its reader may use, if a policy restricts them (R-XCARD-3)', async () => {
    await using served = await serve(discreet, {
      auth,
      advanced: {
        tenants: ['acme', 'globex'],
        policy: { tenants: ({ id }, tenant) => (id === 'alice') === (tenant === 'acme') },
      },
    })
    const tenantsIn = ({ supportedInterfaces }: Json) =>
      new Set((supportedInterfaces as { tenant?: string }[]).flatMap(({ tenant }) => tenant ?? []))
    const version = { 'a2a-version': '1.0' }
    const seen = async (path: string, headers: Headed) => [
      ...tenantsIn((await described(as(served, headers), path, version)).card),
    ]
    expect(await seen('/.well-known/agent-card.json', {})).toEqual([])
    expect(await seen('/extendedAgentCard', { 'x-api-key': 'key-a' })).toEqual(['acme'])
    expect(await seen('/extendedAgentCard', { 'x-api-key': 'key-b' })).toEqual(['globex'])
  })
})

describe('a required extension', () => {
  const uri = 'urn:test:needed:v1'
  const demanding = agent(
    { ...echoAgent.card, extensions: [{ uri, required: true }] },
    async function* ({ text, extensions }) {
      yield `${text} with ${extensions.join()}`
    },
  )
  const wireClients: readonly (readonly [string, (served: Served, headers: Headed) => WireClient])[] = [
    ['v1 over JSON-RPC', (served, headers) => v1JsonRpc(as(served, headers))],
    ['v1 over HTTP+JSON', (served, headers) => v1Rest(as(served, headers))],
    ['v1 over gRPC', (served, headers) => v1Grpc(hostOf(served), undefined, undefined, headers)],
    ['v0.3 over JSON-RPC', (served, headers) => v03JsonRpc(as(served, headers))],
    ['v0.3 over HTTP+JSON', (served, headers) => v03Rest(as(served, headers))],
    ['v0.3 over gRPC', (served, headers) => v03Grpc(hostOf(served), headers)],
    ['v0.1', (served, headers) => v01JsonRpc(as(served, headers))],
    ['task-rest', (served, headers) => taskRest(as(served, headers))],
    ['invoke', (served, headers) => invoke(as(served, headers))],
    ['chat-rpc', (served, headers) => chatRpc(as(served, headers))],
  ]

  it.each(wireClients)('must be named over %s too (R-EXT-3)', async (_name, speak) => {
    await using served = await serve(demanding, { dialects: 'all' })
    const refused = await speak(served, {}).send('hello')
    expect(refused).toMatchObject({ refused: { message: expect.stringContaining(uri) } })
    const named = await speak(served, { 'a2a-extensions': uri, 'x-a2a-extensions': uri }).send('hello')
    expect(resultOf(named).text).toBe(`hello with ${uri}`)
  })
})
