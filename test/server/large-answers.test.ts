/** Responses stay within bounds although callers can make their content large: histories and pages of lists. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, ask, serve, type Task, textOf } from 'dragoman'
import { connect } from 'dragoman/client'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import { send } from 'dragoman/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MemoryStore } from '../../src/stores/memory.js'
import { eventually } from '../hostile/waiting.js'

const long = (letter: string) => letter.repeat(400)
const initials = (task: Task | undefined) => (task?.history ?? []).map((message) => textOf(message)[0])

describe('the history of a task', () => {
  it('is limited in characters to its newest messages, in every response (R-HIST-1, R-HIST-5)', async () => {
    const curious = agent('Curious', async function* () {
      yield ask('?')
    })
    await using served = await serve(curious, { limits: { historyCharacters: 1000 } })
    await using client = await connect(served.url)
    const first = await client.sendMessage(send(long('a')))
    const { id: taskId = '', contextId = '' } = 'task' in first ? first.task : {}
    await client.sendMessage(send(long('b'), { taskId, contextId }))
    const last = await client.sendMessage(send(long('c'), { taskId, contextId }))
    const shown = ['?', 'c', '?']
    expect('task' in last && initials(last.task)).toEqual(shown)
    expect(initials(await client.getTask({ id: taskId }))).toEqual(shown)
    expect(initials(await client.getTask({ id: taskId, historyLength: 2 }))).toEqual(['c', '?'])
    expect(initials((await client.listTasks({})).tasks[0])).toEqual(shown)
    for await (const { event } of client.subscribeToTask({ id: taskId })) {
      expect('task' in event && initials(event.task)).toEqual(shown)
      break
    }
  })

  it('contains its newest message, however long that is', async () => {
    await using served = await serve(
      agent('Mute', async function* () {}),
      { limits: { historyCharacters: 100 } },
    )
    await using client = await connect(served.url)
    const answer = await client.sendMessage(send(long('a')))
    expect('task' in answer && initials(answer.task)).toEqual(['a'])
  })
})

describe('a page of large tasks', () => {
  it('ends when it is large enough, and contains the token of the next page', async () => {
    const writer = agent('Writer', async function* ({ text }) {
      yield 'x'.repeat(Number(text))
    })
    await using served = await serve(writer)
    await using client = await connect(served.url)
    for (let n = 0; n < 6; n++) await client.sendMessage(send('3000000'))
    // Small tasks come first: their size does not predict that of later ones.
    for (let n = 0; n < 10; n++) await client.sendMessage(send('3'))
    const sizes: number[] = []
    const seen = new Set<string>()
    for (let pageToken = ''; sizes.length === 0 || pageToken !== ''; ) {
      const page = await client.listTasks({ includeArtifacts: true, pageSize: 100, ...(pageToken && { pageToken }) })
      sizes.push(page.tasks.length)
      for (const { id } of page.tasks) seen.add(id)
      pageToken = page.nextPageToken
    }
    expect(sizes).toEqual([12, 2, 2])
    expect(seen.size).toBe(16)
  })
})

describe('a task with more output than one string can hold', () => {
  afterEach(() => vi.restoreAllMocks())

  /** V8 allows about 512 MB. This limit is also far above the largest snapshot, and fast to exceed. */
  const maxString = 20_000_000
  const megabyte = 'x'.repeat(1_000_000)
  const limits = { bytesPerTask: 1_000_000_000 }
  const large = agent('Large', async function* () {
    for (let n = 0; n < 24; n++) {
      yield megabyte
      await new Promise((resolve) => setImmediate(resolve))
    }
  })

  it.each(['memory', 'sqlite'])('fails once, and the server is ready after a restart (%s)', async (kind) => {
    const { stringify } = JSON
    vi.spyOn(JSON, 'stringify').mockImplementation(((...given: Parameters<typeof stringify>) => {
      const text = stringify(...given)
      if (text?.length > maxString) throw new RangeError('Invalid string length')
      return text
    }) as typeof stringify)
    const folder = mkdtempSync(join(tmpdir(), 'dragoman-large-'))
    const memory = new MemoryStore()
    const open = async () => (kind === 'memory' ? memory : await openSqliteStore(join(folder, 'tasks.sqlite')))
    const errors: string[] = []
    const log = ({ level, message }: { readonly level: string; readonly message: string }) => {
      if (level === 'error') errors.push(message)
    }
    let store = await open()
    {
      await using served = await serve(large, { store, limits, log })
      await using client = await connect(served.url)
      await client.sendMessage(send('go', {}, { returnImmediately: true }))
      await eventually(10_000, 'the end of the task', async () => {
        const { tasks } = await client.listTasks({})
        return tasks[0]?.status.state === 'TASK_STATE_COMPLETED'
      })
    }
    expect(errors).toEqual([])
    if (kind === 'sqlite') await store.close()
    store = await open()
    {
      await using served = await serve(large, { store, limits, log })
      await using client = await connect(served.url)
      const { tasks } = await client.listTasks({})
      expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_COMPLETED'])
      // A response that cannot be encoded fails for its caller only.
      await expect(client.getTask({ id: tasks[0]?.id ?? '' })).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
      expect((await fetch(new URL('/readyz', served.url))).status).toBe(200)
    }
    await store.close()
    rmSync(folder, { recursive: true })
  })
})
