/**
 * Streams of a task's public events, and the rules for where a stream ends.
 *
 * `TaskStream` is an iterator written by hand, because generators cost several promises for each event. It reads a batch of
 * the log at once; readers that call `takeReady` get its events without a promise. Nothing happens before the first `next`.
 */
import { A2AError, overLimit } from '../../model/errors.js'
import { isPublic, type TaskEvent } from '../../model/event.js'
import type { HistoryWindow } from '../../model/history-window.js'
import type { Message } from '../../model/message.js'
import type { CallContext, CallTraits, ReadAhead, StreamItem } from '../../model/service.js'
import { sizeOf } from '../../model/size-of.js'
import { isInterrupted, isTerminal, type Task, type TaskState } from '../../model/task.js'
import { withMembers } from '../../model/with-members.js'
import { taskNotFound } from '../access.js'
import type { Tally } from '../limits.js'
import { type TaskReader, trimHistory } from './task-reader.js'
import type { Batch, Follower, Topic, Topics } from './topic.js'

type WatchKind = 'unary' | 'stream' | 'subscription'

/**
 * Finds the last event for one reader. A sender's call or stream ends at a state reached in or after its own turn (E-1);
 * a subscription ends with the task.
 */
export class TurnWatch {
  /** The first messages, for the snapshot of a new task. */
  readonly messages: Message[] = []
  readonly #kind: WatchKind
  /** For dialects whose streams end at each new question. A subscription may begin at a question that is open already. */
  readonly #endsAtQuestions: boolean
  #ownTurn: number | undefined
  #currentTurn: number

  /** `ownTurn` is taken from the first accepted message unless it is given. */
  constructor(kind: WatchKind, { endsAtQuestions = false }: CallTraits = {}, ownTurn?: number, currentTurn = 0) {
    this.#kind = kind
    this.#endsAtQuestions = endsAtQuestions
    this.#ownTurn = ownTurn
    this.#currentTurn = currentTurn
  }

  /** The turn of the last event; undefined if the stream began later. */
  get turn(): number | undefined {
    return this.#currentTurn || undefined
  }

  /** The turn that the stream is about; undefined for subscriptions, which are about all turns. */
  get ownTurn(): number | undefined {
    return this.#kind === 'subscription' ? undefined : this.#ownTurn
  }

  /** Returns whether an event is the last one for this reader. Throws the error with which the agent refused the send. */
  see({ body }: TaskEvent): boolean {
    if ('accepted' in body) {
      this.#ownTurn ??= body.accepted.turn
      this.messages.push(body.accepted.message)
    } else if ('started' in body) this.#currentTurn = body.started.turn
    else if ('message' in body) return true
    else if ('refused' in body) throw new A2AError(body.refused.code, body.refused.message, body.refused.details)
    else if ('statusUpdate' in body) {
      const { state } = body.statusUpdate.status
      const isNewQuestion = this.#kind === 'subscription' && this.#endsAtQuestions && isInterrupted(state)
      return isNewQuestion || this.endsAt(state)
    }
    return false
  }

