/** Wraps a store so that its failures reach callers as `UNAVAILABLE`, with the cause in the log. Passes on `A2AError`. */
import { A2AError } from '../model/errors.js'
import type { ChangeFeed, CompleteStore, DeliveryStore } from '../stores/store.js'

/** The members of a store that an engine uses. */
export interface EngineStore
  extends Pick<
    CompleteStore,
    'append' | 'find' | 'view' | 'load' | 'read' | 'list' | 'bytesOf' | 'findKey' | 'expire' | 'leases'
  > {
  readonly deliveries: Pick<DeliveryStore, 'putConfig' | 'listConfigs' | 'getConfig' | 'deleteConfig'>
  readonly changes: Pick<ChangeFeed, 'watchTask' | 'watchRunnable'>
}

export function guardedStore(store: CompleteStore, onFailure: (error: unknown) => void): EngineStore {
  const failure = (error: unknown): A2AError => {
    // The store answers: it does not support the call, for example.
    if (error instanceof A2AError) return error
    onFailure(error)
    return new A2AError('UNAVAILABLE', 'The task store is not available, try again', {
      cause: error,
      retryAfterSeconds: 1,
    })
  }
  const rethrow = (error: unknown): never => {
    throw failure(error)
  }
  const guard =
    <Args extends unknown[], Result>(of: object, work: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      try {
        return work.apply(of, args).catch(rethrow)
      } catch (error) {
        return Promise.reject(failure(error))
      }
    }
  /** Change notifications are hints: without them readers learn of events later, and no call fails. */
  const guardWatch = (watch: () => () => void): (() => void) => {
    try {
      return watch()
    } catch (error) {
      onFailure(error)
      return () => undefined
    }
  }
  const { leases, deliveries, changes } = store
  return {
    // Every event passes here: without the list of arguments of `guard`.
    append(step) {
      try {
        return store.append(step).catch(rethrow)
      } catch (error) {
        return Promise.reject(failure(error))
      }
    },
    find: guard(store, store.find),
    view: guard(store, store.view),
    load: guard(store, store.load),
    read: guard(store, store.read),
    list: guard(store, store.list),
    bytesOf: guard(store, store.bytesOf),
    findKey: guard(store, store.findKey),
    expire: guard(store, store.expire),
    leases: {
      claim: guard(leases, leases.claim),
      renew: guard(leases, leases.renew),
      owners: guard(leases, leases.owners),
      disown: guard(leases, leases.disown),
    },
    deliveries: {
      putConfig: guard(deliveries, deliveries.putConfig),
      listConfigs: guard(deliveries, deliveries.listConfigs),
      getConfig: guard(deliveries, deliveries.getConfig),
      deleteConfig: guard(deliveries, deliveries.deleteConfig),
    },
    changes: {
      watchTask: (key, onChange) => guardWatch(() => changes.watchTask(key, onChange)),
      watchRunnable: (agent, onChange) => guardWatch(() => changes.watchRunnable(agent, onChange)),
    },
  }
}
