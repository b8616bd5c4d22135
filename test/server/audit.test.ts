/** The audit: one entry for each ended call, on every binding, without its content. */
import { once } from 'node:events'
import { inspect } from 'node:util'
import type { ClientReadableStream } from '@grpc/grpc-js'
import { A2AError, agent, apiKey, type ServeOptions, serve } from 'dragoman'
import type { AuthScheme } from 'dragoman/auth'
import type { AuditEntry } from 'dragoman/server'
import { gate, until } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { chatRpc, invoke, taskRest } from '../matrix/ad-hoc-clients.js'
import { v1Grpc, v1Peer, v03Grpc } from '../matrix/grpc-clients.js'
import { all } from '../matrix/scenarios.js'
import { v01JsonRpc, v03JsonRpc, v03Rest } from '../matrix/v0-clients.js'
import { v1JsonRpc, v1Rest } from '../matrix/v1-client.js'
import { type Fetch, resultOf, type WireClient } from '../matrix/wire-client.js'

const auth = [apiKey({ 'key-alice': 'alice' })]
const alice = { 'x-api-key': 'key-alice' }

async function audited(options: ServeOptions = {}) {
  const entries: AuditEntry[] = []
  const served = await serve(echoAgent, {
    auth,
    dialects: 'all',
    ...options,
    advanced: { tenants: ['acme'], audit: (entry) => entries.push(entry) },
  })
  const as =
    (headers: Readonly<Record<string, string>>, prefix = ''): Fetch =>
    (path, init) =>
      fetch(new URL(`${prefix}${path}`, served.url), {
        ...init,
        headers: { ...(init.headers as Record<string, string>), ...headers },
      })
  return {
    entries,
    as,
    host: new URL(served.url).host,
    /** Entries are written when a call has ended; its caller may see the end a moment earlier. */
    next: async (count: number) => await until(() => entries.length >= count && entries[count - 1]),
    [Symbol.asyncDispose]: () => served.close({ deadlineMs: 0 }),
  }
}

type Audited = Awaited<ReturnType<typeof audited>>

const wireClients: readonly (readonly [string, (to: Audited) => WireClient, string, string])[] = [
  ['v1 over JSON-RPC', ({ as }) => v1JsonRpc(as(alice)), 'v1', 'JSONRPC'],
  ['v1 over HTTP+JSON', ({ as }) => v1Rest(as(alice)), 'v1', 'HTTP+JSON'],
  ['v1 over gRPC', ({ host }) => v1Grpc(host, undefined, undefined, alice), 'v1', 'GRPC'],
  ['v0.3 over JSON-RPC', ({ as }) => v03JsonRpc(as(alice)), 'v0.3', 'JSONRPC'],
  ['v0.3 over HTTP+JSON', ({ as }) => v03Rest(as(alice)), 'v0.3', 'HTTP+JSON'],
  ['v0.3 over gRPC', ({ host }) => v03Grpc(host, alice), 'v0.3', 'GRPC'],
  ['v0.1', ({ as }) => v01JsonRpc(as(alice)), 'v0.1', 'JSONRPC'],
  ['task-rest', ({ as }) => taskRest(as(alice)), 'task-rest', 'HTTP+JSON'],
  ['invoke', ({ as }) => invoke(as(alice)), 'invoke', 'HTTP+JSON'],
  ['chat-rpc', ({ as }) => chatRpc(as(alice)), 'chat-rpc', 'JSONRPC'],
]

describe.each(wireClients)('the audit of calls over %s', (_name, speak, dialect, binding) => {
  const common = { agent: 'Echo', caller: 'alice', scheme: 'apiKey', peer: '127.0.0.1', dialect, binding }

  it('records caller, operation and outcome (R-SEC-5)', async () => {
    await using to = await audited()
    const wireClient = speak(to)
    resultOf(await wireClient.send('a private word'))
    const sent = await to.next(1)
    expect(sent).toMatchObject({ ...common, operation: 'sendMessage', outcome: 'ok' })
    expect(sent.taskId).toMatch(/\S{8}/)
    expect(sent.contextId).toMatch(/\S{8}/)
    expect(sent.durationMs).toBeGreaterThan(0)
    expect(Math.abs(sent.at - Date.now())).toBeLessThan(60_000)
    await all(wireClient.stream('chunks 2'))
    const streamed = await to.next(2)
    expect(streamed).toMatchObject({ ...common, operation: 'sendStreamingMessage', outcome: 'ok' })
    expect(streamed.taskId).toMatch(/\S{8}/)
    if (wireClient.has.has('get')) {
      await wireClient.get('no-such-task')
      const refused = await to.next(3)
      expect(refused).toMatchObject({
        ...common,
        // Without a task, the server cannot distinguish it from 0.3 (RM-DET-4).
        ...(dialect === 'v0.1' && { dialect: 'v0.3' }),
        operation: 'getTask',
        outcome: 'TASK_NOT_FOUND',
        taskId: 'no-such-task',
      })
    }
    expect(inspect(to.entries, { depth: 9 })).not.toMatch(/private word|key-alice|chunk 1/)
  })
})