  endsAt(state: TaskState): boolean {
    if (isTerminal(state)) return true
    if (this.#kind === 'subscription' || !isInterrupted(state)) return false
    if (this.#ownTurn === undefined || this.#currentTurn < this.#ownTurn) return false
    // Streams stay open while the caller fetches a credential (R-STRM-7), unless the dialect marks the end of a stream.
    return this.#kind === 'unary' || this.#endsAtQuestions || state === 'TASK_STATE_INPUT_REQUIRED'
  }
}

/** A task is created among the first events of its log. */
const firstEvents = 8
/** Bytes of events that a stream keeps for a slow reader. */
const maxHeldBytes = 256 * 1024

/** The content of a stream. */
export interface StreamOpening {
  readonly taskId: string
  /** The stream contains the events after this sequence. */
  readonly after: number
  /** The stream ends with this event. Default: it follows the task. */
  readonly until?: number | undefined
  readonly watch: TurnWatch
  /** The messages that a task in the stream includes. */
  readonly history: HistoryWindow
  /** The task at `after`, sent first. */
  readonly snapshot?: Task | undefined
  /** The topic to read, if it was opened before the stream. */
  readonly topic?: Topic | undefined
}

export interface StreamDeps {
  readonly reader: TaskReader
  readonly topics: Topics
  /** Open streams per caller. */
  readonly streams: Tally
  readonly maxStreamsPerCaller: number
  /** Logs unexpected errors and converts them for the caller. */
  readonly toCallError: (error: unknown) => A2AError
}

type Result = IteratorResult<StreamItem, undefined>

const noEvents: readonly TaskEvent[] = []

export class TaskStream implements AsyncIterableIterator<StreamItem, undefined>, ReadAhead {
  readonly #deps: StreamDeps
  readonly #caller: string
  readonly #signal: AbortSignal | undefined
  #open: (() => Promise<StreamOpening>) | undefined
  #opening: StreamOpening | undefined
  /** Sent before the events. */
  #first: StreamItem | undefined
  #batch = noEvents
  #place = 0
  #topic: Topic | undefined
  #follower: Follower | undefined
  #onAbort: (() => void) | undefined
  #latest: Promise<Result> | undefined
  #isReading = false
  #isCounted = false
  #isOver = false

  constructor(deps: StreamDeps, { caller, signal }: CallContext, open: () => Promise<StreamOpening>) {
    this.#deps = deps
    this.#caller = caller.id
    this.#signal = signal
    this.#open = open
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    if (this.#isReading && this.#latest) {
      // Concurrent calls are answered in order, as by a generator.
      const inTurn = () => this.next()
      return this.#latest.then(inTurn, inTurn)
    }
    this.#latest = this.#next()
    return this.#latest
  }

  async return(): Promise<Result> {
    this.#end()
    return { done: true, value: undefined }
  }

  /** Returns the next item if it has been read already. */
  takeReady(): StreamItem | undefined {
    try {
      return this.#take()
    } catch (error) {
      throw this.#failed(error)
    }
  }

  /** Drops events beyond `maxBytes` while the reader is slow. They are read from the log again later (E-5). */
  release(maxBytes: number = maxHeldBytes): void {
    const batch = this.#batch
    let bytes = 0
    for (let place = this.#place; place < batch.length; place++) {
      bytes += sizeOf(batch[place]?.body, maxBytes)
      if (bytes <= maxBytes) continue
      const next = batch[place]
      if (!next || !this.#follower) return
      this.#follower.cursor = next.seq - 1
      this.#batch = batch.slice(this.#place, place)
      this.#place = 0
      return
    }
  }

  #take(): StreamItem | undefined {
    const first = this.#first
    if (first) {
      this.#first = undefined
      return first
    }
    while (this.#place < this.#batch.length) {
      const event = this.#batch[this.#place++] as TaskEvent // place is within the batch
      const item = this.#see(event)
      if (item) return item
    }
    this.#batch = noEvents
    this.#place = 0
    return undefined
  }

  async #next(): Promise<Result> {
    this.#isReading = true
    try {
      if (this.#open) await this.#begin(this.#open)
      for (;;) {
        const value = this.#take()
        if (value) return { done: false, value }
        if (this.#isOver || !this.#topic || !this.#follower) return { done: true, value: undefined }
        const next = this.#topic.next(this.#follower)
        const isRemoved = this.#takeBatch(next instanceof Promise ? await next : next)
        if (isRemoved) await this.#startOver()
      }
    } catch (error) {
      throw this.#failed(error)
    } finally {
      this.#isReading = false
    }
  }

  /** Stores a batch. Returns true when retention has removed the events. */
  #takeBatch(batch: Batch | undefined): boolean {
    if (batch === 'removed') return true
    if (batch === 'end') this.#end()
    else if (batch && !this.#isOver) this.#batch = batch
    return false
  }

  #failed(error: unknown): A2AError {
    this.#end()
    return this.#deps.toCallError(error)
  }

  #see(event: TaskEvent): StreamItem | undefined {
    const { watch, after, until, history } = this.#opening as StreamOpening // set before events are read
    const isLast = watch.see(event) || (until !== undefined && event.seq >= until)
    if (event.seq <= after) return undefined
    if (isLast) this.#end()
    return isPublic(event.body) ? itemOf(event, watch, history) : undefined
  }

  async #begin(open: () => Promise<StreamOpening>): Promise<void> {
    // Released, because it holds the whole call.
    this.#open = undefined
    this.#count()
    const opening = await open()
    if (this.#isOver) return
    const { after, until, snapshot } = opening
    this.#opening = snapshot ? { ...opening, snapshot: undefined } : opening
    if (snapshot && this.#showTask(snapshot, after)) return
    if (until !== undefined && until <= after) return this.#end()
    if (this.#signal) {
      this.#onAbort = () => this.#end()
      this.#signal.addEventListener('abort', this.#onAbort)
      if (this.#signal.aborted) this.#end()
    }
    // A new task includes its messages, which are earlier in the log.
    this.#follow(after < firstEvents ? 0 : after)
  }

  #count(): void {
    const { streams, maxStreamsPerCaller } = this.#deps
    if (streams.of(this.#caller) >= maxStreamsPerCaller)
      throw overLimit(
        { limit: 'streamsPerCaller', max: maxStreamsPerCaller },
        `Too many of your streams are open (limit streamsPerCaller: ${maxStreamsPerCaller})`,
      )
    streams.add(this.#caller)
    this.#isCounted = true
  }

  /** Retention has removed unread events: the stream continues with a snapshot of the task (E-4). */
  async #startOver(): Promise<void> {
    const { taskId } = this.#opening as StreamOpening // set before events are read
    const snapshot = await this.#deps.reader.snapshot(taskId)
    if (!snapshot) throw taskNotFound(taskId)
    if (this.#showTask(snapshot.task, snapshot.seq)) return
    this.#leave()
    this.#follow(snapshot.seq)
  }

  /** Sends the task. Returns true when no events follow. */
  #showTask(task: Task, seq: number): boolean {
    const { watch, until, history } = this.#opening as StreamOpening // set by `#begin`
    if (this.#isOver) return true
    const isLast = until !== undefined || watch.endsAt(task.status.state)
    if (isLast) this.#end()
    this.#first = { event: { task: trimHistory(task, history) }, seq, turn: watch.ownTurn }
    return isLast
  }

  #follow(after: number): void {
    if (this.#isOver) return
    const { taskId, topic } = this.#opening as StreamOpening // set by `#begin`
    this.#topic = topic ?? this.#deps.topics.open(taskId)
    this.#follower = this.#topic.follow(after)
  }

  #leave(): void {
    if (this.#follower) this.#topic?.leave(this.#follower)
    this.#follower = undefined
    this.#topic = undefined
  }

  #end(): void {
    this.#isOver = true
    if (this.#isCounted) this.#deps.streams.remove(this.#caller)
    this.#isCounted = false
    this.#open = undefined
    // The reader may hold the stream after its end; it must not hold the events of the topic.
    this.#opening = undefined
    this.#first = undefined
    this.#batch = noEvents
    this.#place = 0
    this.#leave()
    if (this.#onAbort) this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#onAbort = undefined
  }
}

/** The log contains a new task without its messages; they were accepted just before it. */
function itemOf(taskEvent: TaskEvent, watch: TurnWatch, history: HistoryWindow): StreamItem {
  const { seq, body } = taskEvent
  if ('task' in body && watch.messages.length > 0) {
    const task = withMembers(body.task, { history: watch.messages.slice() })
    return { event: { task: trimHistory(task, history) }, seq, turn: watch.turn }
  }
  const event = body as StreamItem['event'] // private bodies were filtered out
  // A Message ends its stream, so it has no sequence to resume after.
  return 'message' in event ? { event } : { event, seq, turn: watch.turn, source: taskEvent }
}
