/**
 * Records: small JSON documents beside the tasks, for registries. `records.contract.ts` is the suite that checks them.
 *
 * - Records lie in named collections. Every write gets the next revision of its collection. A deletion is a write and
 *   leaves a tombstone.
 * - A conditional write names the revision that the writer has read. If the record has another one, the outcome is
 *   `conflict` and the store writes nothing.
 * - A record may expire, by the clock of the store. Then it counts as absent, and `expire` writes its tombstone. Renewing is
 *   not a write.
 * - `readAfter` reads a compacted log: the last write of each record since a revision, in order. A reader that applies
 *   all of them has the state of the store.
 */

/** A record and its revision. */
export interface StoredRecord {
  readonly id: string
  readonly revision: number
  /** Any JSON value. */
  readonly value: unknown
}

/** The last write of one record. */
export interface RecordChange {
  readonly id: string
  readonly revision: number
  /** Absent if the record was deleted. */
  readonly value?: unknown
}

/** A page of the log of a collection. */
export interface RecordPage {
  /** Oldest first. Empty if there is nothing newer. */
  readonly changes: readonly RecordChange[]
  /** The newest revision of the collection; 0 before the first write. */
  readonly head: number
  /** Tombstones up to this revision are removed. A reader that stopped before it must start from 0. */
  readonly floor: number
}

/** The condition of a write. */
export interface WriteOptions {
  /** The revision that the writer has read; 0 if the record must not exist. Default: write in any case. */
  readonly expect?: number
}

/** Options of `RecordStore.put`. */
export interface PutOptions extends WriteOptions {
  /** Time until the record expires unless it is renewed. Default: never. */
  readonly ttlMs?: number
}

/** The result of a write. */
export type WriteOutcome =
  | { readonly result: 'ok'; readonly revision: number }
  /** Another writer was faster. `revision` is the current one, 0 if there is no record. */
  | { readonly result: 'conflict'; readonly revision: number }

/** Options of `RecordStore.expire`. */
export interface RecordExpiry {
  /** The maximum number of records per call, so that a call does not block for long. */
  readonly limit: number
  /** Removes tombstones older than this. Default: none. */
  readonly tombstonesMs?: number
}

/** Keeps records. Without it a registry refuses the store. */
export interface RecordStore {
  get(collection: string, id: string): Promise<StoredRecord | undefined>
  put(collection: string, id: string, value: unknown, options?: PutOptions): Promise<WriteOutcome>
  /** Deletes a record. If there is none, it writes nothing and returns revision 0. */
  delete(collection: string, id: string, options?: WriteOptions): Promise<WriteOutcome>
  /** Sets a new expiry. False if there is no such record. */
  renew(collection: string, id: string, ttlMs: number): Promise<boolean>
  readAfter(collection: string, revision: number, limit: number): Promise<RecordPage>
  /** Writes tombstones of expired records. Returns the number of records that it changed. */
  expire(collection: string, expiry: RecordExpiry): Promise<number>
  /** Calls back after changes of any process. A hint: it may come too often, but no change is missed. */
  watch(collection: string, onChange: () => void): () => void
}
