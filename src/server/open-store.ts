import { MemoryStore } from '../stores/memory.js'
import type { Store } from '../stores/store.js'

/** Opens a store by its address. Databases are loaded on use: nobody pays at start-up for what they do not ask for. */
export async function openStore(address: string): Promise<Store> {
  if (address === 'memory') return new MemoryStore()
  const [, path] = /^sqlite:(.+)$/.exec(address) ?? []
  if (path !== undefined) {
    const { openSqliteStore } = await import('../stores/sqlite/index.js')
    return await openSqliteStore(path)
  }
  throw new TypeError(`Unknown store ${JSON.stringify(address)}: say "memory" or "sqlite:PATH"`)
}
