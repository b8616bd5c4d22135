/** Tasks as files of one folder, for one process. */
import { access, type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { loadPackage } from '../../model/load-package.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { assertFreeSpace } from '../free-space.js'
import type { CompleteStore } from '../store.js'
import { openDocuments, type SimpleStorage, type SimpleStoreOptions, simpleStoreOptions } from './simple-store.js'

/** Options of `openFileStore`. */
export interface FileStoreOptions extends SimpleStoreOptions {
  /** Rejects if the folder does not exist. Default: the store creates it. */
  readonly mustExist?: boolean
}

const optionNames = { ...simpleStoreOptions, mustExist: 'boolean' } satisfies NamesOf<FileStoreOptions>

const documentName = /^([0-9a-f]{64})\.json$/
const unfinishedName = /^[0-9a-f]{64}\.json\.tmp$/

/**
 * Opens a store that keeps each task in a file of the folder. A committed step survives the death of the process and a
 * power cut. The folder is locked while the store is open: opening it twice fails.
 *
 * ```ts
 * await serve(agent, { store: await openFileStore('tasks') })
 * ```
 */
export async function openFileStore(folder: string, options: FileStoreOptions = {}): Promise<CompleteStore> {
  assertOptions('openFileStore', options, optionNames)
  const { mustExist = false, ...rest } = options
  if (mustExist) await access(folder)
  else await mkdir(folder, { recursive: true, mode: 0o700 })
  const files = await openFiles(folder)
  try {
    return await openDocuments(files, rest, `file store ${folder}`)
  } catch (error) {
    await files.close()
    throw error
  }
}

async function openFiles(folder: string): Promise<SimpleStorage & { close(): Promise<void> }> {
  const unlock = await lockFolder(folder)
  try {
    await removeUnfinished(folder)
    return filesIn(folder, await openFolder(folder), unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

/** A process that died may have left temporary files. */
async function removeUnfinished(folder: string): Promise<void> {
  for (const file of await readdir(folder, { withFileTypes: true }))
    if (file.isFile() && unfinishedName.test(file.name)) await rm(join(folder, file.name), { force: true })
}

function filesIn(
  folder: string,
  handle: FileHandle | undefined,
  unlock: () => void,
): SimpleStorage & { close(): Promise<void> } {
  const pathOf = (name: string) => {
    if (!documentName.test(`${name}.json`)) throw new TypeError(`Invalid document name: ${JSON.stringify(name)}`)
    return join(folder, `${name}.json`)
  }
  return {
    async save(name, document) {
      const path = pathOf(name)
      const unfinished = `${path}.tmp`
      try {
        await writeSynced(unfinished, document)
        await rename(unfinished, path)
      } catch (error) {
        // On a full disk the part that was written would keep it full.
        await rm(unfinished, { force: true }).catch(() => undefined)
        throw error
      }
      await handle?.sync()
    },
    load: (name) =>
      readFile(pathOf(name), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      }),
    list: async () => (await readdir(folder)).flatMap((file) => documentName.exec(file)?.[1] ?? []),
    async remove(name) {
      await rm(pathOf(name), { force: true })
      await handle?.sync()
    },
    ping: () => assertFreeSpace(folder),
    async close() {
      await handle?.close()
      unlock()
    },
  }
}

/** Windows cannot open folders, and needs no synchronisation of them. */
async function openFolder(folder: string): Promise<FileHandle | undefined> {
  return process.platform === 'win32' ? undefined : await open(folder, 'r')
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Locks the folder and returns the function that unlocks it. Throws if this or another process has locked it. The lock is
 * that of an empty SQLite file: the system releases it when the process dies.
 */
async function lockFolder(folder: string): Promise<() => void> {
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
