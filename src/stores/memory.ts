/** The public type of the memory store: without the members of `MemoryTasks` that are for other stores. */
import type { MemoryStoreOptions } from './memory-options.js'
import { MemoryTasks } from './memory-tasks.js'
import type { CompleteStore } from './store.js'

/**
 * Keeps tasks in the memory of this process, for tests, demonstrations and agents whose tasks need not survive a restart.
 * Beyond `maxBytes` the store evicts tasks of the owner that holds the most bytes. If that cannot make enough room, it
 * refuses events with the outcome `full` or `too-large`.
 */
export const MemoryStore: new (options?: MemoryStoreOptions) => CompleteStore = MemoryTasks

export type MemoryStore = CompleteStore
