/** Agents and dependencies of a server that fail with secrets in their errors, or yield values that cannot be encoded. */
import assert from 'node:assert/strict'
import {
  A2AError,
  type Agent,
  agent,
  artifact,
  data,
  MemoryStore,
  reply,
  type Store,
  type Turn,
  text,
  working,
  type Yield,
} from 'dragoman'
import type { AuthScheme } from 'dragoman/auth'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { proves } from '../../conformance/proves.js'
import type { Outcome } from './answers.js'
import { type Peer, send, startPeer } from './peer.js'

const secret = 'hunter2-s3cr3t-token'
const dsn = `postgres://admin:${secret}@db.internal:5432/tasks`

const json = { 'content-type': 'application/json' }

type Behaviour = (turn: Turn) => AsyncIterable<Yield>

const failures: readonly [name: string, behave: Behaviour][] = [
  [
    'throws before its first yield',
    async function* () {
      throw new Error(secret)
    },
  ],
  [
    'throws after its first yield',
    async function* () {
      yield 'hello '
      throw new Error(dsn)
    },
  ],
  [
    'throws after a status',
    async function* () {
      yield working('on it')
      throw new TypeError(secret)
    },
  ],
  [
    'throws a string',
    async function* () {
      yield 'x'
      throw secret
    },
  ],
  [
    'throws an object',
    async function* () {
      throw { message: secret, toString: () => secret, toJSON: () => secret }
    },
  ],
  [
    'throws undefined',
    async function* () {
      yield 'x'
      throw undefined
    },
  ],
  [
    'throws an error with a cause',
    async function* () {
      throw new Error('outer', { cause: new Error(secret) })
    },
  ],
  [
    'throws many errors',
    async function* () {
      throw new AggregateError([new Error(secret)], secret)
    },
  ],
  [
    'throws an error whose text throws',
    async function* () {
      throw trap()
    },
  ],
  [
    'refuses, with a secret cause',
    async function* () {
      throw new A2AError('UNSUPPORTED_OPERATION', 'Not today', { cause: new Error(secret) })
    },
  ],
  [
    'refuses late, with a secret cause',
    async function* () {
      yield 'x'
      throw new A2AError('UNSUPPORTED_OPERATION', 'Not today', { cause: secret })
    },
  ],
  [
    'throws while it is closed',
    async function* () {
      try {
        yield reply('bye')
      } finally {
        unsafe()
      }
    },
  ],
  [
    'is not a generator',
    () => {
      throw new Error(secret)
    },
  ],
  ['returns an object that is not iterable', () => ({}) as AsyncIterable<Yield>],
  [
    'yields a number',
    async function* () {
      yield 42 as unknown as Yield
    },
  ],
  [
    'yields an object with a secret',
    async function* () {
      yield { kind: secret } as unknown as Yield
    },
  ],
  [
    'yields an artifact without parts',
    async function* () {
      yield artifact('x', [])
    },
  ],
  [
    'rejects a promise without a handler',
    async function* () {
      Promise.reject(new Error(secret)).catch(() => undefined)
      yield 'x'
      throw new Error(secret)
    },
  ],
]

