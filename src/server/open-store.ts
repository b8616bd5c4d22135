import { dialectsByName } from '../dialects/servers.js'
import { loadPackage } from '../model/load-package.js'
import type { Log } from '../model/log.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { createStorePush, type PushOptions, pushNames } from '../push/create-push.js'
import type { PushOperations } from '../push/dead-letters.js'
import { type Signer, type SigningOptions, toSigner } from '../signing/signer.js'
import { completeStore, storeKind } from '../stores/complete-store.js'
import { MemoryStore } from '../stores/memory.js'
import type { CompleteStore, Store } from '../stores/store.js'

/** Options of `openStore`. */
export interface OpenStoreOptions {
  /** Called with problems that an operator should know of. */
  readonly onNotice?: (text: string, level?: 'warn' | 'error') => void
  /** Requires a store with the schema of this version: the store is neither created nor migrated. Default false. */
  readonly mustExist?: boolean
}

const openStoreOptions = { onNotice: 'function', mustExist: 'boolean' } satisfies NamesOf<OpenStoreOptions>

/** Opens a store by its address. Database drivers are loaded when they are used. */
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
    `Unknown store ${JSON.stringify(address)}: write "memory", "file:DIR", "sqlite:PATH" or "postgres://…"`,
  )
}

/** Writes the notices of a store to the log. */
function noticesTo(log: Log | undefined): (text: string, level?: 'warn' | 'error') => void {
  return (message, level = 'warn') => log?.({ level, message })
}

/** A store in use. `release` closes it if it was opened here. */
interface UsedStore {
  readonly store: CompleteStore
  release(): Promise<void>
}

/** Returns the given store, which its owner closes, or opens the one at an address. Default: in memory. */
export async function useStore(given: Store | string = 'memory', log?: Log): Promise<UsedStore> {
  if (typeof given !== 'string') return { store: completeStore(given), release: async () => undefined }
  const store = await openStore(given, { onNotice: noticesTo(log) })
  return { store, release: () => store.close() }
}

/** Options of `openStorePush`. */
export interface StorePushOptions {
  /** Allowed addresses of webhooks, and options of their calls, as in `serve`. */
  readonly push?: PushOptions
  /** Keys that sign deliveries, in the name of `publicUrl`. */
  readonly signing?: SigningOptions | Signer
  /** The address of the agent, which is the issuer of signatures. */
  readonly publicUrl?: string
  readonly log?: Log
}

const optionNames = {
  push: pushNames,
  signing: true,
  publicUrl: true,
  log: true,
} satisfies NamesOf<StorePushOptions>

/** The webhook deliveries of a store, without a server. */
export interface StorePush extends PushOperations, AsyncDisposable {}

/**
 * Opens the operations of `served.push` for all agents of a store. Disposing them does not close the store.
 *
 * ```ts
 * await using push = await openStorePush(store)
 * for (const { id } of await push.deadLetters()) await push.redeliver(id)
 * ```
 */
export async function openStorePush(store: Store, options: StorePushOptions = {}): Promise<StorePush> {
  assertOptions('openStorePush', { store }, { store: storeKind })
  assertOptions('openStorePush', options, optionNames)
  const { push, signing, publicUrl = '', log = () => undefined } = options
  if (signing && publicUrl === '') throw new TypeError('`signing` needs `publicUrl`: whose deliveries these are')
  const signer = signing && (await toSigner(signing))
  const { operations, close } = createStorePush(
    {
      store: completeStore(store),
      // All dialects: a webhook outlives the dialect it was registered in.
      dialects: dialectsByName(),
      ...(signer && { signJwt: signer.signJwt }),
      addressOf: () => withoutTrailingSlashes(publicUrl),
      log,
    },
    push,
  )
  return { ...operations, [Symbol.asyncDispose]: close }
}
