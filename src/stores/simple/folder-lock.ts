/** A folder that one process uses at a time. */
import { join } from 'node:path'
import Database from 'libsql'

/**
 * Locks the folder and answers how to unlock it. Throws when it is locked already, by this process or another one. The lock
 * is that of an empty SQLite file: the system releases it when the process dies.
 */
export function lockFolder(folder: string): () => void {
  const lock = new Database(join(folder, 'lock'), { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if ((error as { readonly code?: string }).code !== 'SQLITE_BUSY') throw error
    throw new Error(
      `The folder ${folder} is in use: a file store is for one process, several need sqlite:PATH or postgres://…`,
      { cause: error },
    )
  }
  return () => lock.close()
}
