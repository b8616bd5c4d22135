/** How much callers may have of an agent at once. Whoever wants more is told so; nobody else notices. */
import { A2AError, invalidField, overLimit, overSize } from '../model/errors.js'
import type { EventBody } from '../model/event.js'
import { quarterOfHeap } from '../model/heap-limit.js'
import type { Message } from '../model/message.js'
import type { Part, Struct } from '../model/part.js'
import { storedSizeOf } from '../model/size-of.js'

export interface EngineLimits {
  /** Tasks that run at once, of all callers together. Default 20,000. */
  readonly runs: number
  /** Tasks of one caller that run at once. Default 10,000. */
  readonly runsPerCaller: number
  /**
   * The size of all running tasks together, measured like `bytesPerTask`. A message beyond it is refused until tasks have
   * ended. Default: a quarter of V8's heap limit.
   */
  readonly runBytes: number
  /** Streams that one caller reads at once. Default 10,000. */
  readonly streamsPerCaller: number
  /** Messages that wait for their turn in one task. Default 100. */
  readonly waitingMessages: number
  /** Webhooks of one task: each is told of every event. Default 10. */
  readonly pushConfigsPerTask: number
  /** Parts of one message. Default 1,000. */
  readonly partsPerMessage: number
  /**
   * The size of one task: its messages, progress, artifacts and checkpoints, estimated as the characters of their text and
   * 40 bytes for each object or list. A send beyond it is refused; a handler whose output passes it has its task end FAILED. Default 64 MB.
   */
  readonly bytesPerTask: number
  /**
   * The size of all tasks of one caller together. A send beyond it is refused until tasks of this caller are removed. Not
   * for `anonymous`, a caller that all unauthenticated clients share. Default 1 GB.
   */
  readonly bytesPerCaller: number
  /** Messages of the history that are shown with a task, the newest ones. Default 1,000. */
  readonly historyMessages: number
  /** Characters of these messages together; the newest one is shown however long it is. Default 4,000,000. */
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

/** How much of something every caller has at the moment. A caller that has nothing takes no room. */
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

interface Running {
  readonly running: Tally
  readonly runBytes: number
  readonly settings: { readonly limits: EngineLimits }
}

/** Before a run begins for a caller, with a message and the task that it continues. */
export function assertRoom({ running, runBytes, settings: { limits } }: Running, caller: string, bytes: number): void {
  if (running.of(caller) >= limits.runsPerCaller)
    throw overLimit('runsPerCaller', 'Too many of your tasks are running, try again when one has ended')
  const limit = running.total >= limits.runs ? 'runs' : runBytes + bytes > limits.runBytes ? 'runBytes' : undefined
  // A task that is larger than all may be has to get through when it is alone.
  if (limit === undefined || (limit === 'runBytes' && running.total === 0)) return
  const metadata = { limit }
  throw new A2AError('UNAVAILABLE', 'Too many tasks are running, try again later', { metadata, retryAfterSeconds: 1 })
}

/** Before a message becomes part of a task that has a size already. */
export function assertTaskRoom(bytes: number, added: number, { bytesPerTask }: EngineLimits): void {
  if (bytes + added <= bytesPerTask) return
  throw overSize('bytesPerTask', `The task would be larger than ${inWords(bytesPerTask)}`)
}

/** Cancel requests may exceed `bytesPerTask` by so much: a task without room can be cancelled. */
const cancelReserve = 10_000

/** The event of a cancel request. Throws if its metadata is too large for the task. */
export function cancelRequest(
  metadata: Struct | undefined,
  taskBytes: number,
  limits: EngineLimits,
): { readonly body: EventBody; readonly bytes: number } {
  const body = { cancelAsked: metadata ? { metadata } : {} }
  const bytes = storedSizeOf(body)
  assertTaskRoom(taskBytes - cancelReserve, bytes, limits)
  return { body, bytes }
}

/** The status message of a task that was ended because its handler's output is too large. */
export function taskTooLarge({ bytesPerTask }: EngineLimits): readonly Part[] {
  return [{ text: `The task is larger than ${inWords(bytesPerTask)} (limit bytesPerTask)` }]
}

/** The status message of a task that was ended because the store had no room for it. */
export const noRoomForTask: readonly Part[] = [{ text: 'The task store is full (limit maxBytes)' }]

/** For senders of new messages while the process drains (E-12). */
export function shuttingDown(): A2AError {
  return new A2AError('UNAVAILABLE', 'The server is shutting down, try again', { retryAfterSeconds: 1 })
}

/** Whether the store has no room for a step. */
export function isFull(outcome: string): outcome is 'full' | 'too-large' {
  return outcome === 'full' || outcome === 'too-large'
}

/** For the sender of a message that the store has no room for. Other tasks may end or be removed at any time. */
export function storeFull(outcome: 'full' | 'too-large'): A2AError {
  if (outcome === 'full') return overLimit('maxBytes', 'The task store is full, try again later', 5)
  return overSize('maxBytes', 'The task would be larger than the task store')
}

function inWords(bytes: number): string {
  const [unit, name] = bytes >= 1024 * 1024 ? [1024 * 1024, 'MB'] : [1024, 'KB']
  return `${Number((bytes / unit).toFixed(1))} ${name}`
}

export function assertWaitingRoom(waiting: readonly unknown[], { waitingMessages }: EngineLimits): void {
  if (waiting.length < waitingMessages) return
  throw overLimit('waitingMessages', 'Too many messages wait for their turn in this task')
}

/** Names that callers choose are kept in indexes, and those have room for so many characters in every store. */
export const longestId = 255

export function assertId(id: string | undefined, field: string): void {
  if (id !== undefined && id.length > longestId)
    throw invalidField(field, `must not be longer than ${longestId} characters`)
}

export function assertIds({ messageId, contextId }: Message): void {
  assertId(messageId, 'message.messageId')
  assertId(contextId, 'message.contextId')
}

export function assertParts({ parts }: Message, { partsPerMessage }: EngineLimits): void {
  if (parts.length <= partsPerMessage) return
  const metadata = { limit: 'partsPerMessage', max: String(partsPerMessage) }
  throw invalidField('message.parts', `has more than ${partsPerMessage} elements`, metadata)
}
