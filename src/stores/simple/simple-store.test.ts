import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wholeHistory } from '../../model/history-window.js'
import type { Task } from '../../model/task.js'
import { append, chunk, creation, ending, key, message, status } from '../contract-steps.js'
import { storeContract } from '../store.contract.js'
import { openFileStore, type SimpleStorage, simpleStore } from './index.js'

let folder = ''
let count = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'file-store-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

function newFolder(): string {
  count += 1
  return join(folder, String(count))
}

function texts(): SimpleStorage & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>()
  return {
    kept,
    save: async (name, document) => void kept.set(name, document),
    load: async (name) => kept.get(name),
    list: async () => [...kept.keys()],
  }
}

describe('simple store', () => storeContract({ describe, it }, ({ now }) => simpleStore(texts(), { now })))

describe('file store', () => storeContract({ describe, it }, ({ now }) => openFileStore(newFolder(), { now })))

describe('a simple store that is opened again', () => {
  const lease = { owner: 'p1', ttlMs: 60_000 }
  /** A stranger chose the id. */
  const hook = 'constructor'
  const webhook = (taskId: string) => ({
    config: { id: hook, taskId, url: 'https://x.example/h' },
    dialect: '1.0',
    most: 10,
  })
  const view = { history: wholeHistory, includeArtifacts: true }

  it('has its tasks, logs and keys, and hands out the work of the former process', async () => {
    const storage = texts()
    let now = 1000
    const open = () => simpleStore(storage, { now: () => now })
    const scope = { agent: 'a', tenant: '', owner: 'ann' }
    const idempotency = { key: 'k1', digest: 'd1', ttlMs: 5000 }
    const store = await open()
    await store.append({ ...creation('runs'), lease, isRunnable: true, idempotency })
    await store.append({ ...append('runs', 3, [chunk('runs', 'a')]), fence: 1 })
    await store.append(creation('ended'))
    await store.append(ending('ended', 3))
    await store.close()
    const again = await open()
    expect((await again.load(key('runs')))?.events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
    expect(await again.load(key('ended'))).toMatchObject({ snapshot: { artifacts: [{ parts: [{ text: 'done' }] }] } })
    expect((await again.read(key('ended'), 0, 100))?.length).toBe(5)
    expect(await again.findKey(scope, 'k1')).toMatchObject({ taskId: 'runs', seq: 1 })
    expect((await again.append({ ...creation('other'), idempotency })).result).toBe('key-taken')
    const [claimed] = await again.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 })
    expect(claimed?.key).toEqual(key('runs'))
    const { fence } = claimed as { fence: number }
    expect((await again.append({ ...append('runs', 4, [chunk('runs', 'b')]), fence })).result).toBe('ok')
    now = 6001
    expect(await again.findKey(scope, 'k1')).toBeUndefined()
  })

  it('E-3: has large tasks that ended, whose content is written once', async () => {
    const storage = texts()
    const store = await simpleStore(storage)
    const large = 'x'.repeat(2_000_000)
    await store.append(creation('t1'))
    await store.append(append('t1', 3, [chunk('t1', large)]))
    const { snapshot, ...last } = ending('t1', 4)
    const artifacts = [{ artifactId: 'x', parts: [{ text: large }, { text: 'done' }] }]
    await store.append({ ...last, snapshot: { ...(snapshot as Task), artifacts, history: [message('hello')] } })
    const before = await store.view(key('t1'), view)
    await store.close()
    expect([...storage.kept.values()][0]?.length).toBeLessThan(2 * large.length)
    const again = await simpleStore(storage)
    expect(await again.view(key('t1'), view)).toEqual(before)
    expect((await again.read(key('t1'), 0, 100))?.length).toBeGreaterThan(0)
  })

  it('goes on telling webhooks where it was, and keeps dead letters', async () => {
    const storage = texts()
    const store = await simpleStore(storage)
    for (const id of ['told', 'pending']) {
      await store.append({ ...creation(id), pushConfig: webhook(id) })
      await store.append(append(id, 3, [status(id, 'TASK_STATE_WORKING')]))
    }
    const claim = { agents: ['a'], lease, limit: 10 }
    for (const { key: of, fence } of (await store.claimLanes(claim)).lanes) {
      const dead = of.id === 'told' ? [{ seq: 4, attempts: 3, error: 'gone' }] : []
      const seq = of.id === 'told' ? 4 : 3
      await store.settleLane({ key: of, configId: hook, fence, seq, attempts: 0, dead, next: 'release' })
    }
    await store.close()
    const again = await simpleStore(storage)
    const { lanes } = await again.claimLanes(claim)
    expect(lanes.map(({ key: of, seq }) => [of.id, seq])).toEqual([['pending', 3]])
    const [letter] = await again.listDeadLetters({ limit: 10 })
    expect(letter).toMatchObject({ key: key('told'), seq: 4, error: 'gone' })
    await again.deleteDeadLetter(letter?.id ?? '')
    await again.deletePushConfig(key('pending'), hook)
    await again.close()
    const last = await simpleStore(storage)
    expect(await last.listDeadLetters({ limit: 10 })).toEqual([])
    expect(await last.listPushConfigs(key('pending'))).toEqual([])
    expect(await last.listPushConfigs(key('told'))).toMatchObject([{ config: { id: hook } }])
  })

  it('E-11: counts retention from the end of a task, and removes the documents of what expires or is evicted', async () => {
    const storage = texts()
    let now = 0
    const options = { now: () => now, maxEndedTasks: 2 }
    const store = await simpleStore(storage, options)
    for (const id of ['t1', 't2', 't3']) {
      now += 1000
      await store.append(creation(id))
      await store.append(ending(id, 3))
    }
    await store.close()
    const again = await simpleStore(storage, options)
    expect(await again.find(key('t1'))).toBeUndefined()
    now = 5500
    expect(await again.expire('a', { endedTasksMs: 3000, limit: 10 })).toMatchObject({ tasks: 1 })
    await again.close()
    expect([...storage.kept.values()].filter(Boolean)).toHaveLength(1)
    const last = await simpleStore(storage, options)
    expect(await last.find(key('t2'))).toBeUndefined()
    expect((await last.view(key('t3'), view))?.task.id).toBe('t3')
  })

  it('E-2: shows nothing that could not be saved', async () => {
    const storage = texts()
    let isFull = false
    const store = await simpleStore({
      ...storage,
      save: async (name, document) => {
        if (isFull) throw new Error('no space left')
        await storage.save(name, document)
      },
    })
    await store.append(creation('t1'))
    isFull = true
    await expect(store.append(append('t1', 3, [chunk('t1', 'a')]))).rejects.toThrow('no space left')
    await expect(store.append(creation('t2'))).rejects.toThrow('no space left')
    expect([(await store.find(key('t1')))?.seq, await store.find(key('t2'))]).toEqual([3, undefined])
    isFull = false
    expect((await store.append(append('t1', 3, [chunk('t1', 'b')]))).result).toBe('ok')
    const again = await simpleStore(storage)
    expect((await again.load(key('t1')))?.events.at(-1)?.body).toEqual(chunk('t1', 'b'))
  })

  it('leaves out what it cannot read, says so, and keeps no records', async () => {
    const storage = texts()
    const notices: string[] = []
    await (await simpleStore(storage)).append(creation('t1'))
    storage.kept.set('f'.repeat(64), '{"version":1')
    storage.kept.set('e'.repeat(64), '{"version":9}')
    const store = await simpleStore(storage, { onNotice: (text) => notices.push(text) })
    expect((await store.find(key('t1')))?.seq).toBe(3)
    expect(notices).toEqual([expect.stringContaining('ffff'), expect.stringContaining('version 9')])
    expect(() => store.records.get('cards', 'c1')).toThrow('keeps tasks only')
  })
})

