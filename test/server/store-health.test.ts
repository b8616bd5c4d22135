/** Deleted SQLite files and full disks: no write is acknowledged unless it is stored, and `/readyz` reports the failure. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  mkdtempSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from 'dragoman'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import Database from 'libsql'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LogEntry } from '../../src/model/log.js'
import { append, chunk, creation, key } from '../../src/stores/contract-steps.js'
import { systemLeaseClock } from '../../src/stores/sqlite/leases.js'
import { databaseBytes, FileHealth, openDatabase } from '../../src/stores/sqlite/open.js'
import { SqliteStore } from '../../src/stores/sqlite/sqlite-store.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { envelope } from '../hostile/peer.js'
import { eventually } from '../hostile/waiting.js'
import { newMessage } from '../process/calls.js'

let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-health-'))
  path = join(folder, 'tasks.sqlite')
})
afterEach(() => rmSync(folder, { recursive: true }))

async function readiness(url: string): Promise<number> {
  return (await fetch(new URL('/readyz', url))).status
}

async function send(url: string, text = 'hello'): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
  const body = envelope('SendMessage', { message: newMessage(text) })
  const response = await fetch(url, { method: 'POST', headers, body })
  await response.arrayBuffer()
  return response
}

describe('a SQLite file that is deleted', () => {
  it.each(['', '-wal'])('is detected by /readyz and by sends, and logged once (tasks.sqlite%s)', async (suffix) => {
    const entries: LogEntry[] = []
    await using served = await serve(echoAgent, { store: `sqlite:${path}`, log: (entry) => entries.push(entry) })
    expect([(await send(served.url)).status, await readiness(served.url)]).toEqual([200, 200])
    rmSync(`${path}${suffix}`)
    expect(await readiness(served.url)).toBe(503)
    const refused = await send(served.url)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect((await send(served.url)).status).toBe(503)
    expect(await readiness(served.url)).toBe(503)
    const logged = entries.filter(({ message }) => message.includes('deleted or replaced'))
    expect(logged).toMatchObject([{ level: 'error', message: expect.stringContaining(`${path}${suffix}`) }])
  })

  it('is detected behind a symbolic link, where the write-ahead log is beside the real file', async () => {
    symlinkSync(path, `${path}.link`)
    const store = await openSqliteStore(`${path}.link`, { checkEveryMs: 0 })
    await store.append(creation('t1'))
    rmSync(`${path}-wal`)
    await assert.rejects(store.append(creation('t2')), /deleted or replaced/)
    await store.close()
  })

  it('is detected by commits alone', async () => {
    const store = await openSqliteStore(path)
    await store.append(creation('t1'))
    rmSync(path)
    let seq = 3
    await eventually(10_000, 'a refusal', async () => {
      const outcome = await store.append(append('t1', seq, [chunk('t1', 'x')])).catch((error: unknown) => error)
      if (outcome instanceof Error) return outcome.message.includes('deleted or replaced')
      seq += 1
      return false
    })
    await store.close()
  })

  it('is used again when it is restored, and not when another file replaces it', async () => {
    const store = await openSqliteStore(path, { checkEveryMs: 0 })
    await store.append(creation('t1'))
    renameSync(path, `${path}.away`)
    await assert.rejects(store.append(creation('t2')), /deleted or replaced/)
    writeFileSync(path, '')
    await assert.rejects(store.append(creation('t2')), /deleted or replaced/)
    await assert.rejects(store.ping(), /deleted or replaced/)
    renameSync(`${path}.away`, path)
    await store.ping()
    assert.equal((await store.append(creation('t2'))).result, 'ok')
    assert.equal((await store.load(key('t2')))?.record.seq, 3)
    await store.close()
  })
})

describe('a SQLite file that is truncated in place', () => {
  const large = 'x'.repeat(200_000)

  it.each([0, 8192])('is detected by /readyz and by sends, and logged once (to %d bytes)', async (length) => {
    const entries: LogEntry[] = []
    await using served = await serve(echoAgent, { store: `sqlite:${path}`, log: (entry) => entries.push(entry) })
    for (let n = 0; n < 30; n++) expect((await send(served.url, large)).status).toBe(200)
    expect(await readiness(served.url)).toBe(200)
    assert.ok(statSync(path).size > length)
    truncateSync(path, length)
    expect(await readiness(served.url)).toBe(503)
    expect([(await send(served.url)).status, (await send(served.url)).status]).toEqual([503, 503])
    expect(await readiness(served.url)).toBe(503)
    const logged = entries.filter(({ message }) => message.includes('was truncated'))
    expect(logged).toMatchObject([{ level: 'error', message: expect.stringContaining(path) }])
  })

  it('is rejected by commits until the store is opened again, at any size of the file', async () => {
    const store = await openSqliteStore(path, { checkEveryMs: 0 })
    await store.append(creation('t1'))
    for (let seq = 3; seq < 43; seq++) await store.append(append('t1', seq, [chunk('t1', large)]))
    await store.ping()
    const { size } = statSync(path)
    truncateSync(path, size / 2)
    await assert.rejects(store.append(creation('t2')), /was truncated/)
    truncateSync(path, size)
    await assert.rejects(store.append(creation('t2')), /was truncated/)
    await assert.rejects(store.ping(), /was truncated/)
    await store.close()
  })

  it('is distinguished from a file that another process has made smaller', async () => {
    const store = await openSqliteStore(path, { checkEveryMs: 0 })
    await store.append(creation('t1'))
    for (let seq = 3; seq < 43; seq++) await store.append(append('t1', seq, [chunk('t1', large)]))
    await store.append({
      ...append('t1', 43, []),
      status: { state: 'TASK_STATE_COMPLETED', timeMs: 1 },
      isRunnable: false,
    })
    await store.ping()
    const { size } = statSync(path)
    await store.expire('a', { maxEndedTasks: 0, limit: 10 })
    const other = new Database(path)
    other.exec('VACUUM')
    other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    other.close()
    assert.ok(statSync(path).size < size / 2)
    await store.ping()
    assert.equal((await store.append(creation('t2'))).result, 'ok')
    await store.close()
  })
})

describe('a SQLite file that cannot grow', () => {
  it('is detected by a failed commit, until there is space again', async () => {
    const leaseClock = systemLeaseClock()
    const db = await openDatabase(path, { leaseClock })
    const notices: (readonly [string, string])[] = []
    const onNotice = (text: string, level: string) => notices.push([level, text])
    const file = new FileHealth(path, { onNotice }, () => databaseBytes(db))
    const store = new SqliteStore(db, leaseClock, file)
    await store.append(creation('t1'))
    await store.ping()
    const [pages] = db.prepare('PRAGMA page_count').raw().get() as [number]
    db.exec(`PRAGMA max_page_count = ${pages}`)
    const large = append('t1', 3, [chunk('t1', 'x'.repeat(100_000))])
    await assert.rejects(store.append(large), { code: 'SQLITE_FULL' })
    await assert.rejects(store.append(large), { code: 'SQLITE_FULL' })
    await assert.rejects(store.ping(), { code: 'SQLITE_FULL' })
    await assert.rejects(store.ping(), { code: 'SQLITE_FULL' })
    db.exec('PRAGMA max_page_count = 100000')
    await store.ping()
    assert.equal((await store.append(large)).result, 'ok')
    expect(notices).toEqual([
      ['error', expect.stringContaining('cannot be written to')],
      ['warn', expect.stringContaining('again')],
    ])
    await store.close()
  })
})

/** Mounts a separate file system; undefined without the permission. */
function smallDisk(): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'dragoman-disk-'))
  try {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new Error('root only')
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk], { stdio: 'ignore' })
    return disk
  } catch {
    rmSync(disk, { recursive: true })
    return undefined
  }
}

const disk = smallDisk()

describe.skipIf(disk === undefined)('a store on a full disk', () => {
  const ballast = join(disk ?? '', 'ballast')
  afterAll(() => {
    // Lazily: libsql keeps a closed database open until its statements are garbage-collected.
    execFileSync('umount', ['-l', disk ?? ''])
    rmSync(disk ?? '', { recursive: true })
  })

  it.each(['sqlite:DISK/tasks.sqlite', 'file:DISK/tasks'])(
    'is detected by /readyz before anything is written (%s)',
    async (store) => {
      await using served = await serve(echoAgent, { store: store.replace('DISK', disk ?? '') })
      expect(await readiness(served.url)).toBe(200)
      const { bfree, bsize } = statfsSync(disk ?? '')
      writeFileSync(ballast, Buffer.alloc(bfree * bsize))
      expect(await readiness(served.url)).toBe(503)
      rmSync(ballast)
      expect(await readiness(served.url)).toBe(200)
      expect((await send(served.url)).status).toBe(200)
    },
  )
})
