/**
 * The public events behind a place in a task's log, until the watch says that it was the last one.
 *
 * Written by hand, not as generators: a stream used to pass four of them, several promises an event.
 * Here a batch of the log is read at once, and whoever knows `takeReady` gets it without any. Nothing
 * happens before the first `next`.
 */
import { A2AError, overLimit } from '../../model/errors.js'
import { isPublic, type TaskEvent } from '../../model/event.js'
import type { HistoryWindow } from '../../model/history-window.js'
import type { Message } from '../../model/message.js'
import type { CallContext, CallTraits, ReadAhead, StreamItem } from '../../model/service.js'
import { sizeOf } from '../../model/size-of.js'
import type { Task } from '../../model/task.js'
import { isInterrupted, isTerminal, type TaskState } from '../../model/task.js'
import { taskNotFound } from '../access.js'
import type { Internals } from '../internals.js'
import { snapshotOf, trimHistory } from './task-reader.js'
import type { Batch, Follower, Topic } from './topic.js'

/** A task is created among the first events of its log. */
const firstEvents = 8
/** Bytes of events that a stream keeps for a reader that waits. */
const maxHeldBytes = 256 * 1024

/** What a stream shows. */
export interface StreamOpening {
  readonly taskId: string
  readonly after: number
  readonly watch: TurnWatch
  /** How many messages a task is shown with. */
  readonly shownHistory: HistoryWindow
  /** The task as it stood at `after`, to be shown first. */
  readonly snapshot?: Task | undefined
  /** Where to read, when it is not the task's topic as it is by then. */
  readonly topic?: Topic | undefined
}

type Result = IteratorResult<StreamItem, undefined>

const noEvents: readonly TaskEvent[] = []

export class TaskStream implements AsyncIterableIterator<StreamItem, undefined>, ReadAhead {
  readonly #internals: Internals
  readonly #caller: string
  readonly #signal: AbortSignal | undefined
  #open: (() => Promise<StreamOpening>) | undefined
  #opening: StreamOpening | undefined
  /** Shown before the events. */
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

  constructor(internals: Internals, { caller, signal }: CallContext, open: () => Promise<StreamOpening>) {
    this.#internals = internals
    this.#caller = caller.id
    this.#signal = signal
    this.#open = open
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    if (this.#isReading && this.#latest) {
      // Who asks while somebody waits comes after him, as with a generator.
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

  /** The next item, if it has been read already. */
  takeReady(): StreamItem | undefined {
    try {
      return this.#take()
    } catch (error) {
      throw this.#failed(error)
    }
  }

  /** Keeps what a waiting reader holds below `maxBytes`; the rest is read from the log again (E-5). */
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
        if (this.#isRemoved(next instanceof Promise ? await next : next)) await this.#startOver()
      }
    } catch (error) {
      throw this.#failed(error)
    } finally {
      this.#isReading = false
    }
  }

  /** Takes a batch in; true when retention was faster. */
  #isRemoved(batch: Batch | undefined): boolean {
    if (batch === 'removed') return true
    if (batch === 'end') this.#end()
    else if (batch && !this.#isOver) this.#batch = batch
    return false
  }

