/** What handlers write down for later attempts: a private event (E-4), bounded, committed before anybody relies on it. */
import type { JsonValue } from '../model/part.js'
import { isJson } from './sendable.js'
import type { TaskWriter } from './task-writer.js'

const longestKey = 255
const mostCharacters = 1_000_000
const mostKeys = 10_000

/** Commits a checkpoint together with everything said before it; `false` when the lease was lost. */
export async function writeCheckpoint(writer: TaskWriter, key: string, value: JsonValue): Promise<boolean> {
  assertCheckpoint(writer, key, value)
  // The handler may go on changing its value; events do not.
  writer.hold({ checkpoint: { key, value: structuredClone(value) } })
  return await writer.flush()
}

function assertCheckpoint({ fold }: TaskWriter, key: string, value: JsonValue): void {
  if (typeof key !== 'string' || key === '' || key.length > longestKey)
    throw new TypeError(`The key of a checkpoint is a string of 1 to ${longestKey} characters`)
  if (!isJson(value, 0)) throw new TypeError(`The checkpoint ${key} is no JSON value`)
  if (JSON.stringify(value).length > mostCharacters)
    throw new TypeError(`The checkpoint ${key} is longer than ${mostCharacters} characters of JSON`)
  if (fold.checkpoints.size >= mostKeys && !fold.checkpoints.has(key))
    throw new TypeError(`The task has ${mostKeys} checkpoints already`)
}
