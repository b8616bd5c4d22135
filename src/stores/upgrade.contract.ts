/** The suite for a store that was opened on the data of an earlier schema (`test/fixtures/stores`). */
import assert from 'node:assert/strict'
import { wholeHistory } from '../model/history-window.js'
import { append, chunk, creation, ending, key, message } from './contract-steps.js'
import type { CompleteStore } from './store.js'

/** `keepsLeases`: whether leases of processes that still run are valid after the upgrade. */
export async function assertUpgraded(
  store: CompleteStore,
  { keepsLeases }: { readonly keepsLeases: boolean },
): Promise<void> {
  const view = async (id: string) =>
    (await store.view(key(id), { history: wholeHistory, includeArtifacts: true }))?.task
  const artifacts = (...texts: string[]) => [{ artifactId: 'x', parts: texts.map((text) => ({ text })) }]
  const everything = { agent: 'a', tenant: '', owner: 'ann', history: wholeHistory, includeArtifacts: true, limit: 10 }
  const claim = { agents: ['a'], lease: { owner: 'p-new', ttlMs: 60_000 }, limit: 9 }

  const ended = await view('ended')
  assert.equal(ended?.status.state, 'TASK_STATE_COMPLETED')
  assert.deepEqual(ended?.artifacts, artifacts('done'))
  const waiting = await view('waiting')
  assert.equal(waiting?.status.state, 'TASK_STATE_INPUT_REQUIRED')
  assert.deepEqual(
    waiting?.history?.map(({ messageId }) => messageId),
    ['m-hello', 'q'],
  )
  const running = await view('running')
  assert.equal(running?.status.state, 'TASK_STATE_WORKING')
  assert.deepEqual(running?.artifacts, artifacts('one ', 'two '))
  assert.deepEqual(
    (await store.read(key('running'), 0, 100))?.map(({ seq }) => seq),
    [1, 2, 3, 4, 5, 6],
  )
  const { tasks, total } = await store.list(everything)
  assert.deepEqual([tasks.map(({ task }) => task.id), total], [['waiting', 'running', 'ended'], 3])

  const { owner } = everything
  assert.deepEqual(await store.findKey(everything, 'k1'), { taskId: 'ended', digest: 'd-k1', seq: 1 })
  assert.equal((await store.findKey(everything, 'k2'))?.taskId, 'message')
  const sizes = await Promise.all(['running', 'ended', 'waiting', 'message'].map((id) => store.find(key(id))))
  assert.ok(sizes.every((record) => record && record.bytes > 100))
  assert.equal(
    await store.bytesOf('a', owner),
    sizes.reduce((sum, record) => sum + (record?.bytes ?? 0), 0),
  )
  assert.deepEqual((await store.records.get('cards', 'one'))?.value, { name: 'One' })

  const record = await store.find(key('running'))
  assert.deepEqual([record?.fencingToken, record?.leaseOwner], [1, keepsLeases ? 'p-old' : undefined])
  if (keepsLeases) {
    assert.deepEqual(await store.leases.claim(claim), [])
    // The process that held the lease is dead.
    await store.leases.disown('p-old')
  }
  assert.deepEqual(await store.leases.claim(claim), [{ key: key('running'), fencingToken: 2 }])
  const more = append('running', 6, [chunk('running', 'three')])
  assert.equal((await store.append({ ...more, fencingToken: 1, bytes: 10 })).result, 'fenced')
  assert.equal((await store.append({ ...more, fencingToken: 2, bytes: 10 })).result, 'ok')
  assert.deepEqual((await view('running'))?.artifacts, artifacts('one ', 'two ', 'three'))

  const { cursors } = await store.deliveries.claim(claim)
  const [cursor] = cursors
  const url = 'https://hook.example/h'
  assert.deepEqual([cursors.length, cursor?.push.config.url, cursor?.seq, cursor?.attempts], [1, url, 3, 2])
  assert.equal((await store.deliveries.getConfig(key('running'), 'h'))?.setBy, 'ann')
  assert.deepEqual(
    (await store.deliveries.listDeadLetters({ limit: 9 })).map(({ seq, error }) => [seq, error]),
    [[3, 'HTTP 500']],
  )
  const settlement = {
    key: key('running'),
    configId: 'h',
    fencingToken: cursor?.fencingToken ?? 0,
    seq: 7,
    attempts: 0,
    dead: [],
  }
  assert.equal(await store.deliveries.settle({ ...settlement, next: 'release' }), true)
  assert.deepEqual(await store.deliveries.claim(claim), { cursors: [] })

  const answer = append('waiting', 4, [{ accepted: { turn: 2, message: message('more') } }])
  assert.equal((await store.append({ ...answer, isRunnable: true })).result, 'ok')
  assert.equal((await store.append(creation('new'))).result, 'ok')
  assert.equal((await store.append(ending('new', 3))).result, 'ok')
  await store.expire('a', { maxEndedTasks: 0, limit: 10 })
  assert.deepEqual((await store.list(everything)).tasks.map(({ task }) => task.id).sort(), ['running', 'waiting'])
}
