/** A store whose failures are already what a caller may see: `UNAVAILABLE`, with the cause in the log. */
import { A2AError } from '../model/errors.js'
import type { CompleteStore } from '../stores/store.js'

export function guardedStore(store: CompleteStore, onFailure: (error: unknown) => void): CompleteStore {
  const failure = (error: unknown): A2AError => {
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
  /** Hints are optional: without them readers find changes later, and no call fails. */
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
    append: guard(store, store.append),
    find: guard(store, store.find),
    view: guard(store, store.view),
    load: guard(store, store.load),
    read: guard(store, store.read),
    list: guard(store, store.list),
    bytesOf: guard(store, store.bytesOf),
    findKey: guard(store, store.findKey),
    expire: guard(store, store.expire),
    stats: guard(store, store.stats),
    watchCommits: (onCommit) => store.watchCommits(onCommit),
    ping: guard(store, store.ping),
    close: guard(store, store.close),
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
      claim: guard(deliveries, deliveries.claim),
      settle: guard(deliveries, deliveries.settle),
      listDeadLetters: guard(deliveries, deliveries.listDeadLetters),
      getDeadLetter: guard(deliveries, deliveries.getDeadLetter),
      deleteDeadLetter: guard(deliveries, deliveries.deleteDeadLetter),
    },
    records: store.records,
    changes: {
      watchTask: (key, onChange) => guardWatch(() => changes.watchTask(key, onChange)),
      watchRunnable: (agent, onChange) => guardWatch(() => changes.watchRunnable(agent, onChange)),
      watchDeliveries: (agent, onChange) => guardWatch(() => changes.watchDeliveries(agent, onChange)),
    },
  }
}
