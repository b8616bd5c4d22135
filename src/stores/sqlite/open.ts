/** Opens a database file, updates its schema (several processes may do so at once), and monitors the file. */
import { closeSync, existsSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'libsql'
import { assertFreeSpace } from '../free-space.js'
import { isBusy } from './commits.js'
import { adoptEpoch, type LeaseClock } from './leases.js'
import { migrations } from './migrations.js'

interface OpenOptions {
  readonly durability?: 'process' | 'full'
  readonly mustExist?: boolean
  readonly leaseClock: LeaseClock
}

export async function openDatabase(path: string, options: OpenOptions): Promise<Database.Database> {
  try {
    return await open(path, options)
  } catch (error) {
    throw inWords(error, path)
  }
}

async function open(
  path: string,
  { durability, mustExist = false, leaseClock }: OpenOptions,
): Promise<Database.Database> {
  if (mustExist && !existsSync(path)) throw new Error(`There is no ${path}`)
  createPrivate(path)
  const db = new Database(path)
  try {
    // Before any change.
    await patiently(() => assertOurs(db, path, mustExist))
    await patiently(() => {
      // Waiting inside SQLite would block the event loop: `GroupCommit` waits outside.
      db.exec('PRAGMA busy_timeout = 0')
      db.exec('PRAGMA journal_mode = WAL')
      db.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
      db.exec('PRAGMA cache_size = -16000')
      db.exec('PRAGMA temp_store = MEMORY')
    })
    await patiently(() => migrate(db, path))
    if (!mustExist) await patiently(() => adoptEpoch(db, leaseClock))
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** The size of the database, with pages that only the write-ahead log has. */
export function databaseBytes(db: Database.Database): number {
  const [bytes] = db.prepare('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size').raw().get() as [
    number,
  ]
  return bytes
}

/** SQLite creates its log and its index with the mode of the file. Existing files keep their mode. */
function createPrivate(path: string): void {
  if (path === ':memory:') return
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // It exists, or it cannot be created: opening it reports why.
  }
}

/** One statement, so that the values belong together: another process may be creating the tables. */
function assertOurs(db: Database.Database, path: string, mustExist: boolean): void {
  const [version, tables, ours] = db
    .prepare(
      `SELECT user_version, (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'),
        (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('scopes', 'tasks', 'events'))
      FROM pragma_user_version`,
    )
    .raw()
    .get() as [number, number, number] // one row of three numbers
  const isOurs = version === 0 ? tables === 0 : ours === 3
  if (!isOurs) throw new Error(`${path} is a database of something else: choose another file for the store`)
  if (mustExist && version === 0) throw new Error(`There is no store in ${path}: it is empty`)
  if (mustExist && version < migrations.length)
    throw new Error(
      `${path} was written by an older version of this software (schema ${version}): start a server of this version on it first`,
    )
}

/** An error with a fix for the user. SQLite's error is its cause. */
function inWords(error: unknown, path: string): unknown {
  if (!(error instanceof Error)) return error
  const code = 'code' in error ? String(error.code) : ''
  const [, words] = meanings.find(([pattern]) => pattern.test(`${code} ${error.message}`)) ?? []
  return words === undefined ? error : new Error(`${path} ${words}`, { cause: error })
}

const meanings: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/SQLITE_NOTADB/, 'is no SQLite database: choose another file for the store'],
  [/SQLITE_CORRUPT/, 'is damaged: restore it from a backup, or choose another file for the store'],
  [/SQLITE_READONLY/, 'cannot be written to: check its permissions and those of its folder'],
  [/SQLITE_CANTOPEN|Unable to open/, 'cannot be opened: check that its folder is there and may be written to'],
  [/SQLITE_FULL/, 'cannot be written to: the disk is full'],
  [/SQLITE_BUSY/, 'is in use by another process that does not let go of it'],
]

