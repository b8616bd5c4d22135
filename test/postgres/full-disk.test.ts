/** A database on a full file system. Only root can create such a small file system. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from 'dragoman'
import { openPostgresStore } from 'dragoman/stores/postgres'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { append, chunk, creation, key } from '../../src/stores/contract-steps.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { envelope } from '../hostile/peer.js'
import { newMessage } from '../process/calls.js'
import { type PostgresServer, startPostgres } from './server.mjs'

/** The unprivileged user id that the database runs as. */
const mountOptions = 'size=64m,mode=0700,uid=65534,gid=65534'

/** A separate file system; undefined without permission to create one. */
function smallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-disk-'))
  try {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new Error('root only')
    execFileSync('mount', ['-t', 'tmpfs', '-o', mountOptions, 'tmpfs', folder], { stdio: 'ignore' })
    return folder
  } catch {
    rmSync(folder, { recursive: true })
    return undefined
  }
}

const disk = smallDisk()

describe.skipIf(disk === undefined)('a database whose disk is full', () => {
  const folder = disk ?? ''
  const ballast = join(folder, 'ballast')
  let server: PostgresServer
  let address: string
  beforeAll(async () => {
    server = await startPostgres()
    const client = new pg.Client(await server.database('postgres'))
    await client.connect()
    await client.query(`CREATE TABLESPACE small LOCATION '${folder}'`)
    await client.query('CREATE DATABASE small TABLESPACE small')
    await client.end()
    address = await server.database('small')
  }, 60_000)
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    execFileSync('umount', [folder])
    rmSync(folder, { recursive: true })
  }, 60_000)

  /** Fills the rest of the disk. */
  function fill(): void {
    try {
      for (let n = 0; ; n++) writeFileSync(`${ballast}${n}`, Buffer.alloc(1024 * 1024))
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
    }
  }

  function empty(): void {
    execFileSync('find', [folder, '-maxdepth', '1', '-name', 'ballast*', '-delete'])
  }

  it('rejects writes, acknowledges none that it did not keep, and is used again when there is space', async () => {
    const store = await openPostgresStore(address, { retryBudgetMs: 300 })
    await store.append(creation('t1'))
    fill()
    let seq = 3
    // Existing pages still have space for some.
    const big = 'x'.repeat(6_000)
    await assert.rejects(
      (async () => {
        for (;;) {
          const { result } = await store.append(append('t1', seq, [chunk('t1', `${seq} ${Math.random()} ${big}`)]))
          assert.equal(result, 'ok')
          seq += 1
        }
      })(),
      { code: '53100' },
    )
    assert.equal((await store.load(key('t1')))?.record.seq, seq)
    empty()
    assert.equal((await store.append(append('t1', seq, [chunk('t1', 'y')]))).result, 'ok')
    assert.deepEqual(
      (await store.read(key('t1'), seq, 10))?.map((event) => event.seq),
      [seq + 1],
    )
    await store.close()
  }, 60_000)

  it('causes 503 responses to calls and to load balancers until there is space', async () => {
    const store = await openPostgresStore(address, { retryBudgetMs: 300 })
    const served = await serve(echoAgent, { store, log: () => undefined })
    const send = async () => {
      const body = envelope('SendMessage', { message: newMessage('hello '.repeat(5_000)) })
      const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
      const response = await fetch(served.url, { method: 'POST', headers, body })
      await response.arrayBuffer()
      return response
    }
    const readiness = async () => (await fetch(new URL('/readyz', served.url))).status
    expect([(await send()).status, await readiness()]).toEqual([200, 200])
    fill()
    let answer = await send()
    // Existing pages still have space for some.
    while (answer.status === 200) answer = await send()
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect([await readiness(), await readiness()]).toEqual([503, 503])
    empty()
    expect(await readiness()).toBe(200)
    expect((await send()).status).toBe(200)
    await served.close({ deadlineMs: 0 })
    await store.close()
  }, 60_000)
})
