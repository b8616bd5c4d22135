/** The options of `MemoryStore`. */
import type { NamesOf } from '../model/option-names.js'
import type { TaskKey } from './store.js'

export interface MemoryStoreOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** How many ended tasks are remembered. Default 10,000. */
  readonly maxEndedTasks?: number
  /**
   * How much all tasks may take, as their writers count it (`Append.bytes`). Beyond it the store forgets ended tasks, and
   * then refuses events with the outcome `full`. Default: a quarter of the heap that V8 may use.
   */
  readonly maxBytes?: number
  /** Called when tasks with pending webhooks are evicted, once a minute at most. `serve` logs it. */
  readonly onNotice?: (text: string) => void
  /** Called with each task that is evicted or expires. */
  readonly onRemove?: (key: TaskKey) => void
}

export const memoryOptions = {
  now: true,
  maxEndedTasks: true,
  maxBytes: true,
  onNotice: true,
  onRemove: true,
} satisfies NamesOf<MemoryStoreOptions>
