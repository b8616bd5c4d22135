/** Limits of one engine, and the errors for calls that exceed them. */
import { type A2AError, invalidField, limitMetadata, overLimit, overSize } from '../model/errors.js'
import type { Message } from '../model/message.js'
import type { Part } from '../model/part.js'
import { quarterOfHeap } from '../model/size-of.js'

/** Limits of one agent. The server refuses calls that exceed them; other callers are not affected. */
export interface EngineLimits {
  /** Running tasks of all callers together. Default 20,000. */
  readonly runs: number
  /** Running tasks of one caller. Default 10,000. */
  readonly runsPerCaller: number
  /**
   * The size of all running tasks together, measured like `bytesPerTask`. Messages beyond it are refused until tasks have
   * ended. Default: a quarter of V8's heap limit.
   */
  readonly runBytes: number
  /** Open streams of one caller. Default 10,000. */
  readonly streamsPerCaller: number
  /** Messages that wait for their turn in one task. Default 100. */
  readonly waitingMessages: number
  /** Webhooks of one task. Each webhook gets every event. Default 10. */
  readonly pushConfigsPerTask: number
  /** Parts of one message. Default 1,000. */
  readonly partsPerMessage: number
  /**
   * The size of one task: its messages, progress, artifacts and checkpoints, estimated as the characters of their text and
   * 40 bytes for each object or list. A send beyond it is refused; a task whose output exceeds it ends FAILED. Default 64 MB.
   */
  readonly bytesPerTask: number
  /**
   * The size of all tasks of one caller together. A send beyond it is refused until tasks of this caller are removed. Does
   * not apply to `anonymous`, the caller that all unauthenticated clients share. Default 1 GB.
   */
  readonly bytesPerCaller: number
  /** The newest messages of the history that responses include. Default 1,000. */
  readonly historyMessages: number
  /** Characters of these messages together. The newest message is always included. Default 4,000,000. */
  readonly historyCharacters: number
}

export const defaultEngineLimits: EngineLimits = {
  runs: 20_000,
  runsPerCaller: 10_000,
  runBytes: quarterOfHeap(),
  streamsPerCaller: 10_000,
  waitingMessages: 100,
  pushConfigsPerTask: 10,
  partsPerMessage: 1_000,
  bytesPerTask: 64 * 1024 * 1024,
  bytesPerCaller: 1024 * 1024 * 1024,
  historyMessages: 1_000,
  historyCharacters: 4_000_000,
}

/** Counts something per caller. Callers with a count of 0 use no memory. */
export class Tally {
  total = 0
  readonly #counts = new Map<string, number>()

  of(caller: string): number {
    return this.#counts.get(caller) ?? 0
  }

  add(caller: string): void {
    this.total += 1
    this.#counts.set(caller, this.of(caller) + 1)
  }

  remove(caller: string): void {
    this.total -= 1
    const left = this.of(caller) - 1
    if (left > 0) this.#counts.set(caller, left)
    else this.#counts.delete(caller)
  }
}

/** Checks the size of a task before a message is added to it. */
export function assertTaskRoom(bytes: number, added: number, { bytesPerTask }: EngineLimits): void {
  if (bytes + added <= bytesPerTask) return
  const text = `The task would be too large (limit bytesPerTask: ${formatBytes(bytesPerTask)})`
  throw overSize({ limit: 'bytesPerTask', max: bytesPerTask }, text)
}

/** The status message of a task that failed because its output is too large. */
export function taskTooLarge({ bytesPerTask }: EngineLimits): readonly Part[] {
  return [{ text: `The task is too large (limit bytesPerTask: ${formatBytes(bytesPerTask)})` }]
}

/** The status message of a task that failed because the store is full. */
export const storeFullParts: readonly Part[] = [{ text: 'The task store is full (limit maxBytes)' }]

/** Whether a store refused a step because it has no room. */
export function isFull(outcome: string): outcome is 'full' | 'too-large' {
  return outcome === 'full' || outcome === 'too-large'
}

/** The error for a message that the store has no room for. `full` is temporary: other tasks end or are removed. */
export function storeFull(outcome: 'full' | 'too-large'): A2AError {
  if (outcome === 'full')
    return overLimit({ limit: 'maxBytes' }, 'The task store is full (limit maxBytes), try again later', 5)
  return overSize({ limit: 'maxBytes' }, 'The task would be larger than the task store (limit maxBytes)')
}

/** Formats the value of a limit without rounding it, so that users recognise the value that they configured. */
export function formatBytes(bytes: number): string {
  const inKilobytes = bytes / 1024
  if (bytes === 0 || !Number.isInteger(inKilobytes)) return `${bytes} bytes`
  return Number.isInteger(inKilobytes / 1024) ? `${inKilobytes / 1024} MB` : `${inKilobytes} KB`
}

export function assertWaitingRoom(waiting: readonly unknown[], { waitingMessages }: EngineLimits): void {
  if (waiting.length < waitingMessages) return
  throw overLimit(
    { limit: 'waitingMessages', max: waitingMessages },
    `Too many messages wait for their turn in this task (limit waitingMessages: ${waitingMessages})`,
  )
}

/** Client-supplied ids are limited to 255 characters, so that every store can index them. */
export const maxIdLength = 255

export function assertId(id: string | undefined, field: string): void {
  if (id !== undefined && id.length > maxIdLength)
    throw invalidField(field, `must not be longer than ${maxIdLength} characters`)
}

/** Checks the ids and the number of parts of a message. */
export function assertMessageSize({ messageId, contextId, parts }: Message, { partsPerMessage }: EngineLimits): void {
  assertId(messageId, 'message.messageId')
  assertId(contextId, 'message.contextId')
  if (parts.length <= partsPerMessage) return
  const metadata = limitMetadata({ limit: 'partsPerMessage', max: partsPerMessage })
  throw invalidField('message.parts', `has more than ${partsPerMessage} elements (limit partsPerMessage)`, metadata)
}
