/** Keeps a reader in step with a collection of records. */
import type { RecordChange, RecordStore } from '../stores/records.js'

export interface LogReader {
  apply(change: RecordChange): void
  /** What is held is from before what the log remembers: begin with nothing. */
  reset(): void
  /** Everything up to a revision was applied. */
  caughtUp?(revision: number): void
}

export interface FollowedLog {
  /** Resolves when everything up to a revision was applied; without one, everything there is now. */
  caughtUp(revision?: number): Promise<void>
  stop(): void
}

/** Documents may be large, and a page is read in one piece. */
const pageSize = 50
/** Applied before others get their turn: a long log must not keep everybody waiting. */
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
    // What was deleted last may be forgotten already: nothing of it is missing.
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
  /** One reader at a time; who comes while it reads gets one that began after. */
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