describe('the audit', () => {
  it('records calls that fail authentication, over every binding (R-SEC-5)', async () => {
    await using to = await audited({ limits: { rate: { perSecond: 0.01, burst: 1 } } })
    const wrongKey = { 'x-api-key': 'wrong-key' }
    const { host } = to
    await v1JsonRpc(to.as(wrongKey)).send('x')
    await v1Rest(to.as(wrongKey)).send('x')
    await v1Grpc(host, undefined, undefined, wrongKey).send('x')
    await to.next(3)
    expect(to.entries.map(({ outcome, binding, caller, peer }) => [outcome, binding, caller, peer])).toEqual([
      ['UNAUTHENTICATED', 'JSONRPC', undefined, '127.0.0.1'],
      ['UNAUTHENTICATED', 'HTTP+JSON', undefined, '127.0.0.1'],
      ['UNAUTHENTICATED', 'GRPC', undefined, '127.0.0.1'],
    ])
    await v1JsonRpc(to.as(alice)).send('x')
    await v1JsonRpc(to.as(alice)).send('x')
    await v1Grpc(host, undefined, undefined, alice).send('x')
    await to.next(6)
    expect(to.entries.slice(4).map(({ outcome, caller, limit }) => [outcome, caller, limit])).toEqual([
      ['RATE_LIMITED', 'alice', 'rate'],
      ['RATE_LIMITED', 'alice', 'rate'],
    ])
    expect(inspect(to.entries)).not.toContain('wrong-key')
  })

  it('records calls that cannot be parsed (R-SEC-5)', async () => {
    await using to = await audited()
    const post = (path: string, body: string) =>
      to.as({ ...alice, 'a2a-version': '1.0' })(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    await post('/', '{')
    await post('/', '{"jsonrpc":"2.0","id":1,"method":"Nothing"}')
    await post('/message:send', '{"message":{"parts":5}}')
    await post('/nowhere', '{}')
    await post('/a2a/invoke', '{')
    await to.next(5)
    expect(to.entries.map(({ outcome, operation, binding }) => [outcome, operation, binding])).toEqual([
      ['PARSE_ERROR', undefined, 'JSONRPC'],
      ['METHOD_NOT_FOUND', undefined, 'JSONRPC'],
      ['INVALID_PARAMS', 'sendMessage', 'HTTP+JSON'],
      ['METHOD_NOT_FOUND', undefined, undefined],
      ['PARSE_ERROR', undefined, undefined],
    ])
  })

  it('records requests to paths without an agent, with the message of each rejection (R-SEC-5)', async () => {
    const entries: AuditEntry[] = []
    const badge: AuthScheme = {
      name: 'badge',
      card: { apiKeySecurityScheme: { location: 'header', name: 'x-badge' } },
      challenge: () => 'Badge',
      authenticate({ headers }) {
        if (headers.get('x-badge') === null) return 'absent'
        throw new A2AError('UNAVAILABLE', 'The badge reader is broken')
      },
    }
    await using served = await serve([agent('One', async function* () {}), agent('Two', async function* () {})], {
      auth: [...auth, badge],
      limits: { rate: { perSecond: 0.01, burst: 1 } },
      advanced: { audit: (entry) => entries.push(entry) },
    })
    const ask = (headers: Record<string, string>) => fetch(new URL('/three/tasks', served.url), { headers })
    const answers = [await ask({}), await ask(alice), await ask(alice), await ask({ 'x-badge': 'x' })]
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 429, 503])
    expect(answers[2]?.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(await answers[1]?.json()).toMatchObject({ error: { code: 404, message: 'No agent is mounted here' } })
    expect(entries.map(({ agent: name, outcome, caller, peer }) => [name, outcome, caller, peer])).toEqual([
      ['', 'UNAUTHENTICATED', undefined, '127.0.0.1'],
      ['', 'METHOD_NOT_FOUND', 'alice', '127.0.0.1'],
      ['', 'RATE_LIMITED', 'alice', '127.0.0.1'],
      ['', 'UNAVAILABLE', undefined, '127.0.0.1'],
    ])
  })

  it('records the tenant', async () => {
    await using to = await audited()
    await v1Rest(to.as(alice, '/acme')).send('x')
    await v1Grpc(to.host, undefined, 'acme', alice).send('x')
    await to.next(2)
    expect(to.entries.map(({ tenant }) => tenant)).toEqual(['acme', 'acme'])
  })

  it('records a stream when its reader disconnects', async () => {
    const { opened, open } = gate()
    const entries: AuditEntry[] = []
    const slow = agent('Slow', async function* () {
      yield 'begun'
      await opened
    })
    await using served = await serve(slow, { advanced: { audit: (entry) => entries.push(entry) } })
    const { host } = new URL(served.url)
    const over: Fetch = (path, init) => fetch(new URL(path, served.url), init)
    const stream = v1JsonRpc(over).stream('go')[Symbol.asyncIterator]()
    await stream.next()
    await stream.return?.()
    const peer = v1Peer(host)
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
    const call = peer.stream('SendStreamingMessage', { message }) as ClientReadableStream<object>
    call.on('error', () => undefined) // the error says that the call was cancelled
    await once(call, 'data')
    call.cancel()
    await until(() => entries.length === 2)
    expect(entries.map(({ operation, outcome }) => [operation, outcome])).toEqual([
      ['sendStreamingMessage', 'ok'],
      ['sendStreamingMessage', 'ok'],
    ])
    open()
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('The audit is full')
      },
    ],
    ['rejects', () => Promise.reject(new Error('The audit is full'))],
  ])('does not affect calls when it %s', async (_name, audit) => {
    const logged: unknown[] = []
    await using served = await serve(echoAgent, {
      log: (entry) => void (entry.level === 'error' && logged.push(entry.error)),
      advanced: { audit: audit as () => void },
    })
    const over: Fetch = (path, init) => fetch(new URL(path, served.url), init)
    expect(resultOf(await v1JsonRpc(over).send('hello')).text).toBe('hello')
    expect(resultOf(await v1Grpc(new URL(served.url).host).send('hello')).text).toBe('hello')
    await until(() => logged.length === 2)
    expect(logged).toEqual([new Error('The audit is full'), new Error('The audit is full')])
  })
})
