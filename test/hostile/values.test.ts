/** Valid JSON with hostile values: deep, many, long, and with names that are special in JavaScript. */
import assert from 'node:assert/strict'
import { afterEach, describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import type { Outcome } from './answers.js'
import { envelope, message, send, startPeer } from './peer.js'

interface TaskResult {
  readonly task: {
    readonly id: string
    readonly contextId: string
    readonly history: readonly {
      readonly messageId: string
      readonly parts: readonly Record<string, unknown>[]
      readonly metadata?: object
    }[]
    readonly artifacts?: readonly { readonly parts: readonly object[] }[]
  }
}

describe('nesting', () => {
  it.each<[string, string]>([
    ['5 MB of open brackets', '['.repeat(5_000_000)],
    ['5 MB of open objects', '{"a":'.repeat(1_000_000)],
    ['brackets that close again', `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`],
    ['brackets behind a string full of quotes', `{"a":"${'\\"'.repeat(2000)}","b":${'['.repeat(100_000)}`],
  ])(proves('R-RPC-2', '%s are a parse error, at once'), async (_, body) => {
    await using peer = await startPeer()
    const started = performance.now()
    assert.equal((await peer.rpc(body)).error?.reason, 'PARSE_ERROR')
    assert.equal((await peer.rest('POST', '/message:send', body)).error?.reason, 'PARSE_ERROR')
    assert.ok(performance.now() - started < 3000)
    await peer.assertAlive()
  })

  it.each<[string, string]>([
    ['metadata of 10,000 levels', `{"message":${JSON.stringify(message('x'))},"metadata":${nested(10_000)}}`],
    [
      'metadata of a message of 10,000 levels',
      `{"message":${JSON.stringify(message('x')).slice(0, -1)},"metadata":${nested(10_000)}}}`,
    ],
    [
      'a data part of 1,000 levels',
      `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${arrays(1000)}}]}}`,
    ],
    ['a data part of 200 levels', `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${arrays(200)}}]}}`],
    [
      'an unknown member of 100,000 levels',
      `{"message":${JSON.stringify(message('x'))},"surprise":${arrays(100_000)}}`,
    ],
  ])(proves('R-ERR-8', '%s are refused on both bindings'), async (_, params) => {
    await using peer = await startPeer()
    for (const { error } of [
      await peer.call('SendMessage', params),
      await peer.rest('POST', '/message:stream', params),
    ]) {
      assert.ok(error?.reason === 'PARSE_ERROR' || error?.reason === 'INVALID_PARAMS', error?.reason)
    }
    await peer.assertAlive()
  })

  it(proves('R-ERR-3', 'a small request with too deep a value is rejected with its path'), async () => {
    await using peer = await startPeer()
    const { error } = await peer.call(
      'SendMessage',
      `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"x":${arrays(100)}}}]}}`,
    )
    assert.equal(error?.reason, 'INVALID_PARAMS')
    assert.ok(error.fields[0]?.startsWith('message.parts[0].data.x[0][0]'), error.fields[0])
  })

  it('keeps moderately nested values', async () => {
    await using peer = await startPeer()
    const data: unknown = JSON.parse(arrays(50))
    const { task } = taskOf(
      await peer.call('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data }] } }),
    )
    assert.deepEqual(task.history[0]?.parts, [{ data }])
  })
})

describe('names that are special in JavaScript', () => {
  afterEach(() => {
    for (const sample of [{}, [], () => undefined, '', 0])
      assert.equal(Reflect.get(Object(sample), 'polluted'), undefined)
    assert.equal(Object.getOwnPropertyNames(Object.prototype).includes('polluted'), false)
  })

  const poison = '{"polluted":true,"constructor":{"prototype":{"polluted":true}},"prototype":{"polluted":true}}'

  it.each<[name: string, params: string, field: string]>([
    [
      'metadata',
      `{"message":${JSON.stringify(message('x'))},"metadata":{"__proto__":${poison}}}`,
      'metadata.__proto__',
    ],
    [
      'nested metadata',
      `{"message":${JSON.stringify(message('x'))},"metadata":{"a":[{"__proto__":null}]}}`,
      'metadata.a[0].__proto__',
    ],
    ['metadata of a message', inMessage(`"metadata":{"__proto__":${poison}}`), 'message.metadata.__proto__'],
    [
      'metadata of a part',
      inPart(`"text":"x","metadata":{"__proto__":${poison}}`),
      'message.parts[0].metadata.__proto__',
    ],
    ['a data part', inPart(`"data":{"__proto__":${poison}}`), 'message.parts[0].data.__proto__'],
    ['an array in a data part', inPart(`"data":[[{"__proto__":${poison}}]]`), 'message.parts[0].data[0][0].__proto__'],
  ])(proves('R-JSON-12', '__proto__ in %s is refused by its path'), async (_, params, field) => {
    await using peer = await startPeer()
    for (const { error } of [
      await peer.call('SendMessage', params),
      await peer.rest('POST', '/message:send', params),
    ]) {
      assert.equal(error?.reason, 'INVALID_PARAMS')
      assert.deepEqual(error.fields, [field])
    }
  })

  it.each<[name: string, params: string]>([
    [
      'the request',
      `{"__proto__":${poison},"constructor":${poison},"prototype":1,"message":${JSON.stringify(message('x'))}}`,
    ],
    ['the message', inMessage(`"__proto__":${poison},"constructor":${poison},"toString":1,"hasOwnProperty":null`)],
    ['a part', inPart(`"text":"x","__proto__":${poison},"constructor":${poison},"valueOf":1`)],
    [
      'the configuration',
      `{"message":${JSON.stringify(message('x'))},"configuration":{"__proto__":{"returnImmediately":true},"constructor":1}}`,
    ],
  ])(proves('R-JSON-6', 'at the top level of %s they are unknown members like others'), async (_, params) => {
    await using peer = await startPeer()
    for (const outcome of [await peer.call('SendMessage', params), await peer.rest('POST', '/message:send', params)]) {
      const { task } = taskOf(outcome)
      expect(task).toHaveProperty('status.state', 'TASK_STATE_COMPLETED')
      assert.ok(!outcome.text.includes('polluted'))
    }
  })

  it(proves('R-RPC-2', '__proto__ beside the envelope changes nothing'), async () => {
    await using peer = await startPeer()
    const { error } = await peer.rpc(`{"__proto__":${envelope('SendMessage', send('x'))}}`)
    assert.equal(error?.reason, 'INVALID_REQUEST')
  })

  it(proves('R-JSON-12', 'constructor and prototype are ordinary names in metadata, and come back'), async () => {
    await using peer = await startPeer()
    const metadata = {
      constructor: { prototype: { polluted: true } },
      prototype: 1,
      toString: 'x',
      hasOwnProperty: null,
      length: 5,
    }
    const { task } = taskOf(await peer.call('SendMessage', { message: message('x', { metadata }) }))
    assert.deepEqual(task.history[0]?.metadata, metadata)
  })

  it('a query may contain such names', async () => {
    await using peer = await startPeer()
    const { result } = await peer.rest(
      'GET',
      '/tasks?__proto__=1&__proto__[polluted]=1&constructor=2&constructor.prototype.polluted=3&hasOwnProperty=4',
    )
    expect(result).toHaveProperty('totalSize', 0)
  })
})

describe.each(['memory', 'sqlite::memory:'])('text on %s', (store) => {
  const texts: readonly [string, string][] = [
    ['NUL characters', 'a\0b\0\0'],
    ['a lone high surrogate', 'a\ud800b'],
    ['a lone low surrogate', '\udc00'],
    ['surrogates the wrong way round', '\udc00\ud800'],
    ['control characters', Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join('')],
    ['line and paragraph separators', 'a\u2028b\u2029c\u0085d'],
    ['line breaks that look like events', 'x\n\nid: 99\ndata: {"jsonrpc":"2.0"}\r\n\r\n:\n\n'],
    ['right-to-left overrides', '\u202e\u2066gnp.exe\u2069'],
    ['emoji, joiners and combining marks', '👩‍👩‍👧‍👦🏴‍☠️Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢'],
    ['noncharacters', '\uffff\ufffe\u{10ffff}'],
    ['markup', '</script><script>alert(1)</script>&amp;<!--'],
  ]

  it.each(texts)(
    proves(['R-JSON-14', 'R-HIST-6'], '%s come back unchanged, at once and from the store'),
    async (_, nasty) => {
      await using peer = await startPeer(undefined, { store })
      const sent = {
        messageId: `m${nasty}`,
        role: 'ROLE_USER',
        parts: [{ text: nasty }, { data: { [nasty]: [nasty] } }],
        metadata: { [nasty]: nasty },
      }
      const { task } = taskOf(await peer.call('SendMessage', { message: sent }))
      const { result: stored } = await peer.call('GetTask', { id: task.id })
      const streamed = await peer.call('SendStreamingMessage', { message: sent })
      for (const each of [
        task,
        stored as TaskResult['task'],
        (streamed.events[0]?.data as { task: TaskResult['task'] } | undefined)?.task,
      ]) {
        expect(each?.history[0]).toMatchObject(sent)
      }
      assert.equal(streamed.events.length, 3)
    },
  )

  it.each(texts)(
    proves(['R-CTX-3', 'R-CTX-4'], 'a context id with %s is stored and found again, or rejected with its path'),
    async (_, nasty) => {
      await using peer = await startPeer(undefined, { store })
      const contextId = `context-${nasty}-end`
      const first = await peer.call('SendMessage', { message: message('ask', { contextId }) })
      if (first.error) return assert.deepEqual(first.error.fields, ['message.contextId'])
      const { task } = taskOf(first)
      await peer.call('SendMessage', { message: message('other', { contextId: 'context-' }) })
      const { result } = await peer.call('ListTasks', { contextId })
      expect(result).toMatchObject({ totalSize: 1, tasks: [{ id: task.id, contextId }] })
      const { task: ended } = taskOf(
        await peer.call('SendMessage', { message: message('answer', { contextId, taskId: task.id }) }),
      )
      expect(ended).toMatchObject({ id: task.id, contextId, status: { state: 'TASK_STATE_COMPLETED' } })
    },
  )

  it(proves('R-CTX-7', 'contexts whose ids differ after a NUL are different'), async () => {
    await using peer = await startPeer(undefined, { store })
    await peer.call('SendMessage', { message: message('x', { contextId: 'same\0one' }) })
    await peer.call('SendMessage', { message: message('x', { contextId: 'same\0two' }) })
    for (const [contextId, found] of [
      ['same\0one', 1],
      ['same\0two', 1],
      ['same', 0],
      ['same\0', 0],
    ] as const) {
      const { result } = await peer.call('ListTasks', { contextId })
      expect(result).toHaveProperty('totalSize', found)
    }
  })
})

describe('values that look empty', () => {
  it.each([
    { text: '' },
    { url: '' },
    { raw: '' },
    { data: null },
    { data: '' },
    { data: 0 },
    { data: false },
    { data: [] },
    { data: {} },
  ])(proves(['R-JSON-7', 'R-JSON-8'], 'the part %j has a content, which is kept'), async (part) => {
    await using peer = await startPeer()
    const { task } = taskOf(
      await peer.call('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [part] } }),
    )
    assert.deepEqual(task.history[0]?.parts, [part])
  })
})

describe('size', () => {
  it(proves('R-HIST-6', '1,000 parts come back as they were'), async () => {
    await using peer = await startPeer()
    const parts = Array.from({ length: 1_000 }, (_, i) => ({ text: String(i) }))
    const { task } = taskOf(await peer.call('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts } }))
    assert.deepEqual(task.history[0]?.parts, parts)
  })

  it(proves('R-HIST-6', 'the longest ids come back as they were'), async () => {
    await using peer = await startPeer()
    const [id, long] = ['i'.repeat(255), 'i'.repeat(1_000_000)]
    const ids = { messageId: id, contextId: id, referenceTaskIds: [long] }
    const { task } = taskOf(await peer.call('SendMessage', { message: message('x', ids) }))
    expect(task.history[0]).toMatchObject(ids)
  })

  it('a name of a megabyte in metadata is kept', async () => {
    await using peer = await startPeer()
    const metadata = { ['k'.repeat(1_000_000)]: 1 }
    const { task } = taskOf(await peer.call('SendMessage', { message: message('x', { metadata }) }))
    assert.deepEqual(task.history[0]?.metadata, metadata)
  })

  it.each<[string, string, string]>([
    ['the id of a task', 'GetTask', JSON.stringify({ id: 'i'.repeat(1_000_000) })],
    [
      'the task of a message',
      'SendMessage',
      JSON.stringify({ message: message('x', { taskId: 'i'.repeat(1_000_000) }) }),
    ],
    ['the tenant', 'ListTasks', JSON.stringify({ tenant: 't'.repeat(1_000_000) })],
    [
      'the name of a bad field',
      'SendMessage',
      `{"message":${JSON.stringify(message('x'))},"metadata":{"${'k'.repeat(1_000_000)}":1e999}}`,
    ],
  ])(proves('R-ERR-1', 'an error does not repeat %s when it is a megabyte long'), async (_, method, params) => {
    await using peer = await startPeer()
    const { error, text } = await peer.call(method, params)
    assert.ok(error)
    assert.ok(text.length < 64 * 1024, `an error of ${text.length} bytes`)
  })

  it('integers beyond 2^53 and long fractions lose only the precision that JavaScript numbers lose', async () => {
    await using peer = await startPeer()
    const { task } = taskOf(
      await peer.call('SendMessage', inPart(`"data":[9007199254740993,-0,1e308,5e-324,0.1,${'9'.repeat(300)}]`)),
    )
    assert.deepEqual(task.history[0]?.parts, [{ data: [9007199254740992, 0, 1e308, 5e-324, 0.1, 1e300] }])
  })
})

function taskOf({ result, error, text }: Outcome): TaskResult {
  assert.equal(error, undefined, text.slice(0, 500))
  return result as TaskResult
}

function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
}

function arrays(levels: number): string {
  return `${'['.repeat(levels)}${']'.repeat(levels)}`
}

function inMessage(members: string): string {
  return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],${members}}}`
}

function inPart(members: string): string {
  return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{${members}}]}}`
}