describe('the folder of a file store', () => {
  it('has one file a task, whatever its id', async () => {
    const path = newFolder()
    const store = await openFileStore(path)
    const ids = ['../../../etc/passwd', '/etc/passwd', 'a\0b', '..', 'CON', 'job', 'JOB', 'x'.repeat(100_000)]
    for (const id of ids) expect((await store.append(creation(id))).result).toBe('ok')
    await store.close()
    const files = await readdir(path)
    expect(files.filter((file) => !file.startsWith('lock'))).toHaveLength(ids.length)
    for (const file of files.filter((each) => !each.startsWith('lock'))) {
      expect(file).toMatch(/^[0-9a-f]{64}\.json$/)
      expect((await stat(join(path, file))).mode & 0o777).toBe(0o600)
    }
    const again = await openFileStore(path)
    for (const id of ids) expect((await again.find(key(id)))?.key.id).toBe(id)
    await again.close()
  })

  it('is refused to a second store until the first is closed', async () => {
    const path = newFolder()
    const store = await openFileStore(path)
    await expect(openFileStore(path)).rejects.toThrow('in use: a file store is for one process')
    await store.close()
    await writeFile(join(path, `${'a'.repeat(64)}.json.tmp`), 'half')
    const rivals = await Promise.allSettled([openFileStore(path), openFileStore(path), openFileStore(path)])
    expect(rivals.filter(({ status: outcome }) => outcome === 'fulfilled')).toHaveLength(1)
    expect((await readdir(path)).filter((file) => file.endsWith('.tmp'))).toEqual([])
    await expect(openFileStore(join(path, 'none'), { mustExist: true })).rejects.toThrow('ENOENT')
  })
})
