/**
 * A caller cannot reach tasks of another caller or tenant: for every operation in every dialect, the response equals
 * that for a task that does not exist.
 */
import { randomUUID } from 'node:crypto'
import { apiKey, type Served, serve, type Task } from 'dragoman'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chatRpc, invoke } from '../matrix/ad-hoc-clients.js'
import { matrixAgent } from '../matrix/scenarios.js'
import { v01JsonRpc } from '../matrix/v0-clients.js'
import { v1JsonRpc, v1Rest } from '../matrix/v1-client.js'
import { type Fetch, resultOf, type WireClient } from '../matrix/wire-client.js'
import { type Attack, type Seen, tries } from './requests.js'

const alice = { 'x-api-key': 'key-a' }
const bob = { 'x-api-key': 'key-b' }
const tenants = ['acme', 'globex']

let served: Served
/** Tasks of Alice without a tenant and in the tenant acme: one waits, one has ended, one runs. */
let victims: readonly Victim[]

interface Victim {
  readonly what: string
  readonly id: string
  readonly tenant?: string
}

beforeAll(async () => {
  const auth = [apiKey({ 'key-a': 'alice', 'key-b': 'bob' })]
  served = await serve(matrixAgent, { dialects: 'all', auth, limits: { rate: 'none' }, advanced: { tenants } })
  victims = (await Promise.all([undefined, 'acme'].map(makeVictims))).flat()
})
afterAll(() => served.close({ deadlineMs: 0 }))

function as(headers: Readonly<Record<string, string>>, tenant?: string): Fetch {
  return (path, init) =>
    fetch(new URL(`${tenant === undefined ? '' : `/${tenant}`}${path}`, served.url), {
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...headers },
    })
}

async function makeVictims(tenant: string | undefined): Promise<readonly Victim[]> {
  const speaker = v1JsonRpc(as(alice, tenant))
  const own = tenant === undefined ? {} : { tenant }
  const waiting = resultOf(await speaker.send('ask')).id ?? ''
  const ended = resultOf(await speaker.send('hello')).id ?? ''
  await speaker.push(waiting, 'https://hooks.example/alice')
  const running = speaker.stream('sleep 600000')[Symbol.asyncIterator]()
  const { value } = await running.next()
  return [
    { what: 'a task that waits', id: waiting, ...own },
    { what: 'a task that has ended', id: ended, ...own },
    { what: 'a task that runs', id: value?.id ?? '', ...own },
  ]
}

/** Ids have equal lengths, so that responses can be compared byte by byte. */
const noTask = () => randomUUID()

function normal({ body, ...rest }: Seen, id: string): Seen {
  return { ...rest, body: body.replaceAll(id, 'THE-TASK') }
}

async function assertNotThere(attempt: (typeof tries)[string][string], attack: Attack, victim: Victim): Promise<void> {
  const nothing = noTask()
  const expected = normal(await attempt(attack, nothing), nothing)
  const seen = normal(await attempt(attack, victim.id), victim.id)
  expect(seen, victim.what).toEqual(expected)
  expect(seen.body).not.toContain('alice')
  // Equal responses could also be successes; this one must be an error.
  expect([seen.status, seen.body].join(' ')).toMatch(/error|NOT_FOUND|40\d|not found|No task/i)
}

describe.each(Object.entries(tries))('over %s', (dialect, operations) => {
  it.each(Object.entries(operations))('another caller cannot %s (R-SEC-3, R-ERR-7)', async (_operation, attempt) => {
    for (const victim of victims) {
      const { tenant } = victim
      // gRPC of 0.3 has no tenants.
      if (tenant !== undefined && dialect === 'v0.3 over gRPC') continue
      await assertNotThere(attempt, { url: served.url, headers: bob, ...(tenant !== undefined && { tenant }) }, victim)
    }
  })

  it.each(Object.entries(operations))(
    'the owner cannot %s from another tenant (R-TEN-3)',
    async (_operation, attempt) => {
      for (const victim of victims) {
        // From another tenant, and without a tenant.
        for (const tenant of victim.tenant === undefined ? ['acme'] : ['globex', undefined]) {
          if (tenant !== undefined && dialect === 'v0.3 over gRPC') continue
          const attack = { url: served.url, headers: alice, ...(tenant !== undefined && { tenant }) }
          await assertNotThere(attempt, attack, victim)
        }
      }
    },
  )
})

