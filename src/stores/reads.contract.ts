/** Cases of lists, views and sizes. */
import assert from 'node:assert/strict'
import type { EventBody } from '../model/event.js'
import { wholeHistory } from '../model/history-window.js'
import type { Message } from '../model/message.js'
import { textOf } from '../model/part.js'
import type { Task, TaskState } from '../model/task.js'
import { append, type Check, chunk, creation, ending, key, message, status, type TestRunner } from './contract-steps.js'
import type { CompleteStore, ListQuery, ViewOptions } from './store.js'

const query = (more: Partial<ListQuery> = {}): ListQuery => ({
  agent: 'a',
  tenant: '',
  owner: 'ann',
  limit: 10,
  history: wholeHistory,
  includeArtifacts: false,
  ...more,
})

export function listContract(describe: TestRunner['describe'], check: Check): void {
  describe('list', () => {
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

    check('ends a page before it is too large, and continues after it', async (store) => {
      const large = { ...message(''), parts: [{ text: 'x'.repeat(30_000) }] }
      // The newest last: the ten small tasks are listed before the large ones.
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

    check('counts the size of artifacts only if they are requested', async (store) => {
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

    check('omits provisional sends and Message answers', async (store) => {
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

export function viewsContract(describe: TestRunner['describe'], check: Check): void {
  describe('find and view', () => {
    const view = async (store: CompleteStore, options: Partial<ViewOptions> = {}): Promise<Task | undefined> =>
      (await store.view(key('t1'), { history: wholeHistory, includeArtifacts: true, ...options }))?.task
    const shown = (messages: number, characters = wholeHistory.characters) => ({ history: { messages, characters } })
    const texts = (task: Task | undefined) => task?.history?.map(textOf)
    const question = (text: string): EventBody => ({
      statusUpdate: {
        taskId: 't1',
        contextId: 'c1',
        status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { ...message(text), role: 'ROLE_AGENT' } },
      },
    })
    const answer = (turn: number, text: string): EventBody => ({ accepted: { turn, message: message(text) } })
    const asking = { state: 'TASK_STATE_INPUT_REQUIRED', timeMs: 5 } as const

    /** Messages, progress and chunks, in batches of one and of several events. */
    const fill = async (store: CompleteStore) => {
      await store.append(creation('t1'))
      await store.append({ ...append('t1', 3, [chunk('t1', 'a'), question('q1')]), status: asking })
      await store.append(append('t1', 5, [answer(2, 'a1')]))
      const working = [status('t1', 'TASK_STATE_WORKING'), chunk('t1', 'b')]
      await store.append({ ...append('t1', 6, working), status: { state: 'TASK_STATE_WORKING', timeMs: 6 } })
      await store.append(append('t1', 8, [chunk('t1', 'c')]))
      await store.append({ ...append('t1', 9, [question('q2')]), status: asking })
      await store.append(append('t1', 10, [{ cancelAsked: {} }]))
    }

    check('finds the owner and the state of a task, and no unknown tasks', async (store) => {
      await store.append(creation('t1'))
      const { events: _events, ...loaded } = (await store.load(key('t1'))) ?? {}
      assert.deepEqual({ record: await store.find(key('t1')) }, loaded)
      assert.equal((await store.find(key('t1')))?.state, 'TASK_STATE_SUBMITTED')
      await store.append(ending('t1', 3))
      assert.equal((await store.find(key('t1')))?.state, 'TASK_STATE_COMPLETED')
      assert.equal(await store.find(key('none')), undefined)
      assert.equal(await store.view(key('none'), { history: wholeHistory, includeArtifacts: true }), undefined)
    })

    check('shows a task that has not ended as its events make it', async (store) => {
      await fill(store)
      const viewed = await store.view(key('t1'), { history: wholeHistory, includeArtifacts: true })
      assert.equal(viewed?.record.seq, 11)
      assert.deepEqual(viewed.task.status.state, 'TASK_STATE_INPUT_REQUIRED')
      assert.deepEqual(texts(viewed.task), ['hello', 'q1', 'a1', 'q2'])
      assert.deepEqual(viewed.task.artifacts, [
        { artifactId: 'x', parts: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] },
      ])
      assert.equal((await view(store, { includeArtifacts: false }))?.artifacts, undefined)
    })

    check('shows the metadata that the newest status update has, and keeps it when the task ends', async (store) => {
      const counted = (count: number, state: TaskState): EventBody => ({
        statusUpdate: { taskId: 't1', contextId: 'c1', status: { state }, metadata: { count } },
      })
      await store.append(creation('t1'))
      const events = [counted(1, 'TASK_STATE_WORKING'), counted(2, 'TASK_STATE_WORKING'), chunk('t1', 'a')]
      await store.append({ ...append('t1', 3, events), status: { state: 'TASK_STATE_WORKING', timeMs: 6 } })
      await store.append(append('t1', 6, [chunk('t1', 'b')]))
      assert.deepEqual((await view(store))?.metadata, { count: 2 })
      const { tasks } = await store.list(query())
      assert.deepEqual(tasks[0]?.task.metadata, { count: 2 })
      const status = { state: 'TASK_STATE_COMPLETED' } as const
      await store.append({
        ...append('t1', 7, [counted(3, status.state)]),
        status: { ...status, timeMs: 7 },
        snapshot: { id: 't1', contextId: 'c1', status, metadata: { count: 3 } },
      })
      assert.deepEqual((await view(store))?.metadata, { count: 3 })
    })

    check('shows the newest messages that fit, and the newest one in any case', async (store) => {
      await fill(store)
      assert.deepEqual(texts(await view(store, shown(0))), undefined)
      assert.deepEqual(texts(await view(store, shown(1))), ['q2'])
      assert.deepEqual(texts(await view(store, shown(3))), ['q1', 'a1', 'q2'])
      assert.deepEqual(texts(await view(store, shown(9, 1))), ['q2'])
      assert.deepEqual(texts(await view(store, shown(9, 180))), ['a1', 'q2'])
    })

    check('shows the same of an ended task, however long its history is', async (store) => {
      for (const length of [1, 100_000]) {
        const id = `t${length}`
        const long = 'x'.repeat(length)
        await store.append(creation(id))
        const said = [2, 3].map((turn) => ({ accepted: { turn, message: message(`${long}${turn}`) } }))
        await store.append(append(id, 3, said.slice(0, 1)))
        await store.append(append(id, 4, said.slice(1)))
        const history: Message[] = [message('hello'), message(`${long}2`), message(`${long}3`)]
        const end = ending(id, 5)
        await store.append({ ...end, ...(end.snapshot && { snapshot: { ...end.snapshot, history } }) })
        for (const messages of [0, 2, 9]) {
          const viewed = await store.view(key(id), { ...shown(messages), includeArtifacts: true })
          assert.deepEqual(texts(viewed?.task) ?? [], history.slice(history.length - Math.min(messages, 3)).map(textOf))
          assert.deepEqual(viewed?.task.artifacts, [{ artifactId: 'x', parts: [{ text: 'done' }] }])
          assert.equal(viewed.task.status.state, 'TASK_STATE_COMPLETED')
        }
      }
    })

    check(
      'shows a task that ended without a snapshot, and keeps its events',
      async (store, clock) => {
        await fill(store)
        const { snapshot: _snapshot, ...end } = ending('t1', 11, clock.ms)
        await store.append(end)
        clock.ms += 10_000
        await store.expire('a', { endedEventsMs: 1, limit: 9 })
        const task = await view(store)
        assert.equal(task?.status.state, 'TASK_STATE_COMPLETED')
        assert.deepEqual(texts(task), ['hello', 'q1', 'a1', 'q2'])
        assert.deepEqual(
          task?.artifacts?.[0]?.parts.map((part) => 'text' in part && part.text),
          ['a', 'b', 'c', 'done'],
        )
      },
      ['expire'],
    )

    check('lists tasks with the requested messages and artifacts', async (store) => {
      await fill(store)
      const scope = { agent: 'a', tenant: '', owner: 'ann', limit: 9 }
      const page = await store.list({ ...scope, ...shown(2), includeArtifacts: true })
      assert.deepEqual(
        page.tasks.map(({ task }) => task),
        [await view(store, shown(2))],
      )
    })

    check('finds the newest message among any number of messages and chunks', async (store) => {
      await store.append(creation('t1'))
      let seq = 3
      for (let n = 0; n < 30; n++) {
        const bodies = [answer(n + 2, `m${n}`), chunk('t1', `${n}`)]
        await store.append(append('t1', seq, bodies))
        seq += bodies.length
        await store.append(append('t1', seq, [status('t1', 'TASK_STATE_WORKING')]))
        seq += 1
      }
      assert.deepEqual(texts(await view(store, shown(2))), ['m28', 'm29'])
      assert.equal((await view(store))?.history?.length, 31)
      assert.equal((await view(store))?.artifacts?.[0]?.parts.length, 30)
    })
  })

  describe('sizes', () => {
    const create = (id: string, bytes: number, owner = 'ann') => ({ ...creation(id, undefined, owner), bytes })

    check('of a task add up', async (store) => {
      await store.append(create('t1', 100))
      await store.append({ ...append('t1', 3, [chunk('t1', 'x')]), bytes: 20 })
      await store.append(append('t1', 4, [chunk('t1', 'x')]))
      assert.equal((await store.find(key('t1')))?.bytes, 120)
      assert.equal((await store.load(key('t1')))?.record.bytes, 120)
    })

    check(
      'of an owner are those of its tasks, in every tenant, until they are removed',
      async (store, clock) => {
        const other = create('t2', 200)
        assert.equal(await store.bytesOf('a', 'ann'), 0)
        await store.append(create('t1', 100))
        await store.append({ ...other, ...(other.create && { create: { ...other.create, tenant: 'x' } }) })
        await store.append(create('t3', 400, 'bob'))
        await store.append({ ...create('t4', 800), key: { agent: 'b', id: 't4' } })
        assert.equal(await store.bytesOf('a', 'ann'), 300)
        await store.append({ ...ending('t1', 3, clock.ms), bytes: 50 })
        assert.equal(await store.bytesOf('a', 'ann'), 350)
        clock.ms += 1000
        await store.expire('a', { endedTasksMs: 1, limit: 9 })
        assert.equal(await store.bytesOf('a', 'ann'), 200)
        assert.equal(await store.bytesOf('a', 'bob'), 400)
      },
      ['bytesOf', 'expire'],
    )

    check(
      'of an owner grow with running tasks and with Message answers',
      async (store, clock) => {
        await store.append(create('t1', 100))
        await store.append({ ...append('t1', 3, [chunk('t1', 'x')]), bytes: 1_000_000 })
        assert.equal(await store.bytesOf('a', 'ann'), 1_000_100)
        const { status: _status, ...keyed } = create('t2', 300)
        const idempotency = { key: 'k', digest: 'd', ttlMs: 1000 }
        await store.append({ ...keyed, visibility: 'provisional', idempotency })
        const answer = { message: { ...message('hi'), role: 'ROLE_AGENT' as const } }
        await store.append({ ...append('t2', 3, [answer]), visibility: 'message', bytes: 30 })
        assert.equal(await store.bytesOf('a', 'ann'), 1_000_430)
        clock.ms += 2000
        await store.expire('a', { limit: 9 })
        assert.equal(await store.bytesOf('a', 'ann'), 1_000_100)
      },
      ['bytesOf', 'expire'],
    )
  })
}
