/** Unusual headers: event ids, idempotency keys, versions, extensions. */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import type { Outcome } from './answers.js'
import { type Peer, send, startPeer } from './peer.js'

let peer: Peer

beforeAll(async () => {
  peer = await startPeer()
})

afterAll(async () => {
  await peer.assertAlive()
  await peer[Symbol.asyncDispose]()
})

describe('Last-Event-ID', () => {
  it.each([
    '-1',
    'abc',
    '1.5',
    '1e3',
    '0x10',
    '+1',
    'null',
    'Infinity',
    '1 2',
    '1,2',
    '99999999999999999999',
    '\u00b2',
    'x'.repeat(4000),
  ])(proves('E-4', '%j is rejected on every call, with the name of the header'), async (lastEventId) => {
    const headers = { 'last-event-id': lastEventId }
    for (const method of ['SubscribeToTask', 'GetTask'])
      assertFault(await peer.call(method, { id: await endedTask() }, headers))
    assertFault(await peer.call('SendStreamingMessage', send('x'), headers))
    assertFault(await peer.rest('GET', `/tasks/${await endedTask()}:subscribe`, undefined, headers))
    assertFault(await peer.rest('POST', '/message:stream', send('x'), headers))
  })

  it(proves('E-4', 'every event of an ended task after an id is replayed, also from the beginning'), async () => {
    const id = await endedTask()
    const all = await peer.call('SubscribeToTask', { id }, { 'last-event-id': '0' })
    assert.deepEqual(
      all.events.map((event) => event.id),
      [3, 4, 5],
    )
    for (const [place, rest] of [
      ['3', 2],
      ['4', 1],
    ] as const) {
      const { events } = await peer.call('SubscribeToTask', { id }, { 'last-event-id': place })
      assert.deepEqual(events, all.events.slice(-rest))
    }
    // Events 1 and 2 are private. No client has seen these ids, but they are valid.
    for (const place of ['1', '2']) {
      const { events } = await peer.call('SubscribeToTask', { id }, { 'last-event-id': place })
      assert.deepEqual(
        events.map((event) => event.id),
        [3, 4, 5],
      )
    }
  })

  it(
    proves('E-4', 'the last id of an ended task is an unsupported operation, and later ids are not found'),
    async () => {
      const id = await endedTask()
      const atEnd = await peer.call('SubscribeToTask', { id }, { 'last-event-id': '5' })
      assert.equal(atEnd.error?.reason, 'UNSUPPORTED_OPERATION')
      for (const place of ['6', '999999999999999'])
        assertFault(await peer.call('SubscribeToTask', { id }, { 'last-event-id': place }))
    },
  )

  it.each(['3', '5', '6', '999', '999999999999999'])(
    proves('E-4', 'a new streaming send with id %s is answered'),
    async (place) => {
      const { error, events } = await peer.call('SendStreamingMessage', send('hello'), { 'last-event-id': place })
      assert.ok(error || events.length > 0)
    },
  )

  it.each(['0', '3', '5', '6', '999'])(
    proves(['E-4', 'E-10'], 'a repeated streaming send with an idempotency key and id %s is answered'),
    async (place) => {
      const keyed = { 'idempotency-key': `place ${place}` }
      const params = send('hello')
      const first = await peer.call('SendStreamingMessage', params, keyed)
      const again = await peer.call('SendStreamingMessage', params, { ...keyed, 'last-event-id': place })
      const rest = first.events.filter(({ id = 0 }) => id > Number(place))
      if (rest.length > 0) assert.deepEqual(again.events, rest)
      else
        assert.ok(
          again.error?.reason === 'UNSUPPORTED_OPERATION' || again.error?.reason === 'INVALID_PARAMS',
          again.text,
        )
    },
  )

  it(
    proves('E-4', 'a repeated streaming send with an idempotency key and a Message as result is answered for any id'),
    async () => {
      const keyed = { 'idempotency-key': 'a message' }
      const params = send('msg hello')
      await peer.call('SendStreamingMessage', params, keyed)
      for (const place of ['0', '2', '3', '999']) {
        const { error, events } = await peer.call('SendStreamingMessage', params, { ...keyed, 'last-event-id': place })
        assert.ok(error || events.length === 1)
      }
    },
  )
})

