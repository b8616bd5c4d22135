import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { expect, it } from 'vitest'
import { wholeHistory } from '../../model/history-window.js'
import { append, chunk } from '../contract-steps.js'
import { assertUpgraded } from '../upgrade.contract.js'
import { openSqliteStore } from './index.js'
import { migrations } from './migrations.js'

it('ends the leases of a file whose leases were written by the wall clock, and makes waiting webhooks due', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-test-'))
  const path = join(folder, 'tasks.sqlite')
  try {
    const old = new Database(path)
    const later = Date.now() + 3_600_000
    const body = JSON.stringify({ config: { id: 'h', taskId: 't1', url: 'https://x.example/h' }, dialect: '1.0' })
    old.exec(`${migrations.slice(0, 3).join(';')}; PRAGMA user_version = 3;
      INSERT INTO agents VALUES (1, 'a'); INSERT INTO scopes VALUES (1, 1, '', 'ann');
      INSERT INTO tasks VALUES (1, 1, 1, 't1', 'c1', '1.0', 1, 3, 0, 1, 1, 7, 'p-old', ${later}, 1);`)
    old.prepare("INSERT INTO lanes VALUES (1, 'h', 1, ?, 2, 4, 1, ?, NULL)").run(body, later)
    const oldClaim = old.prepare('UPDATE tasks SET lease_until = 1')
    const store = await openSqliteStore(path)
    const claim = { agents: ['a'], lease: { owner: 'p', ttlMs: 1000 }, limit: 9 }
    expect(await store.leases.claim(claim)).toEqual([{ key: { agent: 'a', id: 't1' }, fencingToken: 8 }])
    expect(await store.leases.claim(claim)).toEqual([])
    expect((await store.deliveries.claim(claim)).cursors).toMatchObject([{ seq: 2, attempts: 4 }])
    // A process of the earlier version that still runs cannot write times of its clock.
    expect(() => oldClaim.run()).toThrow('lease_until')
    await store.close()
    old.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('keeps the tasks, webhooks, keys and records of a file of the third schema', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-test-'))
  const path = join(folder, 'tasks.sqlite')
  try {
    const old = new Database(path)
    old.exec(readFileSync(new URL('../../../test/fixtures/stores/sqlite-schema-3.sql', import.meta.url), 'utf8'))
    old.close()
    const store = await openSqliteStore(path)
    await assertUpgraded(store, { keepsLeases: false })
    await store.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('keeps the tasks and webhooks of a file that was written by the first version', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-test-'))
  const path = join(folder, 'tasks.sqlite')
  try {
    const old = new Database(path)
    const config = { id: 'h', taskId: 't1', url: 'https://x.example/"h"' }
    old.exec(`${migrations[0]}; PRAGMA user_version = 1;
      INSERT INTO agents VALUES (1, 'a'); INSERT INTO scopes VALUES (1, 1, '', 'ann');
      INSERT INTO tasks VALUES (1, 1, 1, 't1', 'c1', '1.0', 1, 3, 0, 1, 0, 0, NULL, 0);`)
    const bodies = [
      { accepted: { turn: 1, message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } } },
      { started: { turn: 1, attempt: 1 } },
      { task: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_SUBMITTED' } } },
    ]
    old.prepare('INSERT INTO events VALUES (1, 1, 1, 1, 3, 0, ?)').run(JSON.stringify(bodies))
    old.prepare("INSERT INTO push_configs VALUES (1, 'h', 'v0.3', ?)").run(JSON.stringify(config))
    old.close()
    const store = await openSqliteStore(path)
    const key = { agent: 'a', id: 't1' }
    expect(await store.deliveries.listConfigs(key)).toEqual([{ config, dialect: 'v0.3' }])
    const { task } = (await store.view(key, { history: wholeHistory, includeArtifacts: true })) ?? {}
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_SUBMITTED' }, history: [{ messageId: 'm' }] })
    const claim = { agents: ['a'], lease: { owner: 'p', ttlMs: 1000 }, limit: 9 }
    expect(await store.deliveries.claim(claim)).toEqual({ cursors: [] })
    await store.append(append('t1', 3, [chunk('t1', 'x')]))
    expect((await store.deliveries.claim(claim)).cursors).toMatchObject([{ key, push: { config }, seq: 3 }])
    await store.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
