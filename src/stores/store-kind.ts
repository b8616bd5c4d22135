/** Recognises stores among the values of options. */
import { isObject } from '../model/is-object.js'
import { ValueKind } from '../model/option-names.js'
import type { Store } from './store.js'

const functions: Readonly<Record<Exclude<keyof Store, 'records'>, true>> = {
  append: true,
  find: true,
  view: true,
  load: true,
  read: true,
  list: true,
  bytesOf: true,
  findKey: true,
  claim: true,
  renew: true,
  leaseOwners: true,
  disown: true,
  putPushConfig: true,
  listPushConfigs: true,
  getPushConfig: true,
  deletePushConfig: true,
  claimCursors: true,
  settleCursor: true,
  listDeadLetters: true,
  getDeadLetter: true,
  deleteDeadLetter: true,
  expire: true,
  watch: true,
  watchRunnable: true,
  watchDeliveries: true,
  stats: true,
  watchCommits: true,
  ping: true,
  close: true,
}

/** A value is a store if it has all functions of `Store`. */
export const storeKind = new ValueKind(
  'a store, such as `new MemoryStore()` or `await openSqliteStore(…)`',
  (value) => isObject(value) && missingIn(value) === undefined,
  (value) => (isObject(value) ? `an object without \`${missingIn(value)}\`` : undefined),
)

function missingIn(value: object): string | undefined {
  return Object.keys(functions).find((name) => typeof Reflect.get(value, name) !== 'function')
}