describe('an agent that fails', () => {
  it.each(failures)(proves(['E-8', 'R-TASK-7'], 'it %s, and no caller sees the secret'), async (_, behave) => {
    await using peer = await startPeer(agent('Leaky', behave))
    const responses = [
      await peer.call('SendMessage', send('go')),
      await peer.call('SendStreamingMessage', send('go')),
      await peer.rest('POST', '/message:send', send('go')),
      await peer.rest('POST', '/message:stream', send('go')),
      await peer.call('SendMessage', send('go'), { 'idempotency-key': 'k' }),
      ...(await everythingStored(peer)),
    ]
    for (const outcome of responses) {
      assert.ok(!outcome.text.includes(secret), outcome.text.slice(0, 500))
      assertSettled(outcome)
    }
  })

  it(proves('E-8', 'the log contains the secret'), async () => {
    await using peer = await startPeer(
      agent('Leaky', async function* () {
        yield 'x'
        throw new Error(secret)
      }),
    )
    await peer.call('SendMessage', send('go'))
    assert.ok(peer.logs.some(({ error }) => error instanceof Error && error.message === secret))
  })

  it(proves('E-8', 'the caller sees the message of an A2AError'), async () => {
    await using peer = await startPeer(
      agent('Picky', async function* () {
        throw new A2AError('UNSUPPORTED_OPERATION', 'Not today')
      }),
    )
    const { error } = await peer.call('SendMessage', send('go'))
    expect(error).toMatchObject({ reason: 'UNSUPPORTED_OPERATION', message: 'Not today' })
  })

  it(proves('R-TASK-7', 'no caller sees a secret that a schema throws'), async () => {
    const explosive = z.unknown().transform((): never => {
      throw new Error(secret)
    })
    const guarded = agent({ name: 'Guarded', skills: [{ id: 's', input: explosive }] }, async function* () {
      yield 'x'
    })
    await using peer = await startPeer(guarded, { mayBeInternal: true })
    const { text } = await peer.call('SendMessage', {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: 1 }] },
    })
    assert.ok(!text.includes(secret), text)
  })
})

describe('a server whose dependencies fail', () => {
  const quiet = agent(
    {
      name: 'Quiet',
      capabilities: { pushNotifications: true, extendedAgentCard: true },
      extendedCard: () => {
        throw new Error(secret)
      },
    },
    async function* () {
      yield 'x'
    },
  )

  const parts: readonly [name: string, start: () => Promise<Peer>][] = [
    ['the store', () => startPeer(quiet, { store: brokenStore(), mayBeInternal: true })],
    ['the access check', () => startPeer(quiet, { auth: [brokenAuth], mayBeInternal: true })],
    ['a wrapper', () => startPeer(quiet, { mayBeInternal: true, advanced: { wrap: () => brokenService() as never } })],
  ]

  it.each(parts)(proves('R-SEC-5', '%s throws secrets, and no caller sees them'), async (_, start) => {
    await using peer = await start()
    const paths: readonly [string, string, unknown?][] = [
      ['POST', '/message:send', send('go')],
      ['POST', '/message:stream', send('go')],
      ['GET', '/tasks'],
      ['GET', '/tasks/x'],
      ['GET', '/tasks/x:subscribe'],
      ['POST', '/tasks/x:cancel'],
      ['POST', '/tasks/x/pushNotificationConfigs', { url: 'https://x.example' }],
      ['GET', '/tasks/x/pushNotificationConfigs'],
      ['GET', '/extendedAgentCard'],
    ]
    for (const [method, path, body] of paths) {
      const response = await peer.handler.fetch(
        new Request(`http://localhost${path}`, {
          method,
          headers: json,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      )
      const answered = await response.text()
      assert.ok(!answered.includes(secret), answered)
      expect(JSON.parse(answered)).toHaveProperty('error.code', response.status)
    }
    const response = await peer.handler.fetch(
      new Request('http://localhost/', {
        method: 'POST',
        headers: json,
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: send('go') }),
      }),
    )
    assert.ok(!(await response.text()).includes(secret))
  })

  it(proves('R-SEC-5', 'the extended card throws secrets, and no caller sees them'), async () => {
    await using peer = await startPeer(quiet, { mayBeInternal: true })
    for (const { error, text } of [
      await peer.call('GetExtendedAgentCard', {}),
      await peer.rest('GET', '/extendedAgentCard'),
    ]) {
      assert.equal(error?.reason, 'INTERNAL_ERROR')
      assert.ok(!text.includes(secret))
    }
  })
})

