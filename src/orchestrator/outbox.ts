/**
 * Serialises the output of concurrent steps: yields and checkpoints are taken by the handler one after the other. A
 * checkpoint is written after all earlier yields, so that a completed step has its artifacts in the log.
 */
import type { CheckpointOptions } from '../engine/agent.js'
import type { Yield } from '../engine/yields.js'
import type { JsonValue } from '../model/part.js'

type OutboxItem =
  | { readonly output: Yield; readonly taken?: () => void }
  | {
      readonly key: string
      readonly value: JsonValue
      readonly options: CheckpointOptions
      readonly written: (work: Promise<void>) => void
    }

type Settle = (value?: Promise<void>) => void

export class Outbox {
  readonly #items: OutboxItem[] = []
  /** Rejects the promises of items that are not settled yet. */
  readonly #unsettled = new Set<(reason: unknown) => void>()
  #isClosed = false
  #end: { readonly reason: unknown } | undefined
  #failure: { readonly error: unknown } | undefined
  #wake: () => void = () => undefined

  /** As `yield`, without waiting. */
  post(output: Yield): void {
    this.#put({ output })
  }

  /** Resolves when the log has taken the item, so that fast callers wait for the log. Rejects if `end` comes first. */
  yield(output: Yield): Promise<void> {
    return this.#settling((settle) => ({ output, taken: settle }))
  }

  /** Resolves when the value has been committed. Rejects if `end` comes first. */
  write(key: string, value: JsonValue, options: CheckpointOptions): Promise<void> {
    return this.#settling((settle) => ({ key, value, options, written: settle }))
  }

  /** Accepts no more items. Those that came before are still taken. */
  close(): void {
    this.#isClosed = true
    this.#wake()
  }

  /** Closes, and rejects the promise of every item that is not settled, or that comes later. */
  end(reason: unknown): void {
    this.close()
    this.#end = { reason }
    for (const reject of this.#unsettled) reject(reason)
    this.#unsettled.clear()
  }

  /** As `close`; `next` throws the error after the last item. */
  fail(error: unknown): void {
    this.#failure ??= { error }
    this.close()
  }

  /** Resolves to the next item; to undefined when the outbox is closed and empty. */
  async next(): Promise<OutboxItem | undefined> {
    for (;;) {
      const item = this.#items.shift()
      if (item) return item
      if (this.#failure) throw this.#failure.error
      if (this.#isClosed) return undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #settling(itemOf: (settle: Settle) => OutboxItem): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#end) {
        reject(this.#end.reason)
        return
      }
      this.#unsettled.add(reject)
      this.#put(
        itemOf((value) => {
          this.#unsettled.delete(reject)
          resolve(value)
        }),
      )
    })
  }

  #put(item: OutboxItem): void {
    if (this.#isClosed) return
    this.#items.push(item)
    this.#wake()
  }
}
