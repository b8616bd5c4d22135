/**
 * Notices that the database's file was deleted, replaced or truncated, and that it cannot be written to.
 *
 * SQLite goes on with a file that has no name any more: commits succeed, and are gone when the last process closes it.
 * A look at the file takes microseconds, so commits look at intervals and readiness checks look each time.
 *
 * Only `stat` is used: closing a descriptor of the file would release the locks that SQLite has in this process.
 */
import { realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { assertFreeSpace } from '../free-space.js'

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

  /** Whether the last write failed because of the disk, and none has succeeded since. */
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
    this.#say(undefined)
  }

  failed(error: unknown): void {
    if (!isOfDisk(error)) return
    this.#writeError = error
    this.#say(`The store cannot be written to: ${(error as Error).message} (${this.#path})`)
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
    if (!this.isUnwritable) this.#say(undefined)
  }

  /** Whether the file is smaller than it was. It may be, if the database is smaller too: another process ran `VACUUM`. */
  #hasLostPages(): boolean {
    const bytes = look(this.#path)?.size ?? 0n
    if (bytes < this.#bytes && this.#databaseBytes() >= this.#bytes) return true
    this.#bytes = bytes
    return false
  }

  #refuse(text: string): never {
    this.#say(text)
    throw new Error(text)
  }

  /** Throws when the file system has no room, also when nothing was written since. */
  async assertRoom(): Promise<void> {
    if (this.#inodes.size === 0) return
    await assertFreeSpace(dirname(this.#path))
  }

  #say(notice: string | undefined): void {
    if (notice === this.#notice) return
    this.#notice = notice
    if (notice === undefined) this.#options.onNotice?.('The store can be written to again', 'warn')
    else this.#options.onNotice?.(notice, 'error')
  }
}

function look(file: string): { readonly ino: bigint; readonly size: bigint } | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })
}

/** The disk is full, broken or read-only; other errors are about one write. */
function isOfDisk(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN)/.test(String(error.code))
}
