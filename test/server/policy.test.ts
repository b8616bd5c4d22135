/** Tenants with restricted access, and shared tasks. */
import { randomUUID } from 'node:crypto'
import { type Agent, agent, apiKey, ask, type Served, serve, type Task } from 'dragoman'
import type { Policy } from 'dragoman/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { type Attack, type Seen, tries } from '../attack/requests.js'
import { v1Grpc } from '../matrix/grpc-clients.js'
import { v01JsonRpc, v03JsonRpc } from '../matrix/v0-clients.js'
import { v1JsonRpc, v1Rest } from '../matrix/v1-client.js'
import { type Fetch, resultOf } from '../matrix/wire-client.js'

const auth = [apiKey({ 'key-a': 'alice', 'key-b': 'bob', 'key-c': 'carol' })]
const key = (name: string) => ({ 'x-api-key': `key-${name[0]}` })

function as(served: Served, name: string, tenant?: string): Fetch {
  return (path, init) =>
    fetch(new URL(`${tenant === undefined ? '' : `/${tenant}`}${path}`, served.url), {
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...key(name) },
    })
}

async function raw(served: Served, name: string, method: string, path: string, body?: object) {
  const response = await as(served, name)(path, {
    method,
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('a tenant', () => {
  let served: Served
  const policy: Policy = { tenants: ({ id }, tenant) => id === 'alice' || tenant !== 'acme' }
  beforeAll(async () => {
    served = await serve(echoAgent, { auth, dialects: 'all', advanced: { tenants: ['acme', 'globex'], policy } })
  })
  afterAll(() => served.close({ deadlineMs: 0 }))

  it('exists for callers that may use it (R-TEN-3)', async () => {
    expect(resultOf(await v1Rest(as(served, 'alice', 'acme')).send('hello')).text).toBe('hello')
    const { host } = new URL(served.url)
    expect(resultOf(await v1Grpc(host, undefined, 'acme', key('alice')).send('hello')).text).toBe('hello')
    expect(resultOf(await v1Rest(as(served, 'bob', 'globex')).send('hello')).text).toBe('hello')
  })

  it.each([
    ['POST', (tenant: string) => `/${tenant}/message:send`],
    ['GET', (tenant: string) => `/${tenant}/tasks`],
    ['GET', (tenant: string) => `/tasks?tenant=${tenant}`],
    ['POST', (tenant: string) => `/${tenant}`],
    ['POST', (tenant: string) => `/${tenant}/`],
    ['POST', (tenant: string) => `/${tenant}/v1/message:send`],
    ['GET', (tenant: string) => `/${tenant}/nothing`],
    ['GET', (tenant: string) => `/${tenant}/extendedAgentCard`],
  ])('does not exist for other callers: %s %s (R-TEN-3, R-ERR-7)', async (method, path) => {
    const body = method === 'POST' ? { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} } : undefined
    const look = async (tenant: string) => {
      const { status, text } = await raw(served, 'bob', method, path(tenant), body)
      return [status, text.replaceAll(tenant, 'TENANT')]
    }
    expect(await look('acme')).toEqual(await look('nope'))
  })

  it('does not exist for other callers in request bodies, nor over gRPC (R-TEN-3, R-ERR-7)', async () => {
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    const look = async (tenant: string) => {
      const rpc = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message, tenant } }
      const answers = [
        await raw(served, 'bob', 'POST', '/', rpc),
        await raw(served, 'bob', 'POST', '/message:send', { message, tenant }),
      ].map(({ status, text }) => [status, text.replaceAll(tenant, 'TENANT')])
      const grpc = await v1Grpc(new URL(served.url).host, undefined, tenant, key('bob')).send('hi')
      return [answers, JSON.stringify(grpc).replaceAll(tenant, 'TENANT')]
    }
    expect(await look('acme')).toEqual(await look('nope'))
    expect((await look('acme'))[1]).toContain('NOT_FOUND')
  })

  it('is not named in public cards', async () => {
    const { text } = await raw(served, 'bob', 'GET', '/.well-known/agent-card.json')
    expect(text).not.toMatch(/acme|globex/)
  })

  it('rejects every caller if its policy throws', async () => {
    await using broken = await serve(echoAgent, {
      auth,
      advanced: {
        tenants: ['acme'],
        policy: {
          tenants: () => {
            throw new Error('The database of tenants is down')
          },
        },
      },
    })
    const { status, text } = await raw(broken, 'bob', 'GET', '/acme/tasks')
    expect(status).toBe(500)
    expect(text).not.toContain('database')
  })
})

/** Reports the caller of each turn. */
const clerk: Agent = agent({ name: 'Clerk', capabilities: { pushNotifications: true } }, async function* (turn) {
  if (turn.text === 'done') yield `done for ${turn.caller.id}`
  else yield ask(`${turn.caller.id} said ${turn.text}`)
})

