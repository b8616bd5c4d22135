/** Recognises stores among the values of options. */
import { isObject } from '../model/is-object.js'
import { ValueKind } from '../model/option-names.js'
import type { Store } from './store.js'

const core = ['append', 'load', 'read', 'list', 'close'] as const satisfies readonly (keyof Store)[]

/** A value is a store if it has the core of `Store`. */
export const storeKind = new ValueKind(
  'a store, such as `new MemoryStore()` or `await openSqliteStore(…)`',
  (value) => isObject(value) && missingIn(value) === undefined,
  (value) => (isObject(value) ? `an object without \`${missingIn(value)}\`` : undefined),
)

function missingIn(value: object): string | undefined {
  return core.find((name) => typeof Reflect.get(value, name) !== 'function')
}
