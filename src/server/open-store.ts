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

/** Options of `openStorePush`. */
export interface StorePushOptions {
  /** Where webhooks may be, and how they are called: as `serve` has it. */
  readonly push?: PushOptions
  /** Deliveries are signed with these keys, as those of `publicUrl`. */
  readonly signing?: SigningOptions | Signer
  /** The address of the agent: who signs. */
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
 * The same as `served.push`, for all agents of a store. The store is not closed with it.
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
      // All of them: a webhook outlives the dialect it was registered in.
      dialects: dialectsByName(),
      ...(signer && { signJwt: signer.signJwt }),
      addressOf: () => withoutTrailingSlashes(publicUrl),
      log,
    },
    push,
  )
  return { ...operations, [Symbol.asyncDispose]: close }
}
