/** Records whose failures are already what a caller may see: `UNAVAILABLE`, with the reason as its cause. */
import { RegistryError } from '../registry-client/registry-error.js'
import type { Records } from '../stores/records.js'

export function reachableRecords(records: Records): Records {
  const guard = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work
    } catch (cause) {
      throw new RegistryError('UNAVAILABLE', 'The store is not available, try again', { cause, retryAfterSeconds: 1 })
    }
  }
  return {
    get: (...args) => guard(records.get(...args)),
    put: (...args) => guard(records.put(...args)),
    delete: (...args) => guard(records.delete(...args)),
    renew: (...args) => guard(records.renew(...args)),
    readAfter: (...args) => guard(records.readAfter(...args)),
    expire: (...args) => guard(records.expire(...args)),
    watch: (...args) => records.watch(...args),
  }
}

/** For the log: what went wrong, not what callers are told of it. */
export function reasonOf(error: unknown): unknown {
  return error instanceof RegistryError && error.cause !== undefined ? error.cause : error
}
