import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteStore } from './index.js'
import { migrations } from './migrations.js'

describe('opening a file that is not a store', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dragoman-open-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const foreign = (path: string, sql: string) => {
    const db = new Database(path)
    db.exec(sql)
    db.close()
  }

  it.each<[string, (path: string) => void, string]>([
    ['a text', (path) => writeFileSync(path, 'Dear diary'), 'is no SQLite database'],
    ['another program’s database', (path) => foreign(path, 'CREATE TABLE songs (a)'), 'of something else'],
    [
      'one with a version number of its own',
      (path) => foreign(path, 'CREATE TABLE tasks (a); PRAGMA user_version = 1'),
      'of something else',
    ],
    [
      'a damaged one',
      (path) => {
        foreign(path, 'CREATE TABLE songs (a)')
        writeFileSync(path, readFileSync(path).fill(7, 100, 4000))
      },
      'is damaged',
    ],
  ])('reports %s, and does not change the file', async (_, make, words) => {
    const path = join(folder, 'tasks.sqlite')
    make(path)
    const before = readFileSync(path)
    const opening = openSqliteStore(path)
    await expect(opening).rejects.toThrow(words)
    await expect(opening).rejects.toThrow(path)
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('reports a missing folder', async () => {
    await expect(openSqliteStore(join(folder, 'none', 'tasks.sqlite'))).rejects.toThrow('its folder is there')
    await expect(openSqliteStore(folder)).rejects.toThrow('cannot be opened')
  })

  it.skipIf(process.platform === 'win32')(
    'creates files that only their owner can read, and leaves others alone',
    async () => {
      const modesOf = (path: string) =>
        ['', '-wal', '-shm'].map((suffix) => (statSync(`${path}${suffix}`).mode & 0o777).toString(8))
      const created = await openSqliteStore(join(folder, 'new.sqlite'))
      expect(modesOf(join(folder, 'new.sqlite'))).toEqual(['600', '600', '600'])
      await created.close()
      const path = join(folder, 'shared.sqlite')
      writeFileSync(path, '')
      chmodSync(path, 0o640)
      const shared = await openSqliteStore(path)
      expect(modesOf(path)).toEqual(['640', '640', '640'])
      await shared.close()
    },
  )

  it('creates and updates nothing with `mustExist`', async () => {
    const path = join(folder, 'tasks.sqlite')
    await expect(openSqliteStore(path, { mustExist: true })).rejects.toThrow('There is no')
    expect(existsSync(path)).toBe(false)
    foreign(path, `${migrations[0]}; PRAGMA user_version = 1`)
    const before = readFileSync(path)
    await expect(openSqliteStore(path, { mustExist: true })).rejects.toThrow('older version')
    expect(readFileSync(path).equals(before)).toBe(true)
    await (await openSqliteStore(path)).close()
    await (await openSqliteStore(path, { mustExist: true })).close()
  })
})