describe('a stranger', () => {
  const speakers: readonly (readonly [string, (fetch: Fetch) => WireClient])[] = [
    ['v1 over JSON-RPC', v1JsonRpc],
    ['v1 over HTTP+JSON', v1Rest],
    ['v0.1', v01JsonRpc],
    ['invoke', invoke],
    ['chat-rpc', chatRpc],
  ]

  it.each(speakers)(
    'that names a context of another caller over %s gets its own task (R-SEC-3)',
    async (_name, speak) => {
      const hers = resultOf(await speak(as(alice)).send('ask'))
      expect(hers.contextId).toBeTruthy()
      const his = resultOf(await speak(as(bob)).send('mine now', { contextId: hers.contextId }))
      // The task is not a continuation of hers and contains none of her messages.
      expect(his).toMatchObject({ state: 'completed', text: 'mine now' })
      expect(his.id ?? 'none').not.toBe(hers.id)
      const answered = resultOf(await speak(as(alice)).send('second', { taskId: hers.id, contextId: hers.contextId }))
      expect(answered).toMatchObject({ state: 'completed', text: 'ask\nsecond' })
    },
  )

  it('sees only its own tasks in lists, with every filter (R-SEC-3)', async () => {
    const list = async (headers: Readonly<Record<string, string>>, params: object) => {
      const body = { jsonrpc: '2.0', id: 1, method: 'ListTasks', params }
      const response = await as({ ...headers, 'a2a-version': '1.0' })('/', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return ((await response.json()) as { result: { tasks: Task[]; nextPageToken: string; totalSize: number } }).result
    }
    const hers = await list(alice, { pageSize: 1 })
    expect(hers.totalSize).toBeGreaterThan(2)
    const [one] = hers.tasks
    for (const params of [
      { contextId: one?.contextId },
      { status: one?.status.state },
      { pageToken: hers.nextPageToken },
      { tenant: 'globex' },
    ]) {
      const { tasks } = await list(bob, params)
      const ids = new Set(victims.map(({ id }) => id))
      expect(
        tasks.filter(({ id }) => ids.has(id)),
        JSON.stringify(params),
      ).toEqual([])
    }
  })

  it('that repeats the idempotency key of another caller creates its own task (R-SEC-3)', async () => {
    const key = randomUUID()
    const send = async (headers: Readonly<Record<string, string>>) => {
      const response = await as({ ...headers, 'a2a-version': '1.0', 'idempotency-key': key })('/message:send', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }),
      })
      return ((await response.json()) as { task: Task }).task.id
    }
    const hers = await send(alice)
    expect(await send(alice)).toBe(hers)
    expect(await send(bob)).not.toBe(hers)
  })

  it('that references a task of another caller learns nothing about it (R-SEC-3)', async () => {
    const send = async (id: string) => {
      const response = await as({ ...bob, 'a2a-version': '1.0' })('/message:send', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }], referenceTaskIds: [id] },
        }),
      })
      const { task } = (await response.json()) as { task: Task }
      return JSON.stringify({ ...task, id: '', contextId: '', status: task.status.state })
        .replaceAll(id, 'THE-TASK')
        .replaceAll(task.id, 'OWN')
        .replaceAll(task.contextId, 'OWN-CONTEXT')
    }
    const nothing = await send(noTask())
    for (const { id, what } of victims) expect(await send(id), what).toBe(nothing)
  })

  it('of 0.1 with an id that is taken learns only that (R-SEC-3)', async () => {
    for (const { id, tenant } of victims) {
      const outcome = await v01JsonRpc(as(bob, tenant)).send('mine now', { taskId: id })
      expect(outcome).toEqual({ refused: expect.objectContaining({ code: -32602 }) })
      expect(JSON.stringify(outcome)).not.toMatch(/alice|ask|hello|sleep/)
    }
  })

  it('has changed nothing after all attempts (R-SEC-3)', async () => {
    for (const { id, tenant, what } of victims) {
      const { state } = resultOf(await v1JsonRpc(as(alice, tenant)).get(id))
      expect(state, what).toBe(
        what.endsWith('waits') ? 'input-required' : what.endsWith('runs') ? 'working' : 'completed',
      )
    }
  })
})
