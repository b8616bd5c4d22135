/** Invalid page sizes, and page tokens of other callers, of other lists, or forged. */
import assert from 'node:assert/strict'
import { apiKey } from 'dragoman'
import { describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import type { Outcome } from './answers.js'
import { type Peer, send, startPeer } from './peer.js'

interface Page {
  readonly tasks: readonly { readonly id: string; readonly contextId: string }[]
  readonly nextPageToken: string
  readonly totalSize: number
}

const stores = ['memory', 'sqlite::memory:']

describe.each(stores)('pages of tasks on %s', (store) => {
  it.each([
    0,
    -1,
    -2_147_483_648,
    101,
    2_147_483_647,
    2_147_483_648,
    1.5,
    '0',
    '-5',
    'ten',
    '',
    ' 5',
    '0x10',
    true,
    [],
    {},
  ])(proves('R-LIST-5', 'a page of %j is refused'), async (pageSize) => {
    await using peer = await startPeer(undefined, { store })
    assertFault(await peer.call('ListTasks', { pageSize }), 'pageSize')
    if (typeof pageSize === 'object') return
    assertFault(await peer.rest('GET', `/tasks?pageSize=${encodeURIComponent(String(pageSize))}`), 'pageSize')
  })

  it.each<[object, string]>([
    [{ status: 'TASK_STATE_DREAMING' }, 'status'],
    [{ status: 'completed' }, 'status'],
    [{ status: 99 }, 'status'],
    [{ status: -3 }, 'status'],
    [{ status: {} }, 'status'],
    [{ historyLength: -1 }, 'historyLength'],
    [{ historyLength: 'all' }, 'historyLength'],
    [{ includeArtifacts: 'yes' }, 'includeArtifacts'],
    [{ includeArtifacts: 1 }, 'includeArtifacts'],
    [{ contextId: 5 }, 'contextId'],
    [{ statusTimestampAfter: 'yesterday' }, 'statusTimestampAfter'],
    [{ statusTimestampAfter: '2026-13-01T00:00:00Z' }, 'statusTimestampAfter'],
    [{ statusTimestampAfter: '2026-01-01T99:00:00Z' }, 'statusTimestampAfter'],
    [{ statusTimestampAfter: '2026-01-01' }, 'statusTimestampAfter'],
    [{ statusTimestampAfter: 1_700_000_000 }, 'statusTimestampAfter'],
    [{ statusTimestampAfter: '+275760-09-13T00:00:00.000Z' }, 'statusTimestampAfter'],
  ])(proves(['R-JSON-3', 'R-JSON-11'], 'the filter %j is refused'), async (params, field) => {
    await using peer = await startPeer(undefined, { store })
    assertFault(await peer.call('ListTasks', params), field)
    const [name, value] = Object.entries(params)[0] ?? []
    if (typeof value === 'object' || name === 'contextId') return
    assertFault(await peer.rest('GET', `/tasks?${name}=${encodeURIComponent(String(value))}`), field)
  })

  it(proves('R-LIST-2', 'the earliest and latest times select the right tasks'), async () => {
    await using peer = await startPeer(undefined, { store })
    await peer.call('SendMessage', send('one'))
    for (const [statusTimestampAfter, found] of [
      ['0000-01-01T00:00:00Z', 1],
      ['0000-01-01T00:00:00+23:59', 1],
      ['1969-12-31T23:59:59.999999999Z', 1],
      ['9999-12-31T23:59:59.999Z', 0],
      ['9999-12-31T23:59:59-23:59', 0],
    ] as const) {
      assert.equal(
        pageOf(await peer.call('ListTasks', { statusTimestampAfter })).totalSize,
        found,
        statusTimestampAfter,
      )
    }
  })

  it.each(['garbage', '!!!', '=', '\0', '\ud800', 'null', '[]', '{}', 'x'.repeat(100_000), ...forged()])(
    proves('R-LIST-6', 'the token %j is rejected'),
    async (pageToken) => {
      await using peer = await startPeer(undefined, { store })
      await fill(peer, 2)
      assertFault(await peer.call('ListTasks', { pageToken }), 'pageToken')
      if (pageToken.length < 1000)
        assertFault(
          await peer.rest('GET', `/tasks?pageToken=${encodeURIComponent(Buffer.from(pageToken).toString())}`),
          'pageToken',
        )
    },
  )

  it(proves('R-LIST-6', 'a token is valid for its filter only'), async () => {
    await using peer = await startPeer(undefined, { store })
    await fill(peer, 3)
    const filters: readonly object[] = [
      {},
      { contextId: 'here' },
      { contextId: 'there' },
      { status: 'TASK_STATE_COMPLETED' },
      { status: 'TASK_STATE_FAILED' },
      { contextId: 'here', status: 'TASK_STATE_COMPLETED' },
      { statusTimestampAfter: '2020-01-01T00:00:00.000Z' },
      { statusTimestampAfter: '2020-01-01T00:00:00.001Z' },
    ]
    for (const made of filters) {
      const { nextPageToken: pageToken } = pageOf(await peer.call('ListTasks', { ...made, pageSize: 1 }))
      if (pageToken === '') continue
      for (const used of filters) {
        const outcome = await peer.call('ListTasks', { ...used, pageSize: 1, pageToken })
        if (used === made) assert.equal(pageOf(outcome).tasks.length, 1)
        else assertFault(outcome, 'pageToken')
      }
    }
  })

  it(proves('R-LIST-6', 'a modified token never shows a task twice or a task of another caller'), async () => {
    const auth = [apiKey({ 'key-a': 'alice', 'key-b': 'bob' })]
    await using peer = await startPeer(undefined, { store, auth })
    const [alice, bob] = [{ 'x-api-key': 'key-a' }, { 'x-api-key': 'key-b' }]
    for (let i = 0; i < 3; i++) await peer.call('SendMessage', send('mine'), alice)
    const { nextPageToken: pageToken } = pageOf(await peer.call('ListTasks', { pageSize: 1 }, alice))
    assert.deepEqual(pageOf(await peer.call('ListTasks', { pageSize: 1, pageToken }, bob)).tasks, [])
    for (const position of [
      '0.0',
      '1.1',
      '9999999999999999.9999999999999999',
      '0000000000000000.0',
      '9007199254740993.1',
    ]) {
      const outcome = await peer.call('ListTasks', { pageToken: token([position, '', '', '']) }, bob)
      if (!outcome.error) assert.deepEqual(pageOf(outcome).tasks, [], position)
    }
  })

  it(proves('R-PUSH-4', 'lists of webhooks accept any token without an internal error'), async () => {
    await using peer = await startPeer(undefined, { store })
    const { result } = await peer.call('SendMessage', send('hook me'))
    const { task } = result as { task: { id: string } }
    for (const id of ['a', 'b', 'c'])
      await peer.call('CreateTaskPushNotificationConfig', { taskId: task.id, id, url: 'https://x.example' })
    for (const pageToken of ['garbage', '\0', '\ud800', 'x'.repeat(100_000), token(['1.1', '', '', ''])]) {
      const { error, result } = await peer.call('ListTaskPushNotificationConfigs', { taskId: task.id, pageToken })
      if (error) assert.equal(error.reason, 'INVALID_PARAMS')
      else assert.ok(Array.isArray((result as { configs: unknown }).configs))
    }
    for (const pageSize of [-1, 101, 1.5, 'x']) {
      assertFault(await peer.call('ListTaskPushNotificationConfigs', { taskId: task.id, pageSize }), 'pageSize')
    }
  })
})

async function fill(peer: Peer, count: number): Promise<void> {
  for (const contextId of ['here', 'there']) {
    for (let i = 0; i < count; i++) {
      for (const text of ['hello', 'fail'])
        await peer.call('SendMessage', {
          message: { messageId: `${i}`, contextId, role: 'ROLE_USER', parts: [{ text }] },
        })
    }
  }
}

/** Tokens with a valid format and invalid content. */
function forged(): readonly string[] {
  const contents = [
    [],
    [1],
    ['', '', '', ''],
    ['1', '', '', ''],
    ['1.1'],
    ['1.1', ''],
    ['1.1', '', '', '', ''],
    ['-1.1', '', '', ''],
    ['1e3.1', '', '', ''],
    ["1.1' OR 1=1", '', '', ''],
    [{ toString: '1.1' }, '', '', ''],
    ['99999999999999999.1', '', '', ''],
  ]
  return contents.map(token)
}

function token(content: unknown): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url')
}

function pageOf({ result }: Outcome): Page {
  return result as Page
}

function assertFault({ error }: Outcome, field: string): void {
  assert.equal(error?.reason, 'INVALID_PARAMS')
  assert.deepEqual(error.fields, [field])
}
