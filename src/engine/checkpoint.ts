/** What handlers write down for later attempts: a private event (E-4), bounded, committed before anybody relies on it. */
import { copyJson } from '../model/copy-json.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import type { JsonValue } from '../model/part.js'
import type { CheckpointOptions } from './agent.js'
import { isJson } from './sendable.js'
import type { TaskWriter } from './task-writer.js'

const optionNames = { fromReserve: true } satisfies NamesOf<CheckpointOptions>

const longestKey = 255
const mostCharacters = 1_000_000
/** Of one task: usually, and with the room that is kept for the end. */
const usualRoom = { characters: 16_000_000, keys: 10_000 }
const wholeRoom = { characters: 20_000_000, keys: 20_000 }

export class CheckpointWriter {
  readonly #writer: TaskWriter
  /** Characters of JSON, by key. */
  readonly #sizes = new Map<string, number>()
  #size = 0

  constructor(writer: TaskWriter) {
    this.#writer = writer
    for (const [key, value] of writer.fold.checkpoints) this.#note(key, JSON.stringify(value).length)
  }

  /** Commits a checkpoint together with everything said before it; `false` when the lease was lost. */
  async write(key: string, value: JsonValue, options: CheckpointOptions = {}): Promise<boolean> {
    assertOptions('turn.checkpoint', options, optionNames)
    const { fromReserve = false } = options
    const size = this.#checkedSize(key, value, fromReserve ? wholeRoom : usualRoom)
    if (!fromReserve && !this.#writer.hasRoomFor(size))
      throw new TypeError(`The task has no room for the checkpoint ${key}: it would exceed limits.bytesPerTask`)
    this.#note(key, size)
    // The handler may go on changing its value; events do not.
    this.#writer.hold({ checkpoint: { key, value: copyJson(value) } })
    return await this.#writer.flush()
  }

  #checkedSize(key: string, value: JsonValue, { characters, keys }: typeof usualRoom): number {
    if (typeof key !== 'string' || key === '' || key.length > longestKey)
      throw new TypeError(`The key of a checkpoint is a string of 1 to ${longestKey} characters`)
    if (!isJson(value, 0)) throw new TypeError(`The checkpoint ${key} is no JSON value`)
    const size = JSON.stringify(value).length
    if (size > mostCharacters)
      throw new TypeError(`The checkpoint ${key} is longer than ${mostCharacters} characters of JSON`)
    const before = this.#sizes.get(key)
    if (before === undefined && this.#sizes.size >= keys)
      throw new TypeError(`The task has ${keys} checkpoints already`)
    if (this.#size - (before ?? 0) + size > characters)
      throw new TypeError(`The checkpoints of a task are longer than ${characters} characters of JSON together`)
    return size
  }

  #note(key: string, size: number): void {
    this.#size += size - (this.#sizes.get(key) ?? 0)
    this.#sizes.set(key, size)
  }
}