  #failed(error: unknown): A2AError {
    this.#end()
    return this.#internals.failure(error)
  }

  #see(event: TaskEvent): StreamItem | undefined {
    const { watch, after, shownHistory } = this.#opening as StreamOpening // events are read behind it
    const isLast = watch.see(event)
    if (event.seq <= after) return undefined
    if (isLast) this.#end()
    return isPublic(event.body) ? asItem(event, watch, shownHistory) : undefined
  }

  async #begin(open: () => Promise<StreamOpening>): Promise<void> {
    // Not kept: it holds the whole call.
    this.#open = undefined
    this.#count()
    const opening = await open()
    if (this.#isOver) return
    const { after, snapshot } = opening
    this.#opening = snapshot ? { ...opening, snapshot: undefined } : opening
    if (snapshot && this.#isLastShown(snapshot, after)) return
    if (this.#signal) {
      this.#onAbort = () => this.#end()
      this.#signal.addEventListener('abort', this.#onAbort)
      if (this.#signal.aborted) this.#end()
    }
    // A new task is shown with its messages, which lie before it in the log.
    this.#follow(after < firstEvents ? 0 : after)
  }

  #count(): void {
    const { streaming, settings } = this.#internals
    if (streaming.of(this.#caller) >= settings.limits.streamsPerCaller)
      throw overLimit('streamsPerCaller', 'You read too many streams at once, leave one and try again')
    streaming.add(this.#caller)
    this.#isCounted = true
  }

  /** Retention removed what the reader has not seen: start over from the task as it is (E-4). */
  async #startOver(): Promise<void> {
    const { taskId } = this.#opening as StreamOpening // events were read behind it
    const snapshot = await snapshotOf(this.#internals, taskId)
    if (!snapshot) throw taskNotFound(taskId)
    if (this.#isLastShown(snapshot.task, snapshot.seq)) return
    this.#leave()
    this.#follow(snapshot.seq)
  }

  /** Shows the task; true when there is nothing to come behind it. */
  #isLastShown(task: Task, seq: number): boolean {
    const { watch, shownHistory } = this.#opening as StreamOpening // it is what is being shown
    if (this.#isOver) return true
    const isLast = watch.endsAt(task.status.state)
    if (isLast) this.#end()
    this.#first = { event: { task: trimHistory(task, shownHistory) }, seq }
    return isLast
  }

  #follow(after: number): void {
    if (this.#isOver) return
    const { taskId, topic } = this.#opening as StreamOpening // it says what to follow
    this.#topic = topic ?? this.#internals.topic(taskId)
    this.#follower = this.#topic.follow(after)
  }

  #leave(): void {
    if (this.#follower) this.#topic?.leave(this.#follower)
    this.#follower = undefined
    this.#topic = undefined
  }

  #end(): void {
    this.#isOver = true
    if (this.#isCounted) this.#internals.streaming.remove(this.#caller)
    this.#isCounted = false
    this.#open = undefined
    // Whoever holds a stream that is over must not hold the events of its topic.
    this.#opening = undefined
    this.#first = undefined
    this.#batch = noEvents
    this.#place = 0
    this.#leave()
    if (this.#onAbort) this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#onAbort = undefined
  }
}

/** The log keeps a new task without its messages; they were accepted just before it. */
function asItem(taskEvent: TaskEvent, watch: TurnWatch, shown: HistoryWindow): StreamItem {
  const { seq, body } = taskEvent
  if ('task' in body && watch.messages.length > 0) {
    return { event: { task: trimHistory({ ...body.task, history: watch.messages.slice() }, shown) }, seq }
  }
  const event = body as StreamItem['event'] // only public bodies come here
  // A Message ends its stream; there is nothing to resume behind it.
  return 'message' in event ? { event } : { event, seq, source: taskEvent }
}

export type WatchKind = 'unary' | 'stream' | 'subscription'

export class TurnWatch {
  /** The first messages, as the snapshot of a new task shows them. */
  readonly messages: Message[] = []
  readonly #kind: WatchKind
  /** Set for dialects whose streams end at every new interruption. A subscription may wait on one that is open already. */
  readonly #endsAtQuestions: boolean
  #mine: number | undefined
  #current: number

  /** `turn` is learnt from the first accepted message unless it is given. */
  constructor(kind: WatchKind, { endsAtQuestions = false }: CallTraits = {}, turn?: number, current = 0) {
    this.#kind = kind
    this.#endsAtQuestions = endsAtQuestions
    this.#mine = turn
    this.#current = current
  }

  /** Looks at one event; true when it is the last one for this watcher. Throws what the agent refused with. */
  see({ body }: TaskEvent): boolean {
    if ('accepted' in body) {
      this.#mine ??= body.accepted.turn
      this.messages.push(body.accepted.message)
    } else if ('started' in body) this.#current = body.started.turn
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
    if (this.#mine === undefined || this.#current < this.#mine) return false
    // Streams stay open while the caller fetches a credential (R-STRM-7), unless the dialect marks the end of a stream.
    return this.#kind === 'unary' || this.#endsAtQuestions || state === 'TASK_STATE_INPUT_REQUIRED'
  }
}