function migrate(db: Database.Database, path: string): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    const [version] = db.prepare('PRAGMA user_version').raw().get() as [number]
    if (version > migrations.length) {
      throw new Error(`${path} was written by a newer version of this software (schema ${version})`)
    }
    for (const sql of migrations.slice(version)) db.exec(sql)
    db.exec(`PRAGMA user_version = ${migrations.length}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  }
}

async function patiently(work: () => void): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || attempt >= 200) throw error
      await pause(10 + Math.random() * 40)
    }
  }
}

export interface FileHealthOptions {
  /** Called with problems that an operator should know of, once each. `serve` logs them. */
  readonly onNotice?: (text: string, level: 'warn' | 'error') => void
  /** The interval at which commits check that the file is still there. Default 500 ms. */
  readonly checkEveryMs?: number
}

export class FileHealth {
  /** The file and its write-ahead log, with the inodes that were opened. Empty for databases in memory. */
  readonly #inodes = new Map<string, bigint>()
  readonly #path: string
  readonly #options: FileHealthOptions
  /** The size of the database according to SQLite. */
  readonly #databaseBytes: () => number
  /** The size of the file at the last look. */
  #bytes = 0n
  #isMissing = false
  /** Stays true when the file grows again: checkpoints write some pages, and the others remain lost. */
  #isTruncated = false
  #lastLook = performance.now()
  #writeError: unknown
  #notice: string | undefined

  constructor(path: string, options: FileHealthOptions, databaseBytes: () => number) {
    this.#path = resolve(path)
    this.#options = options
    this.#databaseBytes = databaseBytes
    if (path === ':memory:') return
    // SQLite keeps the write-ahead log beside the file that a symbolic link leads to.
    for (const file of [this.#path, `${realpathSync(this.#path)}-wal`]) {
      const inode = look(file)?.ino
      if (inode !== undefined) this.#inodes.set(file, inode)
    }
    this.#bytes = look(this.#path)?.size ?? 0n
  }

  /** True if the last write failed because of the disk, and none has succeeded since. */
  get isUnwritable(): boolean {
    return this.#writeError !== undefined
  }

  /** Throws before a commit that would be lost. */
  beforeCommit(): void {
    const { checkEveryMs = 500 } = this.#options
    if (!this.#isMissing && !this.#isTruncated && performance.now() - this.#lastLook < checkEveryMs) return
    this.assertPresent()
  }

  committed(): void {
    if (this.#writeError === undefined) return
    this.#writeError = undefined
    this.#report(undefined)
  }

  failed(error: unknown): void {
    if (!isOfDisk(error)) return
    this.#writeError = error
    this.#report(`The store cannot be written to: ${(error as Error).message} (${this.#path})`)
  }

  assertPresent(): void {
    this.#lastLook = performance.now()
    const missing = [...this.#inodes].find(([file, inode]) => look(file)?.ino !== inode)
    this.#isMissing = missing !== undefined
    if (missing)
      this.#refuse(`The store's file was deleted or replaced: ${missing[0]}. Put it back, or restart on another one`)
    this.#isTruncated ||= this.#hasLostPages()
    if (this.#isTruncated)
      this.#refuse(`The store's file was truncated: ${this.#path}. Restore it from a backup, and restart`)
    if (!this.isUnwritable) this.#report(undefined)
  }

  /** True if the file shrank. That is fine if the database shrank too: another process ran `VACUUM`. */
  #hasLostPages(): boolean {
    const bytes = look(this.#path)?.size ?? 0n
    if (bytes < this.#bytes && this.#databaseBytes() >= this.#bytes) return true
    this.#bytes = bytes
    return false
  }

  #refuse(text: string): never {
    this.#report(text)
    throw new Error(text)
  }

  /** Throws if the file system is full, even without writes. */
  async assertRoom(): Promise<void> {
    if (this.#inodes.size === 0) return
    await assertFreeSpace(dirname(this.#path))
  }

  #report(notice: string | undefined): void {
    if (notice === this.#notice) return
    this.#notice = notice
    if (notice === undefined) this.#options.onNotice?.('The store can be written to again', 'warn')
    else this.#options.onNotice?.(notice, 'error')
  }
}

function look(file: string): { readonly ino: bigint; readonly size: bigint } | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })
}

/** True if the disk is full, broken or read-only. Other errors concern one write. */
function isOfDisk(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN)/.test(String(error.code))
}
