/** A folder that one process uses at a time. */
import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isProcessDead, processIdentity } from '../process-identity.js'

/**
 * Locks the folder with a file `lock` that names this process, and answers how to unlock it. The lock of a process that
 * is known to be dead is replaced. Throws when the folder is in use.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const lock = join(folder, 'lock')
  const identity = processIdentity()
  // A link appears whole or not at all: no other process reads a lock without a name in it.
  const own = join(folder, `${randomUUID()}.lock`)
  await writeFile(own, identity, { flag: 'wx', mode: 0o600 })
  try {
    if (!(await tryLink(own, lock))) await replaceDead(folder, own, lock)
  } finally {
    await rm(own, { force: true })
  }
  return async () => {
    if ((await textOf(lock)) === identity) await rm(lock, { force: true })
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** One process at a time replaces a lock: between reading and removing it, the lock could become that of a living process. */
async function replaceDead(folder: string, own: string, lock: string): Promise<void> {
  const replacing = join(folder, 'lock.replaced')
  if (!(await tryLink(own, replacing))) throw inUse(folder, replacing, await textOf(replacing))
  try {
    const holder = await textOf(lock)
    if (holder !== undefined && !isProcessDead(holder)) throw inUse(folder, lock, holder)
    await rm(lock, { force: true })
    if (!(await tryLink(own, lock))) throw inUse(folder, lock, await textOf(lock))
  } finally {
    await rm(replacing, { force: true })
  }
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function inUse(folder: string, file: string, holder = ''): Error {
  const [, pid = '?'] = holder.split('/')
  return new Error(
    `The folder ${folder} is in use by process ${pid}: a file store is for one process, several need sqlite:PATH or postgres://…. If that process has ended, delete ${file}`,
  )
}