describe.each(['memory', 'sqlite::memory:'])('an agent that yields a value that cannot be encoded, on %s', (store) => {
  const unencodable: readonly [name: string, value: () => unknown][] = [
    ['a big integer', () => 10n],
    ['a circle', () => circle()],
    ['a value whose `toJSON` throws', () => ({ toJSON: unsafe })],
    ['nothing', () => undefined],
    ['a function', () => unsafe],
    ['a symbol', () => Symbol(secret)],
  ]

  it.each(unencodable)(
    proves('R-TASK-7', '%s in an artifact ends the task or the call, and affects no other task'),
    async (_, value) => {
      await using peer = await startPeer(agentYielding(value), { store })
      await peer.call('SendMessage', send('fine'))
      for (const outcome of [
        await peer.call('SendMessage', send('unsayable')),
        await peer.call('SendStreamingMessage', send('unsayable')),
        await peer.call('SendMessage', send('late unsayable')),
        await peer.rest('POST', '/message:stream', send('late unsayable')),
      ]) {
        assert.ok(!outcome.text.includes(secret), outcome.text)
        assert.ok(
          outcome.error?.reason === 'INVALID_AGENT_RESPONSE' || lastState(outcome) === 'TASK_STATE_FAILED',
          outcome.text,
        )
      }
      for (const { text } of await everythingStored(peer)) assertParts(JSON.parse(text))
      await peer.assertAlive()
    },
  )
})

function agentYielding(value: () => unknown): Agent {
  return agent('Odd', async function* ({ text: asked }) {
    if (!asked.includes('unsayable')) return yield 'fine'
    if (asked.startsWith('late')) {
      yield 'hello '
      await new Promise((resolve) => setImmediate(resolve))
    }
    yield artifact('odd', [text('before'), data(value() as never)])
  })
}

/** Returns everything that a caller can read of its tasks. */
async function everythingStored(peer: Peer): Promise<readonly Outcome[]> {
  const list = await peer.call('ListTasks', { includeArtifacts: true })
  assert.equal(list.error, undefined, list.text)
  const { tasks } = list.result as { tasks: readonly { id: string }[] }
  const outcomes = [list, await peer.call('ListTasks', {}), await peer.rest('GET', '/tasks?includeArtifacts=true')]
  for (const { id } of tasks) outcomes.push(await peer.call('GetTask', { id }), await peer.rest('GET', `/tasks/${id}`))
  return outcomes
}

/** Expects a failed call, a failed task or a message, not a task that hangs. */
function assertSettled(outcome: Outcome): void {
  const state = lastState(outcome)
  if (state !== undefined) assert.match(state, /FAILED|REJECTED|COMPLETED/)
}

function lastState({ result, events }: Outcome): string | undefined {
  const holders = [result, ...events.map((event) => event.data)].filter(
    (holder) => holder !== undefined,
  ) as readonly Holder[]
  return holders
    .map((holder) => (holder.task ?? holder.statusUpdate)?.status.state)
    .findLast((state) => state !== undefined)
}

interface Holder {
  readonly task?: { readonly status: { readonly state: string } }
  readonly statusUpdate?: { readonly status: { readonly state: string } }
}

/** Expects exactly one content in every part (R-JSON-7). */
function assertParts(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (name === 'parts')
      for (const part of member as object[])
        assert.equal(['text', 'raw', 'url', 'data'].filter((kind) => kind in part).length, 1, JSON.stringify(part))
    assertParts(member)
  }
}

function circle(): object {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}

function unsafe(): never {
  throw new Error(secret)
}

function trap(): Error {
  const error = new Error('x')
  for (const name of ['message', 'stack', 'name', 'cause']) Object.defineProperty(error, name, { get: unsafe })
  return error
}

/** A store that opens and then fails every call with its connection string in the error. */
function brokenStore(): Store {
  const good = new MemoryStore()
  const failing = (...names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, async () => Promise.reject(new Error(`connect failed: ${dsn}`))]))
  const broken: Record<string, unknown> = {
    ...failing('append', 'load', 'read', 'list', 'findKey'),
    deliveries: { ...good.deliveries, ...failing('putConfig', 'listConfigs', 'getConfig', 'deleteConfig') },
  }
  return new Proxy(good, {
    get(store, name) {
      const own: unknown = broken[String(name)] ?? Reflect.get(store, name)
      return typeof own === 'function' ? own.bind(store) : own
    },
  })
}

const brokenAuth: AuthScheme = {
  name: 'broken',
  card: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
  challenge: () => 'Bearer',
  authenticate: async () => unsafe(),
}

function brokenService(): object {
  return new Proxy({}, { get: () => unsafe })
}
