/** The options of `MemoryStore`. */
import type { NamesOf } from '../model/option-names.js'
import type { TaskKey } from './store.js'

export interface MemoryStoreOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** The number of ended tasks that are kept. Default 10,000. */
  readonly maxEndedTasks?: number
  /**
   * The size of all tasks, as their writers count it (`Append.bytes`). Beyond it the store evicts ended tasks, then tasks
   * that wait for input, then ended and waiting tasks with pending webhooks. If that cannot make enough room, it refuses
   * events with the outcome `full`, or `too-large` if the task alone exceeds the limit. Default: a quarter of the heap
   * that V8 may use.
   */
  readonly maxBytes?: number
  /** Called when tasks with pending webhooks are evicted, once a minute at most. `serve` logs it. */
  readonly onNotice?: (text: string) => void
}

/** For a store that also keeps its tasks elsewhere. */
export interface MemoryTasksDeps {
  /** The name of the store in notices. */
  readonly label: string
  /** Called with each task that is evicted or expires. */
  readonly onRemove: (key: TaskKey) => void
}

export const memoryOptions = {
  now: true,
  maxEndedTasks: true,
  maxBytes: true,
  onNotice: true,
} satisfies NamesOf<MemoryStoreOptions>
