/** Applies the changes of a collection of records to a reader, in order, as they are committed. */
import type { RecordChange, RecordStore } from '../stores/records.js'

interface LogReader {
  apply(change: RecordChange): void
  /** Clears the state: the log no longer has all changes since the reader's revision. */
  reset(): void
  /** All changes up to this revision were applied. */
  caughtUp?(revision: number): void
}

export interface FollowedLog {
  /** Resolves when all changes up to the revision were applied; without a revision, all present changes. */
  caughtUp(revision?: number): Promise<void>
  stop(): void
}

/** Small, because documents may be large and a page is read at once. */
const pageSize = 50
/** Number of changes that are applied before other requests run. */
const sliceSize = 4

export function followLog(
  records: RecordStore,
  collection: string,
  reader: LogReader,
  onFailure: (error: unknown) => void,
): FollowedLog {
  let seen = 0
  let isWhole = false
  let running: Promise<void> | undefined
  let isStale = false
  let isStopped = false
  let applied = 0

  const readPage = async (): Promise<boolean> => {
    const { changes, floor } = await records.readAfter(collection, seen, pageSize)
    if (isWhole && seen < floor) {
      reader.reset()
      seen = 0
      isWhole = false
      return true
    }
    for (const change of changes) {
      if (isStopped) return false
      reader.apply(change)
      seen = change.revision
      applied += 1
      if (applied % sliceSize === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    if (changes.length === pageSize) return true
    isWhole = true
    // The newest tombstones may be deleted already, so the floor may be above the last change.
    seen = Math.max(seen, floor)
    reader.caughtUp?.(seen)
    return false
  }
  const read = async () => {
    do {
      isStale = false
      while (!isStopped && (await readPage()));
    } while (isStale && !isStopped)
  }
  /** One read at a time; a call during a read causes another one after it. */
  const catchUp = (): Promise<void> => {
    isStale = true
    running ??= read().finally(() => {
      running = undefined
    })
    return running
  }
  const unwatch = records.watch(collection, () => {
    catchUp().catch(onFailure)
  })
  return {
    async caughtUp(revision = Number.POSITIVE_INFINITY) {
      if (seen < revision) await catchUp()
    },
    stop() {
      isStopped = true
      unwatch()
    },
  }
}
