/**
 * Streams in batches. Elements that arrive together pass each layer together: passing them one by one costs three
 * promises per element and layer, and a client has six layers.
 *
 * Layers are generators of batches. No batch is empty: layers take the first one as a sign of success. `items` turns
 * batches into a stream of elements, and `batchesOf` turns the stream back into batches for the next layer.
 */
import type { ReadAhead } from './service.js'

/** A generator of batches, or an object that works like one. */
interface Batches<T> extends AsyncIterableIterator<readonly T[], void, void> {
  return(): Promise<IteratorResult<readonly T[], void>>
}

/** Yields the elements of a stream in the batches they were read in. Elements before a failure are yielded first. */
export function batchesOf<T>(stream: AsyncIterable<T>): Batches<T> {
  // Nothing is copied between layers: an event passes them as part of its batch.
  return (stream instanceof Items ? (stream as Items<T>).takeBatches() : undefined) ?? readBatches(stream)
}

async function* readBatches<T>(stream: AsyncIterable<T>): AsyncGenerator<readonly T[], void, void> {
  const iterator: ReadAhead<T> = stream[Symbol.asyncIterator]()
  let isOver = false
  const ended = <Result>(result: Result): Result => {
    isOver = true
    return result
  }
  try {
    for (;;) {
      const next = await iterator.next().catch((error: unknown) => Promise.reject(ended(error)))
      if (next.done) return ended(undefined)
      const batch = [next.value]
      const failure = addReady(iterator, batch)
      yield batch
      if (failure) throw ended(failure.error)
    }
  } finally {
    // A reader that stops early closes the source.
    if (!isOver) await iterator.return?.()
  }
}

function addReady<T>(iterator: ReadAhead<T>, batch: T[]): { readonly error: unknown } | undefined {
  try {
    for (let more = iterator.takeReady?.(); more !== undefined; more = iterator.takeReady?.()) batch.push(more)
    return undefined
  } catch (error) {
    return { error }
  }
}

/** Yields the elements of batches, one at a time. */
export function items<T>(batches: Batches<T>): AsyncIterableIterator<T> & ReadAhead<T> {
  return new Items(batches)
}

class Items<T> implements AsyncIterableIterator<T, undefined>, ReadAhead<T> {
  readonly #batches: Batches<T>
  #batch: readonly T[] = []
  #place = 0
  #isRead = false

  constructor(batches: Batches<T>) {
    this.#batches = batches
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const value = this.takeReady()
    return value === undefined ? this.#read() : Promise.resolve({ done: false, value })
  }

  /** Returns the batches themselves, unless elements have been read. */
  takeBatches(): Batches<T> | undefined {
    return this.#isRead ? undefined : this.#batches
  }

  takeReady(): T | undefined {
    return this.#place < this.#batch.length ? this.#batch[this.#place++] : undefined
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#batch = []
    await this.#batches.return()
    return { done: true, value: undefined }
  }

  async #read(): Promise<IteratorResult<T, undefined>> {
    this.#isRead = true
    for (;;) {
      const next = await this.#batches.next()
      // Another call may have read elements meanwhile; they come first.
      const earlier = this.takeReady()
      if (next.done) return earlier === undefined ? { done: true, value: undefined } : { done: false, value: earlier }
      this.#batch = earlier === undefined ? next.value : [...this.#batch.slice(this.#place), ...next.value]
      this.#place = 0
      const value = earlier ?? this.takeReady()
      if (value !== undefined) return { done: false, value }
    }
  }
}
