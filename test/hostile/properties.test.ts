/** Random JSON, random bytes, and mutated valid requests. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import type { OperationCodec } from '../../src/dialects/dialect.js'
import { v1 } from '../../src/dialects/v1/index.js'
import type { Operation } from '../../src/model/operations.js'
import { operations } from '../../src/model/operations.js'
import type { Outcome } from './answers.js'
import { jsonObject, jsonValue, type ValidRequest, validMessage, validRequests, wellFormedText } from './arbitraries.js'
import { damaged } from './mutate.js'
import { envelope, type Peer, send, startPeer } from './peer.js'
import { snakeCased } from './snake-case.js'

const methods = Object.values(operations).map(({ name }) => name)
const facts = { newId: () => 'id', header: () => null }

let peer: Peer

beforeAll(async () => {
  peer = await startPeer()
})

afterAll(async () => {
  await peer.assertAlive()
  assert.deepEqual(peer.logs, [], 'nothing was worth an error in the log')
  await peer[Symbol.asyncDispose]()
})

// `rpc`, `call` and `rest` check the form and the time of every response; some properties check more.
describe('the response is well-formed for any request', { timeout: 60_000 }, () => {
  it(proves('R-RPC-2', 'random JSON as a JSON-RPC body'), () =>
    holds(300, jsonValue(), async (value) => {
      const { error } = await peer.rpc(JSON.stringify(value))
      assert.equal(error?.reason, 'INVALID_REQUEST')
    }),
  )

  it(proves('R-RPC-2', 'random members in a JSON-RPC envelope'), () =>
    holds(
      300,
      fc.record(
        {
          jsonrpc: fc.oneof(fc.constant('2.0'), jsonValue()),
          id: jsonValue(),
          method: fc.oneof(fc.constantFrom(...methods), fc.string()),
          params: jsonValue(),
        },
        { requiredKeys: [] },
      ),
      async (body) => {
        const { id } = await peer.rpc(JSON.stringify(body))
        const isId = typeof body.id === 'string' || typeof body.id === 'number'
        assert.deepEqual(id, isId ? JSON.parse(JSON.stringify(body.id)) : null)
      },
    ),
  )

  it.each(methods)(proves('R-ERR-8', 'random params of %s'), (method) =>
    holds(100, fc.oneof(jsonValue(), jsonObject()), async (params) => {
      await peer.call(method, JSON.stringify(params))
    }),
  )

  it(proves('R-RPC-2', 'random bytes'), () =>
    holds(300, fc.uint8Array({ maxLength: 3000 }), async (bytes) => {
      const { error } = await peer.rpc(Uint8Array.from(bytes))
      assert.ok(error)
      await peer.rest('POST', '/message:send', Uint8Array.from(bytes))
    }),
  )

  it(proves('R-RPC-2', 'valid requests with random bytes in them'), () =>
    holds(300, fc.tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 })), async ([place, noise]) => {
      const bytes = new TextEncoder().encode(envelope('SendMessage', send('hello')))
      bytes.set(noise, place % (bytes.length - noise.length))
      await peer.rpc(bytes)
    }),
  )

  it(proves('R-RPC-2', 'truncated valid requests'), () =>
    holds(200, fc.nat(), async (place) => {
      const body = envelope('SendMessage', send('hello'))
      const { error } = await peer.rpc(body.slice(0, place % body.length))
      assert.equal(error?.reason, 'PARSE_ERROR')
    }),
  )

  it(proves('R-ERR-8', 'mutated valid requests of every method'), async () => {
    const requests = await validRequests(peer)
    const bodyOf = ({ method, params }: ValidRequest) => ({ jsonrpc: '2.0', id: 1, method, params })
    await holds(600, damaged(requests, bodyOf), async ([, body]) => {
      await peer.rpc(body)
    })
  })

  it(proves('R-ERR-8', 'the same on HTTP+JSON'), async () => {
    const requests = (await validRequests(peer)).filter(({ path }) => path !== undefined)
    const bodyOf = ({ params }: ValidRequest) => params
    await holds(300, damaged(requests, bodyOf), async ([{ path = '' }, body]) => {
      await peer.rest('POST', path, body)
    })
  })

  it(proves('R-REST-1', 'random paths, queries and verbs'), () =>
    holds(
      300,
      fc.tuple(
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
        fc.webPath(),
        fc.webQueryParameters(),
      ),
      async ([method, path, query]) => {
        if (/^\/+$/.test(new URL(`http://localhost${path}`).pathname)) return // the JSON-RPC endpoint
        const { error } = await peer.rest(method, `${path}?${query}`)
        assert.equal(error?.reason, 'METHOD_NOT_FOUND')
      },
    ),
  )

  it(proves('R-REST-1', 'random ids in every path'), () =>
    holds(200, fc.string({ unit: 'binary', minLength: 1, maxLength: 50 }), async (id) => {
      const segment = encodeURIComponent(id)
      if (segment === '.' || segment === '..') return // a URL removes these segments
      for (const [method, path] of [
        ['GET', `/tasks/${segment}`],
        ['POST', `/tasks/${segment}:cancel`],
        ['GET', `/tasks/${segment}/pushNotificationConfigs/${segment}`],
      ] as const) {
        const { error } = await peer.rest(method, path)
        assert.equal(error?.reason, 'TASK_NOT_FOUND', path)
      }
    }),
  )

  it(proves('R-REST-2', 'random query parameters of a list'), () =>
    holds(
      300,
      fc.dictionary(
        fc.constantFrom(
          'contextId',
          'status',
          'pageSize',
          'pageToken',
          'historyLength',
          'statusTimestampAfter',
          'includeArtifacts',
          'tenant',
          'page_size',
        ),
        fc.string({ unit: 'binary' }),
      ),
      async (query) => {
        await peer.rest('GET', `/tasks?${new URLSearchParams(query)}`)
      },
    ),
  )
})

describe('valid values are returned unchanged', { timeout: 60_000 }, () => {
  it.each(['memory', 'sqlite::memory:'])(proves('R-HIST-6', 'messages of all kinds, on %s'), async (store) => {
    await using other = await startPeer(undefined, { store })
    await holds(200, validMessage, async (sent) => {
      const { task } = resultOf(await other.call('SendMessage', { message: sent })) as {
        task: { id: string; contextId: string; history: readonly object[] }
      }
      const stored = resultOf(await other.rest('GET', `/tasks/${task.id}`)) as typeof task
      const expected = { ...sent, taskId: task.id, contextId: task.contextId }
      assert.deepEqual(task.history, [expected])
      assert.deepEqual(stored.history, [expected])
    })
  })

  it(proves('R-STRM-3', 'and in streams'), () =>
    holds(100, validMessage, async (sent) => {
      const { events, text } = await peer.call('SendStreamingMessage', { message: sent })
      const [first] = events
      assert.ok(first, text)
      const { task } = first.data as { task: { id: string; contextId: string; history: readonly object[] } }
      assert.deepEqual(task.history, [{ ...sent, taskId: task.id, contextId: task.contextId }])
    }),
  )

  it(proves('R-JSON-14', 'text in the reply of the agent'), () =>
    holds(
      200,
      wellFormedText.filter((text) => text !== ''),
      async (text) => {
        const { task } = resultOf(
          await peer.call('SendMessage', {
            message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: `"${text}` }] },
          }),
        ) as { task: { artifacts: unknown } }
        assert.deepEqual(task.artifacts, [{ artifactId: 'artifact-1-1', parts: [{ text: `"${text}` }] }])
      },
    ),
  )
})

describe('snake_case', () => {
  it(proves('R-JSON-2', 'a request in the names of the protocol file decodes to the same request'), async () => {
    const requests = await validRequests(peer)
    const byName = new Map<string, Operation>(
      Object.entries(operations).map(([operation, { name }]) => [name, operation as Operation]),
    )
    for (const { method, params } of requests) {
      const codec = v1.rest?.operations[byName.get(method) ?? 'sendMessage']
      assert.ok(codec)
      assert.deepEqual(codec.decode(snakeCased(params), facts), codec.decode(params, facts), method)
    }
  })

  it(proves('R-JSON-2', 'and so does every message'), () =>
    holds(
      300,
      fc.record(
        {
          message: validMessage,
          configuration: fc.record(
            {
              historyLength: fc.nat(),
              returnImmediately: fc.boolean(),
              acceptedOutputModes: fc.array(fc.constant('text/plain'), { minLength: 1 }),
            },
            { requiredKeys: [] },
          ),
          metadata: jsonObject(),
        },
        { requiredKeys: ['message'] },
      ),
      async (request) => {
        const codec: OperationCodec | undefined = v1.rest?.operations.sendMessage
        assert.ok(codec)
        assert.deepEqual(
          codec.decode(JSON.parse(JSON.stringify(snakeCased(request))), facts),
          codec.decode(JSON.parse(JSON.stringify(request)), facts),
        )
      },
    ),
  )
})

/** Runs a property; a failure names its seed and its smallest case. */
async function holds<T>(runs: number, arbitrary: fc.Arbitrary<T>, check: (value: T) => Promise<void>): Promise<void> {
  await fc.assert(fc.asyncProperty(arbitrary, check), {
    numRuns: runs,
    timeout: 10_000,
    interruptAfterTimeLimit: 50_000,
    markInterruptAsFailure: true,
  })
}

function resultOf({ result, text }: Outcome): unknown {
  assert.ok(result, text)
  return result
}
