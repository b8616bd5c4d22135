/** Tasks as files of one folder, for one process. */
import { access, type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import type { Store } from '../store.js'
import { lockFolder } from './folder-lock.js'
import { type SimpleStorage, type SimpleStoreOptions, simpleStore, simpleStoreOptions } from './simple-store.js'

export interface FileStoreOptions extends SimpleStoreOptions {
  /** The folder has to exist. Default: it is made. */
  readonly mustExist?: boolean
}

const optionNames = { ...simpleStoreOptions, mustExist: true } satisfies NamesOf<FileStoreOptions>

const documentName = /^([0-9a-f]{64})\.json$/

/**
 * Opens a store that keeps each task in a file of the folder. A committed step survives the death of the process and a
 * power cut. The folder is locked while the store is open: opening it twice fails.
 *
 * ```ts
 * await serve(agent, { store: await openFileStore('tasks') })
 * ```
 */
export async function openFileStore(folder: string, options: FileStoreOptions = {}): Promise<Store> {
  assertOptions('openFileStore', options, optionNames)
  const { mustExist = false, ...rest } = options
  if (mustExist) await access(folder)
  else await mkdir(folder, { recursive: true, mode: 0o700 })
  const unlock = lockFolder(folder)
  try {
    return await simpleStore(await openFiles(folder, unlock), rest)
  } catch (error) {
    unlock()
    throw error
  }
}

async function openFiles(folder: string, unlock: () => void): Promise<SimpleStorage> {
  // What a dead process had not finished.
  for (const name of await readdir(folder)) if (name.endsWith('.tmp')) await rm(join(folder, name), { force: true })
  const handle = await openFolder(folder)
  const pathOf = (name: string) => {
    if (!documentName.test(`${name}.json`)) throw new TypeError(`${JSON.stringify(name)} is no name of a document`)
    return join(folder, `${name}.json`)
  }
  return {
    async save(name, document) {
      const path = pathOf(name)
      await writeSynced(`${path}.tmp`, document)
      await rename(`${path}.tmp`, path)
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
    },
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
