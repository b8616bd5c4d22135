/**
 * Small JSON documents beside the tasks: what a registry or an orchestrator has to remember. The contract every
 * store keeps; `records.contract.ts` is the suite that checks it.
 *
 * Promises:
 * - Documents lie in named collections. Every write of a collection gets the next number of its one ascending
 *   revision; a deletion is a write too, and leaves a tombstone.
 * - Writes may be conditional: they name the revision of the document they have seen, and `conflict` is the
 *   answer when it has another one by now. Nothing is written then.
 * - A document may have an expiry, by the store's own clock. From then on it counts as absent; `expire` turns it
 *   into a tombstone, so that readers of the log learn of it. Renewing an expiry is no write.
 * - The log is compacted: reading after a revision gives the last state of each document that was written since,
 *   in the order of the writes. Whoever applies that holds what the store holds.
 */

/** A record as it is stored, with its revision. */
export interface StoredRecord {
  readonly id: string
  readonly revision: number
  /** Anything JSON can say. */
  readonly value: unknown
}

/** The last write of one document. */
export interface RecordChange {
  readonly id: string
  readonly revision: number
  /** Absent when it was deleted. */
  readonly value?: unknown
}

/** A page of records. */
export interface RecordPage {
  /** Oldest first; empty when there is nothing newer. */
  readonly changes: readonly RecordChange[]
  /** The newest revision of the collection; 0 when nothing was ever written. */
  readonly head: number
  /** Tombstones up to here are gone: who holds documents from before this revision has to begin anew. */
  readonly floor: number
}

/** Conditions of a write. */
export interface WriteOptions {
  /** The revision of the document that the writer has seen; 0: there must be none. Without it: whatever is there. */
  readonly expect?: number
}

/** Options of `put`. */
export interface PutOptions extends WriteOptions {
  /** How long it lives unless it is renewed. Default: for ever. */
  readonly ttlMs?: number
}

/** The result of a write: done, or the reason it was refused. */
export type WriteOutcome =
  | { readonly result: 'ok'; readonly revision: number }
  /** Somebody else wrote; `revision` is that of the document now, 0 when there is none. */
  | { readonly result: 'conflict'; readonly revision: number }

/** Which records to remove. */
export interface RecordExpiry {
  /** At most this many documents at once, so that a sweep never blocks for long. */
  readonly limit: number
  /** Forget tombstones older than this. Default: they stay. */
  readonly tombstonesMs?: number
}

/** Stores small documents beside tasks, in collections. */
export interface RecordStore {
  get(collection: string, id: string): Promise<StoredRecord | undefined>
  put(collection: string, id: string, value: unknown, options?: PutOptions): Promise<WriteOutcome>
  /** Deleting what is not there writes nothing and answers with revision 0. */
  delete(collection: string, id: string, options?: WriteOptions): Promise<WriteOutcome>
  /** Moves the expiry. False when there is no such document, or no longer. */
  renew(collection: string, id: string, ttlMs: number): Promise<boolean>
  readAfter(collection: string, revision: number, limit: number): Promise<RecordPage>
  /** Writes tombstones for what has expired. Answers how many documents were touched. */
  expire(collection: string, expiry: RecordExpiry): Promise<number>
  /** Call back when the collection may have changed, whoever wrote. A hint: too often perhaps, never too rarely. */
  watch(collection: string, onChange: () => void): () => void
}
