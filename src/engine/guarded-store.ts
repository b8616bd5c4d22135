/** A store whose failures are already what a caller may see: `UNAVAILABLE`, with the cause in the log. */
import { A2AError } from '../model/errors.js'
import type { Store } from '../stores/store.js'

export function guardedStore(store: Store, onFailure: (error: unknown) => void): Store {
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
    <Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      try {
        return work.apply(store, args).catch(rethrow)
      } catch (error) {
        return Promise.reject(failure(error))
      }
    }
  /** Hints are a convenience: without them readers find out later, and nobody fails. */
  const guardWatch = (watch: () => () => void): (() => void) => {
    try {
      return watch()
    } catch (error) {
      onFailure(error)
      return () => undefined
    }
  }
  return {
    records: store.records,
    append: guard(store.append),
    find: guard(store.find),
    view: guard(store.view),
    load: guard(store.load),
    read: guard(store.read),
    list: guard(store.list),
    bytesOf: guard(store.bytesOf),
    findKey: guard(store.findKey),
    claim: guard(store.claim),
    renew: guard(store.renew),
    leaseOwners: guard(store.leaseOwners),
    disown: guard(store.disown),
    putPushConfig: guard(store.putPushConfig),
    listPushConfigs: guard(store.listPushConfigs),
    getPushConfig: guard(store.getPushConfig),
    deletePushConfig: guard(store.deletePushConfig),
    claimCursors: guard(store.claimCursors),
    settleCursor: guard(store.settleCursor),
    listDeadLetters: guard(store.listDeadLetters),
    getDeadLetter: guard(store.getDeadLetter),
    deleteDeadLetter: guard(store.deleteDeadLetter),
    expire: guard(store.expire),
    stats: guard(store.stats),
    watchCommits: (onCommit) => store.watchCommits(onCommit),
    ping: guard(store.ping),
    close: guard(store.close),
    watch: (key, onChange) => guardWatch(() => store.watch(key, onChange)),
    watchRunnable: (agent, onChange) => guardWatch(() => store.watchRunnable(agent, onChange)),
    watchDeliveries: (agent, onChange) => guardWatch(() => store.watchDeliveries(agent, onChange)),
  }
}
