/**
 * What the steps of a run say and write down, in one order. Several of them run at a time and the handler has
 * one mouth: whatever is put here is taken by it, one after the other. A checkpoint comes behind everything that
 * was said before it, so that a step that is done has its artifacts in the log.
 */
import type { CheckpointOptions } from '../engine/agent.js'
import type { Yield } from '../engine/yields.js'
import type { JsonValue } from '../model/part.js'

export type OutboxItem =
  | { readonly say: Yield; taken(): void }
  | {
      readonly key: string
      readonly value: JsonValue
      readonly options: CheckpointOptions
      written(work: Promise<void>): void
    }

export class Outbox {
  readonly #items: OutboxItem[] = []
  #isClosed = false
  #failure: { readonly error: unknown } | undefined
  #wake: () => void = () => undefined

  /** Resolves when it has been taken: whoever speaks fast waits for the log. */
  say(said: Yield): Promise<void> {
    return new Promise((taken) => this.#put({ say: said, taken }))
  }

  /** Resolves when it has been committed. */
  write(key: string, value: JsonValue, options: CheckpointOptions): Promise<void> {
    return new Promise((resolve) => this.#put({ key, value, options, written: resolve }))
  }

  /** Nothing more will be taken but what is here already; what comes now is dropped, and its sender waits for ever. */
  close(): void {
    this.#isClosed = true
    this.#wake()
  }

  /** As `close`, and whoever takes the last item gets this. */
  fail(error: unknown): void {
    this.#failure ??= { error }
    this.close()
  }

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

  #put(item: OutboxItem): void {
    if (this.#isClosed) return
    this.#items.push(item)
    this.#wake()
  }
}
