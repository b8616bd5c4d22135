/** Lets one process at a time use a folder. */
import { join } from 'node:path'
import { loadPackage } from '../../model/load-package.js'

/**
 * Locks the folder and returns the function that unlocks it. Throws if this or another process has locked it. The lock is
 * that of an empty SQLite file: the system releases it when the process dies.
 */
export async function lockFolder(folder: string): Promise<() => void> {
  // Stores on functions need no lock, and so no database library.
  const { default: Database } = await loadPackage('The file store', 'libsql', import('libsql'))
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
