import { loadPackage } from '../model/load-package.js'
import type { Log } from '../model/log.js'
import { assertOptions } from '../model/option-names.js'
import { completeStore } from '../stores/complete-store.js'
import { MemoryStore } from '../stores/memory.js'
import type { CompleteStore, Store } from '../stores/store.js'
import { openStoreOptions } from './options.js'

/** Options of `openStore`. */
export interface OpenStoreOptions {
  /** Called with problems that an operator should know of. */
  readonly onNotice?: (text: string, level?: 'warn' | 'error') => void
  /** The store has to be there, with this version's schema: nothing is made or updated. Default false. */
  readonly mustExist?: boolean
}

/** Opens a store by its address. Databases are loaded on use: nobody pays at start-up for what they do not ask for. */
export async function openStore(address: string, options: OpenStoreOptions = {}): Promise<CompleteStore> {
  assertOptions('openStore', options, openStoreOptions)
  const { onNotice } = options
  if (address === 'memory') return new MemoryStore(onNotice && { onNotice })
  const [, path] = /^sqlite:(.+)$/.exec(address) ?? []
  if (path !== undefined) {
    const { openSqliteStore } = await loadPackage('The SQLite store', 'libsql', import('../stores/sqlite/index.js'))
    return await openSqliteStore(path, options)
  }
  const [, folder] = /^file:(.+)$/.exec(address) ?? []
  if (folder !== undefined) {
    const { openFileStore } = await import('../stores/simple/index.js')
    return await openFileStore(folder, options)
  }
  if (/^postgres(ql)?:/.test(address)) {
    const { openPostgresStore } = await loadPackage('The Postgres store', 'pg', import('../stores/postgres/index.js'))
    return await openPostgresStore(address, options)
  }
  throw new TypeError(
    `Unknown store ${JSON.stringify(address)}: say "memory", "file:DIR", "sqlite:PATH" or "postgres://…"`,
  )
}

/** What a store has to say to its operator. */
function noticesTo(log: Log | undefined): (text: string, level?: 'warn' | 'error') => void {
  return (message, level = 'warn') => log?.({ level, message })
}

/** A store that is used here; `release` closes it if it was opened for that. */
export interface UsedStore {
  readonly store: CompleteStore
  release(): Promise<void>
}

/** The store that was given, which stays its owner's to close; or the one at an address. Default: in memory. */
export async function useStore(given: Store | string = 'memory', log?: Log): Promise<UsedStore> {
  if (typeof given !== 'string') return { store: completeStore(given), release: async () => undefined }
  const store = await openStore(given, { onNotice: noticesTo(log) })
  return { store, release: () => store.close() }
}
