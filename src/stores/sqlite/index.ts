export type { LeaseClock } from './lease-clock.js'
export { openSqliteStore, type SqliteStoreOptions } from './sqlite-store.js'