describe('a shared task', () => {
  let served: Served
  const asked: string[] = []
  let allowed: ReadonlySet<string> = new Set()
  const policy: Policy = {
    canAccess: async (caller, task, operation) => {
      asked.push(`${caller.id} ${operation} ${task.owner} ${Object.keys(task).sort().join()}`)
      return caller.id === 'bob' && allowed.has(operation)
    },
  }
  beforeAll(async () => {
    served = await serve(clerk, { auth, dialects: 'all', advanced: { policy, tenants: ['acme'] } })
  })
  afterAll(() => served.close({ deadlineMs: 0 }))
  const hers = async (tenant?: string) => resultOf(await v1JsonRpc(as(served, 'alice', tenant)).send('first'))

  it('can be read, continued and cancelled by callers with access to each operation', async () => {
    const { id = '', contextId } = await hers()
    const bob = v1JsonRpc(as(served, 'bob'))
    allowed = new Set()
    expect(await bob.get(id)).toMatchObject({ refused: { code: -32001 } })
    allowed = new Set(['getTask'])
    expect(resultOf(await bob.get(id))).toMatchObject({ id, note: 'alice said first' })
    expect(await bob.cancel(id)).toMatchObject({ refused: { code: -32001 } })
    expect(await bob.send('mine', { taskId: id, contextId })).toMatchObject({ refused: { code: -32001 } })
    allowed = new Set(['sendMessage'])
    // The turn has the new caller; the task keeps its owner.
    expect(resultOf(await bob.send('second', { taskId: id, contextId }))).toMatchObject({ id, note: 'bob said second' })
    expect(resultOf(await v1JsonRpc(as(served, 'alice')).get(id)).note).toBe('bob said second')
    allowed = new Set(['cancelTask'])
    expect(resultOf(await bob.cancel(id)).state).toBe('canceled')
    expect(asked).toContain('bob getTask alice contextId,id,owner,tenant')
  })

  it('can be subscribed to by callers with access, on every binding', async () => {
    const { id = '', contextId } = await hers()
    allowed = new Set(['subscribeToTask'])
    const { host } = new URL(served.url)
    for (const wireClient of [
      v1JsonRpc(as(served, 'bob')),
      v1Grpc(host, undefined, undefined, key('bob')),
      v03JsonRpc(as(served, 'bob')),
    ]) {
      const stream = wireClient.subscribe(id)[Symbol.asyncIterator]()
      expect((await stream.next()).value, wireClient.name).toMatchObject({ id, state: 'input-required' })
      await stream.return?.()
    }
    allowed = new Set()
    await v1JsonRpc(as(served, 'alice')).send('done', { taskId: id, contextId })
  })

  it('is not in the lists of others, and its webhooks stay private to its owner', async () => {
    const { id = '', contextId } = await hers()
    allowed = new Set(['getTask', 'subscribeToTask', 'cancelTask', 'sendMessage', 'sendStreamingMessage'])
    const list = await raw(served, 'bob', 'GET', `/tasks?contextId=${contextId}`)
    expect(JSON.parse(list.text)).toMatchObject({ tasks: [], totalSize: 0 })
    for (const [method, path, body] of [
      ['GET', `/tasks/${id}/pushNotificationConfigs`, undefined],
      ['POST', `/tasks/${id}/pushNotificationConfigs`, { id: 'a', url: 'https://hooks.example/' }],
    ] as const)
      expect((await raw(served, 'bob', method, path, body)).status, path).toBe(404)
    const message = { messageId: 'm', role: 'ROLE_USER', taskId: id, parts: [{ text: 'x' }] }
    const configuration = { taskPushNotificationConfig: { url: 'https://hooks.example/' } }
    expect((await raw(served, 'bob', 'POST', '/message:send', { message, configuration })).status).toBe(400)
  })

  it('is never shared across tenants (R-TEN-3)', async () => {
    allowed = new Set(['getTask'])
    const { id = '' } = await hers('acme')
    const before = asked.length
    expect(await v1JsonRpc(as(served, 'bob')).get(id)).toMatchObject({ refused: { code: -32001 } })
    expect(asked).toHaveLength(before)
    expect(resultOf(await v1JsonRpc(as(served, 'bob', 'acme')).get(id)).id).toBe(id)
  })

  it('deduplicates by idempotency key, separately for each caller (E-10)', async () => {
    allowed = new Set(['sendMessage'])
    const { id: taskId } = await hers()
    const send = async (name: string) => {
      const message = { messageId: 'm', role: 'ROLE_USER', taskId, parts: [{ text: 'again' }] }
      const response = await as(served, name)('/message:send', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'idempotency-key': 'k-1' },
        body: JSON.stringify({ message }),
      })
      const { task } = (await response.json()) as { task: Task }
      return task.history?.map(({ parts }) => ('text' in (parts[0] ?? {}) ? (parts[0] as { text: string }).text : ''))
    }
    expect(await send('bob')).toEqual(['first', 'alice said first', 'again', 'bob said again'])
    expect(await send('bob')).toEqual(['first', 'alice said first', 'again', 'bob said again'])
    expect(await send('alice')).toHaveLength(6)
  })

  it('can be continued in 0.1, where a client-supplied id may name a shared task', async () => {
    const { id = '' } = resultOf(await v01JsonRpc(as(served, 'alice')).send('first'))
    allowed = new Set()
    expect(await v01JsonRpc(as(served, 'bob')).send('mine', { taskId: id })).toMatchObject({
      refused: { code: -32602 },
    })
    allowed = new Set(['sendMessage'])
    expect(resultOf(await v01JsonRpc(as(served, 'bob')).send('mine', { taskId: id })).note).toBe('bob said mine')
  })

  it('does not exist for callers without access, nor when the policy throws: same error (R-ERR-7)', async () => {
    const failing: Policy = {
      canAccess: () => {
        throw new Error('no idea')
      },
    }
    for (const each of [policy, failing]) {
      await using other = await serve(clerk, { auth, advanced: { policy: each } })
      allowed = new Set()
      const { id = '' } = resultOf(await v1JsonRpc(as(other, 'alice')).send('first'))
      const attack: Attack = { url: other.url, headers: key('carol') }
      for (const [name, attempt] of Object.entries(tries['v1 over HTTP+JSON'] ?? {})) {
        const normal = ({ body, ...rest }: Seen, of: string) => ({ ...rest, body: body.replaceAll(of, 'ID') })
        const nothing = randomUUID()
        expect(normal(await attempt(attack, id), id), name).toEqual(normal(await attempt(attack, nothing), nothing))
      }
    }
  })
})