describe('Idempotency-Key', () => {
  it(proves('E-10', 'a key of 255 characters is accepted, one of 256 is too long'), async () => {
    const good = await peer.call('SendMessage', send('x'), { 'idempotency-key': 'k'.repeat(255) })
    expect(good.result).toHaveProperty('task.id')
    const bad = await peer.call('SendMessage', send('x'), { 'idempotency-key': 'k'.repeat(256) })
    assert.equal(bad.error?.reason, 'INVALID_REQUEST')
  })

  it.each([
    'k',
    '0',
    'null',
    'undefined',
    '__proto__',
    'constructor',
    'a, b',
    '"quoted"',
    "' OR 1=1 --",
    '\u00e9\u00ff',
    'key:key:',
    '%00',
    '../../x',
    'a'.repeat(200),
  ])(proves('E-10', 'the key %j makes a send run once'), async (key) => {
    const params = send(`once ${key}`)
    const first = taskId(await peer.call('SendMessage', params, { 'idempotency-key': key }))
    const second = taskId(await peer.rest('POST', '/message:send', params, { 'idempotency-key': key }))
    assert.equal(second, first)
    const other = await peer.call('SendMessage', send('another body'), { 'idempotency-key': key })
    assert.equal(other.error?.reason, 'INVALID_REQUEST')
  })

  it(proves('E-10', 'an empty key is ignored'), async () => {
    const params = send('twice')
    const [first, second] = [
      await peer.call('SendMessage', params, { 'idempotency-key': '' }),
      await peer.call('SendMessage', params, { 'idempotency-key': '  ' }),
    ]
    assert.notEqual(taskId(first), taskId(second))
  })

  it(proves('E-10', 'fifty concurrent sends with one key are one task'), async () => {
    const params = send('chunks 3 5')
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => peer.call('SendMessage', params, { 'idempotency-key': 'all at once' })),
    )
    assert.equal(new Set(outcomes.map(taskId)).size, 1)
  })

  it(proves('E-10', 'a key is ignored on other calls'), async () => {
    const { result } = await peer.call('ListTasks', {}, { 'idempotency-key': 'k'.repeat(4000) })
    expect(result).toHaveProperty('tasks')
  })
})

describe('A2A-Version', () => {
  it.each(['99.0', '0.3', '0', 'one', '1.0,0.3', '1.', '.', '-1.0', '1e0', 'x'.repeat(4000), '__proto__'])(
    proves('R-VER-4', '%j is not supported for any method'),
    async (version) => {
      const outcomes = [
        await peer.call('SendMessage', send('x'), { 'a2a-version': version }),
        await peer.call('NoSuchMethod', {}, { 'a2a-version': version }),
        await peer.rest('POST', '/message:send', send('x'), { 'a2a-version': version }),
        await peer.rest('GET', '/tasks', undefined, { 'a2a-version': version }),
        await peer.rest('GET', `/tasks?A2A-Version=${encodeURIComponent(version)}`),
      ]
      for (const { error } of outcomes) assert.equal(error?.reason, 'VERSION_NOT_SUPPORTED')
    },
  )

  it.each(['1.0', ' 1.0 ', '1.0.1', '1.0.999-beta', ''])(proves('R-VER-5', '%j is supported'), async (version) => {
    const { result } = await peer.call('SendMessage', send('x'), { 'a2a-version': version })
    expect(result).toHaveProperty('task.id')
  })
})

describe('other headers', () => {
  it.each<[string, Readonly<Record<string, string>>]>([
    ['a thousand extensions', { 'a2a-extensions': Array.from({ length: 1000 }, (_, i) => `urn:${i}`).join(',') }],
    ['empty extensions', { 'a2a-extensions': ' ,,, , ' }],
    ['extensions that are no URIs', { 'a2a-extensions': '__proto__, <script>, \u00ff' }],
    ['a broken traceparent', { traceparent: 'not a trace' }],
    ['an invalid Accept', { accept: 'application/xml;q=NaN' }],
    ['forwarded nonsense', { 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '::::', forwarded: 'host=evil' }],
    ['a method override', { 'x-http-method-override': 'DELETE' }],
  ])(proves('R-EXT-2', '%s are ignored'), async (_, headers) => {
    for (const outcome of [
      await peer.call('SendMessage', send('x'), headers),
      await peer.rest('POST', '/message:send', send('x'), headers),
    ]) {
      expect(outcome.result).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED')
      assert.ok(!outcome.text.includes('evil'))
    }
  })

  it('the card does not take its address from the caller', async () => {
    const { text } = await peer.rest('GET', '/.well-known/agent-card.json', undefined, {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
    })
    assert.ok(!text.includes('evil'))
  })
})

async function endedTask(): Promise<string> {
  return taskId(await peer.call('SendMessage', send('hello')))
}

function taskId({ result, text }: Outcome): string {
  assert.ok(result, text)
  return (result as { task: { id: string } }).task.id
}

function assertFault({ error, text }: Outcome): void {
  assert.equal(error?.reason, 'INVALID_PARAMS', text)
  assert.deepEqual(error.fields, ['Last-Event-ID'])
  assert.ok(text.length < 2000)
}
