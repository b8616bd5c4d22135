/** Lists: newest first, filtered, in pages, of one caller. */
import assert from 'node:assert/strict'
import { wholeHistory } from '../model/history-window.js'
import type { TaskState } from '../model/task.js'
import { append, chunk, creation, ending, message, status } from './contract-steps.js'
import type { Check, TestRunner } from './store.contract.js'
import type { CompleteStore, ListQuery } from './store.js'

export function listContract(describe: TestRunner['describe'], check: Check): void {
  describe('list', () => {
    const query = (more: Partial<ListQuery> = {}): ListQuery => ({
      agent: 'a',
      tenant: '',
      owner: 'ann',
      limit: 10,
      history: wholeHistory,
      includeArtifacts: false,
      ...more,
    })
    const ids = async (store: CompleteStore, more: Partial<ListQuery> = {}) =>
      (await store.list(query(more))).tasks.map(({ record }) => record.key.id)

    /** t0 … t8: states in turn, two contexts, one second apart. */
    const fill = async (store: CompleteStore) => {
      const states: TaskState[] = ['TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_COMPLETED']
      for (let n = 0; n < 9; n++) {
        const state = states[n % 3] ?? 'TASK_STATE_WORKING'
        await store.append(creation(`t${n}`, { state, timeMs: 1000 * n, contextId: n < 4 ? 'c1' : 'c2' }))
      }
    }

    check('shows the newest status first', async (store) => {
      await fill(store)
      await store.append({
        ...append('t2', 3, [status('t2', 'TASK_STATE_WORKING')]),
        status: { state: 'TASK_STATE_WORKING', timeMs: 50_000 },
      })
      assert.deepEqual((await ids(store)).slice(0, 3), ['t2', 't8', 't7'])
    })

    check('combines its filters', async (store) => {
      await fill(store)
      assert.deepEqual(await ids(store, { contextId: 'c1' }), ['t3', 't2', 't1', 't0'])
      assert.deepEqual(await ids(store, { state: 'TASK_STATE_WORKING' }), ['t6', 't3', 't0'])
      assert.deepEqual(await ids(store, { statusTimeFromMs: 7000 }), ['t8', 't7'])
      assert.deepEqual(await ids(store, { state: 'TASK_STATE_WORKING', contextId: 'c1', statusTimeFromMs: 1 }), ['t3'])
      assert.equal((await store.list(query({ contextId: 'c2', state: 'TASK_STATE_COMPLETED' }))).total, 2)
    })

    check('pages with a stable cursor and an exact total, also among equal times', async (store) => {
      for (let n = 0; n < 25; n++) await store.append(creation(`t${n}`, { state: 'TASK_STATE_WORKING', timeMs: 7000 }))
      const seen: string[] = []
      let after: string | undefined
      do {
        const page = await store.list(query({ limit: 10, ...(after !== undefined && { after }) }))
        assert.equal(page.total, 25)
        for (const { record } of page.tasks) seen.push(record.key.id)
        after = page.next
        await store.append(creation(`later${seen.length}`, { state: 'TASK_STATE_WORKING', timeMs: 9000 }, 'bob'))
      } while (after !== undefined)
      assert.equal(seen.length, 25)
      assert.equal(new Set(seen).size, 25)
    })

    check('ends a page before it is too large, whatever came first, and goes on behind it', async (store) => {
      const large = { ...message(''), parts: [{ text: 'x'.repeat(30_000) }] }
      // Newest last: ten small ones are shown before those that are large, ended or not.
      for (let n = 0; n < 4; n++) {
        const at = { state: 'TASK_STATE_WORKING', timeMs: 1000 * n } as const
        await store.append(creation(`large${n}`, at))
        await store.append(append(`large${n}`, 3, [{ accepted: { turn: 2, message: large } }]))
        if (n % 2 === 0) continue
        const status = { state: 'TASK_STATE_COMPLETED' } as const
        const snapshot = { id: `large${n}`, contextId: 'c1', status, history: [large] }
        await store.append({ ...ending(`large${n}`, 4, 1000 * n), snapshot })
      }
      for (let n = 0; n < 10; n++)
        await store.append(creation(`small${n}`, { state: 'TASK_STATE_WORKING', timeMs: 9000 }))
      const sizes: number[] = []
      const seen = new Set<string>()
      let after: string | undefined
      do {
        const page = await store.list(query({ limit: 100, maxBytes: 70_000, ...(after !== undefined && { after }) }))
        assert.equal(page.total, 14)
        sizes.push(page.tasks.length)
        for (const { record } of page.tasks) seen.add(record.key.id)
        after = page.next
      } while (after !== undefined)
      assert.deepEqual(sizes, [12, 2])
      assert.equal(seen.size, 14)
      assert.equal((await store.list(query({ limit: 100, maxBytes: 1 }))).tasks.length, 1)
    })

    check('counts artifacts when they are asked for, and only then', async (store) => {
      for (let n = 0; n < 4; n++) {
        const at = { state: 'TASK_STATE_WORKING', timeMs: 1000 * n } as const
        await store.append(creation(`t${n}`, at))
        await store.append(append(`t${n}`, 3, [chunk(`t${n}`, 'x'.repeat(30_000))]))
        if (n % 2 === 0) continue
        const status = { state: 'TASK_STATE_COMPLETED' } as const
        const artifacts = [{ artifactId: 'x', parts: [{ text: 'x'.repeat(30_000) }] }]
        await store.append({
          ...ending(`t${n}`, 4, 1000 * n),
          snapshot: { id: `t${n}`, contextId: 'c1', status, artifacts },
        })
      }
      const count = async (includeArtifacts: boolean) =>
        (await store.list(query({ maxBytes: 70_000, includeArtifacts }))).tasks.length
      assert.equal(await count(false), 4)
      assert.equal(await count(true), 2)
    })

    check('is confined to one agent, tenant and owner', async (store) => {
      await fill(store)
      assert.deepEqual(await ids(store, { owner: 'bob' }), [])
      assert.deepEqual(await ids(store, { tenant: 'x' }), [])
      assert.deepEqual(await ids(store, { agent: 'b' }), [])
    })

    check('leaves out sends that have no task yet or never will', async (store) => {
      const step = creation('t1')
      await store.append({ ...step, visibility: 'provisional' })
      assert.deepEqual(await store.list(query()), { tasks: [], total: 0 })
    })

    check('counts states as they change', async (store) => {
      await fill(store)
      await store.append(ending('t0', 3))
      assert.equal((await store.list(query({ state: 'TASK_STATE_COMPLETED' }))).total, 4)
      assert.equal((await store.list(query({ state: 'TASK_STATE_WORKING' }))).total, 2)
      assert.equal((await store.list(query())).total, 9)
    })
  })
}
