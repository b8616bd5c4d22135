export type { LeaseClock } from './leases.js'
export { openSqliteStore, type SqliteStoreOptions } from './sqlite-store.js'
