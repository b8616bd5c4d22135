import { mkdir, mkdtemp, open, readdir, readlink, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { wholeHistory } from '../../model/history-window.js'
import type { Task } from '../../model/task.js'
import { append, chunk, creation, ending, key, message, status } from '../contract-steps.js'
import { storeContract } from '../store.contract.js'
import type { CompleteStore } from '../store.js'
import { nameOf } from './document.js'
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

/** Paths of the open files of this process, on systems that list them. */
async function openFiles(): Promise<readonly string[]> {
  const ids = await readdir('/proc/self/fd').catch(() => [])
  return await Promise.all(ids.map((id) => readlink(`/proc/self/fd/${id}`).catch(() => '')))
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

/** Storage whose saves fail or wait on demand. */
function faultyTexts() {
  const storage = texts()
  const fault = {
    isFull: false,
    onNextSave: undefined as (() => Promise<void>) | undefined,
    /** Pauses the next save; resolves when the save has begun. */
    pause: () =>
      new Promise<{ resume(): void }>((begun) => {
        fault.onNextSave = () => new Promise((resume) => begun({ resume }))
      }),
  }
  const save = async (name: string, document: string) => {
    const wait = fault.onNextSave
    fault.onNextSave = undefined
    await wait?.()
    if (fault.isFull) throw new Error('no space left')
    await storage.save(name, document)
  }
  return { storage: { ...storage, save }, fault }
}

const lease = { owner: 'p1', ttlMs: 60_000 }
const waiting = { state: 'TASK_STATE_INPUT_REQUIRED', timeMs: 1 } as const
/** Clients choose the id. */
const hook = 'constructor'
const webhook = (taskId: string, id = hook) => ({
  config: { id, taskId, url: 'https://x.example/h' },
  dialect: '1.0',
  maxConfigs: 10,
})

const withoutRecords = { absent: ['records'] } as const

describe('simple store', () =>
  storeContract({ describe, it }, ({ now }) => simpleStore(texts(), { now }), withoutRecords))

describe('file store', () =>
  storeContract({ describe, it }, ({ now }) => openFileStore(newFolder(), { now }), withoutRecords))

describe('a simple store that is opened again', () => {
  const view = { history: wholeHistory, includeArtifacts: true }

  it('has its tasks, logs and keys, and the tasks of the former process can be claimed', async () => {
    const storage = texts()
    let now = 1000
    const open = () => simpleStore(storage, { now: () => now })
    const scope = { agent: 'a', tenant: '', owner: 'ann' }
    const idempotency = { key: 'k1', digest: 'd1', ttlMs: 5000 }
    const store = await open()
    await store.append({ ...creation('runs'), lease, isRunnable: true, idempotency })
    await store.append({ ...append('runs', 3, [chunk('runs', 'a')]), fencingToken: 1 })
    await store.append(creation('ended'))
    await store.append(ending('ended', 3))
    await store.close()
    const again = await open()
    expect((await again.load(key('runs')))?.events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
    expect(await again.load(key('ended'))).toMatchObject({ snapshot: { artifacts: [{ parts: [{ text: 'done' }] }] } })
    expect((await again.read(key('ended'), 0, 100))?.length).toBe(5)
    expect(await again.findKey(scope, 'k1')).toMatchObject({ taskId: 'runs', seq: 1 })
    expect((await again.append({ ...creation('other'), idempotency })).result).toBe('key-taken')
    const [claimed] = await again.leases.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 })
    expect(claimed?.key).toEqual(key('runs'))
    const { fencingToken } = claimed as { fencingToken: number }
    expect((await again.append({ ...append('runs', 4, [chunk('runs', 'b')]), fencingToken })).result).toBe('ok')
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

  it.each([
    ['goes on', 1000],
    ['was set back', -1000],
  ])('restores delivery progress and dead letters when the clock %s', async (_, passedMs) => {
    const storage = texts()
    let now = 5000
    const open = () => simpleStore(storage, { now: () => now })
    const store = await open()
    for (const id of ['delivered', 'pending']) {
      await store.append({ ...creation(id), pushConfig: webhook(id) })
      await store.append(append(id, 3, [status(id, 'TASK_STATE_WORKING')]))
    }
    const claim = { agents: ['a'], lease, limit: 10 }
    for (const { key: of, fencingToken } of (await store.deliveries.claim(claim)).cursors) {
      const dead = of.id === 'delivered' ? [{ seq: 4, attempts: 3, error: 'gone' }] : []
      const seq = of.id === 'delivered' ? 4 : 3
      await store.deliveries.settle({ key: of, configId: hook, fencingToken, seq, attempts: 0, dead, next: 'release' })
    }
    await store.append({ ...creation('new'), pushConfig: webhook('new') })
    await store.close()
    now += passedMs
    const again = await open()
    const { cursors } = await again.deliveries.claim(claim)
    expect(cursors.map(({ key: of, seq }) => [of.id, seq])).toEqual([
      ['pending', 3],
      ['new', 0],
    ])
    const [letter] = await again.deliveries.listDeadLetters({ limit: 10 })
    expect(letter).toMatchObject({ key: key('delivered'), seq: 4, error: 'gone', timeMs: 5000 })
    await again.deliveries.deleteDeadLetter(letter?.id ?? '')
    await again.deliveries.deleteConfig(key('pending'), hook)
    await again.close()
    const last = await open()
    expect(await last.deliveries.listDeadLetters({ limit: 10 })).toEqual([])
    expect(await last.deliveries.listConfigs(key('pending'))).toEqual([])
    expect(await last.deliveries.listConfigs(key('delivered'))).toMatchObject([{ config: { id: hook } }])
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
    const { storage, fault } = faultyTexts()
    const store = await simpleStore(storage)
    await store.append(creation('t1'))
    fault.isFull = true
    await expect(store.append(append('t1', 3, [chunk('t1', 'a')]))).rejects.toThrow('no space left')
    await expect(store.append(creation('t2'))).rejects.toThrow('no space left')
    expect([(await store.find(key('t1')))?.seq, await store.find(key('t2'))]).toEqual([3, undefined])
    fault.isFull = false
    expect((await store.append(append('t1', 3, [chunk('t1', 'b')]))).result).toBe('ok')
    const again = await simpleStore(storage)
    expect((await again.load(key('t1')))?.events.at(-1)?.body).toEqual(chunk('t1', 'b'))
  })

  it('E-2: shows no change of webhooks and dead letters that could not be saved, and saves it when it is repeated', async () => {
    const { storage, fault } = faultyTexts()
    const store = await simpleStore(storage)
    await store.append({ ...creation('t1'), pushConfig: webhook('t1', 'old') })
    await store.append({ ...creation('t2'), pushConfig: webhook('t2') })
    for (const { key: of, fencingToken, push } of (await store.deliveries.claim({ agents: ['a'], lease, limit: 10 }))
      .cursors) {
      const dead = [{ seq: 3, attempts: 3, error: 'gone' }]
      const { id: configId } = push.config
      const settle = () =>
        store.deliveries.settle({ key: of, configId, fencingToken, seq: 3, attempts: 0, dead, next: 'release' })
      fault.isFull = true
      await expect(settle()).rejects.toThrow('no space left')
      fault.isFull = false
      expect([await store.deliveries.listDeadLetters({ limit: 10, taskId: of.id }), await settle()]).toEqual([[], true])
    }
    const letter = (await store.deliveries.listDeadLetters({ limit: 10, taskId: 't2' }))[0]?.id ?? ''
    const changes = [
      () => store.deliveries.putConfig(key('t1'), webhook('t1', 'new')),
      () => store.deliveries.deleteConfig(key('t1'), 'old'),
      () => store.deliveries.deleteDeadLetter(letter),
    ]
    const seen = async (of: CompleteStore) => [
      (await of.deliveries.listConfigs(key('t1'))).map(({ config }) => config.id),
      (await of.deliveries.listDeadLetters({ limit: 10 })).map((each) => each.key.id),
    ]
    fault.isFull = true
    for (const each of changes) await expect(each()).rejects.toThrow('no space left')
    expect(await seen(store)).toEqual([['old'], ['t1', 't2']])
    fault.isFull = false
    for (const each of changes) await each()
    expect(await seen(store)).toEqual([['new'], []])
    expect(await seen(await simpleStore(storage))).toEqual([['new'], []])
  })

  it('has a task that was created again while the document of its predecessor was to be removed', async () => {
    const { storage, fault } = faultyTexts()
    const store = await simpleStore(storage, { maxEndedTasks: 1 })
    await store.append(creation('t1'))
    await store.append(ending('t1', 3))
    await store.append(creation('t2'))
    const paused = fault.pause()
    const changed = store.deliveries.putConfig(key('t1'), webhook('t1'))
    const { resume } = await paused
    const created = store.append(creation('t1', { state: 'TASK_STATE_WORKING', timeMs: 9 }))
    // Evicts the first `t1`.
    await store.append(ending('t2', 3))
    resume()
    expect(await changed).toBe('no-task')
    expect((await created).result).toBe('ok')
    await store.close()
    const again = await simpleStore(storage)
    expect(await again.find(key('t1'))).toMatchObject({ state: 'TASK_STATE_WORKING', seq: 3 })
    expect(await again.deliveries.listConfigs(key('t1'))).toEqual([])
  })

  it('skips and reports documents that it cannot read, and keeps no records', async () => {
    const storage = texts()
    const notices: string[] = []
    await (await simpleStore(storage)).append(creation('t1'))
    const [saved = ''] = storage.kept.values()
    const document = { version: 1, key: key('t2'), progress: {}, entries: [] as unknown[] }
    const append = { key: key('t2'), create: {}, events: [] as unknown[] }
    const damaged: readonly (readonly [content: string, reason: string])[] = [
      ['{"version":1', 'JSON'],
      ['null', 'not an object'],
      ['{"version":9}', 'version 9'],
      [saved, 'the name of another task'],
      [JSON.stringify(document), 'not created'],
      ...[
        null,
        5,
        { at: 1, append: {} },
        { at: 1, append: { ...append, events: [{ seq: 1, time: 1, body: null }] } },
      ].map(
        (entry) =>
          [JSON.stringify({ ...document, entries: [{ at: 1, append }, entry] }), 'entry 1 is invalid'] as const,
      ),
    ]
    for (const [place, [content]] of damaged.entries()) storage.kept.set(String(place).repeat(64), content)
    storage.kept.set('f'.repeat(64), '')
    const load = async (name: string) => {
      if (name === 'e'.repeat(64)) throw new Error('it is a folder')
      return storage.kept.get(name)
    }
    storage.kept.set('e'.repeat(64), 'x')
    const store = await simpleStore({ ...storage, load }, { onNotice: (text) => notices.push(text) })
    expect((await store.find(key('t1')))?.seq).toBe(3)
    const reasons = [...damaged.map(([, reason]) => reason), 'it is a folder']
    expect(notices).toEqual(reasons.map((reason) => expect.stringContaining(reason)))
    await expect(store.records.get('cards', 'c1')).rejects.toThrow('keeps no records')
  })
})

describe('a simple store that is full', () => {
  const more = (id: string, bytes: number) => ({
    ...append(id, 3, [{ accepted: { turn: 2, message: message('x') } }]),
    bytes,
  })

  it('reserves the room of a step while it is saved', async () => {
    const { storage } = faultyTexts()
    const store = await simpleStore(storage, { maxBytes: 100 })
    const steps = ['t1', 't2', 't3'].map((id) => store.append({ ...creation(id), bytes: 60 }))
    expect((await Promise.all(steps)).map(({ result }) => result)).toEqual(['ok', 'full', 'full'])
    expect(await store.bytesOf('a', 'ann')).toBe(60)
  })

  it('releases the room of a step that could not be saved, and may evict its task later', async () => {
    const { storage, fault } = faultyTexts()
    const store = await simpleStore(storage, { maxBytes: 400 })
    for (const id of ['w1', 'w2']) await store.append({ ...creation(id, waiting), bytes: 150 })
    fault.isFull = true
    await expect(store.append(more('w1', 110))).rejects.toThrow('no space left')
    await expect(store.append({ ...creation('t1'), bytes: 250 })).rejects.toThrow('no space left')
    fault.isFull = false
    expect((await store.append({ ...creation('t1'), bytes: 400 })).result).toBe('ok')
    expect(await store.find(key('w1'))).toBeUndefined()
  })

  it('does not evict a task whose step is being saved', async () => {
    const { storage, fault } = faultyTexts()
    const store = await simpleStore(storage, { maxBytes: 400 })
    for (const id of ['w1', 'w2']) await store.append({ ...creation(id, waiting), bytes: 150 })
    const paused = fault.pause()
    const continued = store.append(more('w1', 10))
    const { resume } = await paused
    expect((await store.append({ ...creation('t1'), bytes: 150 })).result).toBe('ok')
    resume()
    expect((await continued).result).toBe('ok')
    expect(await store.find(key('w2'))).toBeUndefined()
  })

  it('names itself in the notice about evicted tasks', async () => {
    const path = newFolder()
    const notices: string[] = []
    const options = { maxEndedTasks: 0, onNotice: (text: string) => void notices.push(text) }
    for (const store of [await simpleStore(texts(), options), await openFileStore(path, options)]) {
      await store.append({ ...creation('t1'), pushConfig: webhook('t1') })
      await store.append(ending('t1', 3))
      await store.close()
    }
    const evicted = 'is full: it evicted 1 task with pending webhooks'
    expect(notices).toEqual([`The simple store ${evicted}`, `The file store ${path} ${evicted}`])
  })
})

describe('the documents of a simple store', () => {
  const controls = (id: string, count: number) => chunk(id, '\u0001'.repeat(count))

  it('are loaded again when they are too long to be cached', async () => {
    const storage = texts()
    const loaded: string[] = []
    const load = async (name: string) => {
      loaded.push(name)
      return storage.load(name)
    }
    const store = await simpleStore({ ...storage, load })
    for (const id of ['t1', 't2']) {
      await store.append(creation(id))
      expect((await store.append(append(id, 3, [controls(id, 3_000_000)]))).result).toBe('ok')
    }
    expect(loaded).toEqual([])
    for (const id of ['t1', 't2']) await store.append(append(id, 4, [chunk(id, 'x')]))
    expect(loaded.length).toBeGreaterThan(0)
    const again = await simpleStore(storage)
    for (const id of ['t1', 't2']) expect((await again.find(key(id)))?.seq).toBe(5)
  })

  it('have a limit, which an ending may exceed', async () => {
    const store = await simpleStore(texts(), { maxBytes: 1e9 })
    await store.append(creation('t1'))
    const step = (seq: number) => ({ ...append('t1', seq, [controls('t1', 8_000_000)]), bytes: 8_000_000 })
    const results = [await store.append(step(3)), await store.append(step(4)), await store.append(step(5))]
    expect(results.map(({ result }) => result)).toEqual(['ok', 'ok', 'too-large'])
    expect((await store.append(ending('t1', 5))).result).toBe('ok')
  })
})

describe('the storage of a simple store', () => {
  it('does not load the documents of new tasks', async () => {
    const storage = texts()
    const load = vi.spyOn(storage, 'load')
    const store = await simpleStore(storage)
    await store.append(creation('t1'))
    await store.append(append('t1', 3, [chunk('t1', 'a')]))
    expect(load).not.toHaveBeenCalled()
  })

  it('is closed once, and not used afterwards', async () => {
    const close = vi.fn(async () => undefined)
    const storage = { ...texts(), close }
    const store = await simpleStore(storage)
    await store.append({ ...creation('t1'), pushConfig: webhook('t1') })
    await store.append({ ...creation('t2'), visibility: 'message' })
    await store.append(ending('t1', 3))
    const save = vi.spyOn(storage, 'save')
    await Promise.all([store.close(), store.close()])
    await store.close()
    const changes = [
      store.append(creation('t3')),
      store.deliveries.putConfig(key('t1'), webhook('t1', 'new')),
      store.deliveries.deleteConfig(key('t1'), hook),
      store.expire('a', { maxEndedTasks: 0, limit: 10 }),
    ]
    for (const each of changes) await expect(each).rejects.toThrow('The store is closed')
    expect(save).not.toHaveBeenCalled()
    expect(close).toHaveBeenCalledOnce()
  })

  it('needs no database library unless it is a folder', async () => {
    vi.resetModules()
    vi.doMock('libsql', () => {
      throw new Error('libsql was loaded')
    })
    const { simpleStore: opened } = await import('./index.js')
    await (await opened(texts())).close()
    vi.doUnmock('libsql')
  })
})

describe('the folder of a file store', () => {
  it('has one file for each task, with any id', async () => {
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

  it('has no file of a document that could not be written', async () => {
    const path = newFolder()
    const store = await openFileStore(path)
    const before = await readdir(path)
    // Renaming fails: a folder has the name of the document.
    const name = nameOf(key('t1'))
    await mkdir(join(path, `${name}.json`))
    await expect(store.append(creation('t1'))).rejects.toThrow('EISDIR')
    expect(await readdir(path)).toEqual([...before, `${name}.json`].toSorted())
    await store.close()
  })

  it('keeps the files that are not of the store', async () => {
    const path = newFolder()
    await (await openFileStore(path)).close()
    const names = ['notes.tmp', `${'a'.repeat(63)}.json.tmp`, `x${'a'.repeat(64)}.json.tmp`]
    for (const name of names) await writeFile(join(path, name), 'mine')
    await (await openFileStore(path)).close()
    expect(await readdir(path)).toEqual(expect.arrayContaining(names))
  })

  it('is closed and unlocked after a failed start', async () => {
    const path = newFolder()
    await (await openFileStore(path)).close()
    const broken = join(path, `${'a'.repeat(64)}.json`)
    await writeFile(broken, '{')
    const onNotice = () => {
      throw new Error('refused')
    }
    await expect(openFileStore(path, { onNotice })).rejects.toThrow('refused')
    expect(await openFiles()).not.toContain(await realpath(path))
    await (await openFileStore(path)).close()
  })

  it('fails the ping when it was deleted', async () => {
    const path = newFolder()
    const store = await openFileStore(path)
    await store.ping()
    await rm(path, { recursive: true })
    await expect(store.ping()).rejects.toThrow('ENOENT')
    await store.close()
  })

  it('is synchronised with the disk when a file is removed', async () => {
    const path = newFolder()
    const store = await openFileStore(path)
    await store.append(creation('t1'))
    await store.append(ending('t1', 3))
    const handle = await open(path)
    const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync')
    await store.expire('a', { maxEndedTasks: 0, limit: 10 })
    expect(sync).toHaveBeenCalledTimes(process.platform === 'win32' ? 0 : 1)
    sync.mockRestore()
    await handle.close()
    await store.close()
    expect((await readdir(path)).filter((file) => file.endsWith('.json'))).toEqual([])
  })
})
