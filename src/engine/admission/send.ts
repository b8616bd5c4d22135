/** The two operations that send a message: admission, then the answer from the run or the log. */
import { A2AError } from '../../model/errors.js'
import type { TaskEvent } from '../../model/event.js'
import type { HistoryWindow } from '../../model/history-window.js'
import type { CallContext, SendMessageRequest, SendMessageResponse, StreamItem } from '../../model/service.js'
import { isInterrupted, isTerminal, type Task } from '../../model/task.js'
import type { CompleteStore, TaskKey } from '../../stores/store.js'
import { taskNotFound } from '../access.js'
import type { Agent } from '../agent.js'
import { type Following, noSuchEvent, nothingToFollow } from '../following/following.js'
import { foldOf, trimHistory } from '../following/task-reader.js'
import { type StreamOpening, TurnWatch } from '../following/task-stream.js'
import { assertStreaming } from '../message-checks.js'
import type { Admission, Admitted } from './admit.js'

export interface SendDeps {
  readonly agent: Agent
  readonly store: Pick<CompleteStore, 'find' | 'load' | 'read' | 'view'>
  readonly admission: Admission
  readonly following: Following
}

const eventsPerRead = 256
const historyField = 'configuration.historyLength'

export class Sends {
  readonly #deps: SendDeps

  constructor(deps: SendDeps) {
    this.#deps = deps
  }

  async sendMessage(request: SendMessageRequest, context: CallContext): Promise<SendMessageResponse> {
    const { reader } = this.#deps.following
    const history = reader.historyWindow(request.configuration?.historyLength, historyField)
    const admitting = this.#deps.admission.admit(request, context, true)
    const admitted = admitting instanceof Promise ? await admitting : admitting
    if (request.configuration?.returnImmediately) {
      const task = admitted.run?.task ?? (await reader.snapshot(admitted.taskId))?.task
      // Without a task, an earlier send with the same key has no visible result yet.
      if (task) return { task: trimHistory(await reader.withProgress(task, context), history) }
    }
    if (admitted.isNew && admitted.run) {
      const answer = await admitted.run.firstAnswer()
      if (answer && 'message' in answer) return answer
      // A new task without progress need not be read again: that doubled the cost of a small send.
      const isComplete = !context.showsProgress || !admitted.run.writer.fold.lacksProgress
      if (answer && isComplete) return { task: trimHistory(answer.task, history) }
      if (answer) return { task: trimHistory(await reader.withProgress(answer.task, context), history) }
    }
    const last = await this.#lastEvent(admitted, context)
    if (last && 'message' in last.body) return { message: last.body.message }
    const task = await this.#taskAfter(admitted, last, history)
    return { task: trimHistory(await reader.withProgress(task, context), history) }
  }

  sendStreamingMessage(request: SendMessageRequest, context: CallContext): AsyncIterable<StreamItem> {
    return this.#deps.following.stream(context, () => this.#openStream(request, context))
  }

  async #openStream(request: SendMessageRequest, context: CallContext): Promise<StreamOpening> {
    const { agent, admission, following } = this.#deps
    const history = following.reader.historyWindow(request.configuration?.historyLength, historyField)
    assertStreaming(agent)
    const admitting = admission.admit(request, context, false)
    const admitted = admitting instanceof Promise ? await admitting : admitting
    const { taskId, after, topic } = admitted
    // `Last-Event-ID` has a meaning only for a send that is repeated with its key (E-4).
    if (context.resumeAfter !== undefined && !admitted.isNew && context.idempotencyKey !== undefined) {
      await this.#assertCursor(taskId, context.resumeAfter)
      const ownTurn = await this.#acceptedTurn(admitted)
      const watch = new TurnWatch('stream', context, ownTurn, context.resumeAfter > after ? ownTurn : 0)
      return { taskId, after: context.resumeAfter, watch, history }
    }
    if (after === 0) return { taskId, after: 0, watch: new TurnWatch('stream', context), history, topic }
    // The stream of an existing task begins with a snapshot (R-STRM-3), read together with its position in the log.
    if (admitted.opening) {
      const { task, seq, turn } = admitted.opening
      const snapshot = await following.reader.withProgress(task, context)
      return { taskId, after: seq, watch: new TurnWatch('stream', context, turn, turn), history, snapshot }
    }
    const ownTurn = await this.#acceptedTurn(admitted)
    const snapshot = await following.reader.snapshot(taskId)
    if (!snapshot) throw taskNotFound(taskId)
    const watch = new TurnWatch('stream', context, ownTurn, await this.#turnAt(admitted, snapshot.seq))
    const task = await following.reader.withProgress(snapshot.task, context)
    return { taskId, after: snapshot.seq, watch, history, snapshot: task }
  }

  /** Waits for the event that ends the sender's turn. Undefined when retention has removed it. */
  async #lastEvent({ taskId, after }: Admitted, context: CallContext): Promise<TaskEvent | undefined> {
    const watch = new TurnWatch('unary')
    for await (const batch of this.#deps.following.topics.open(taskId).batches(after, context.signal)) {
      if (batch === 'removed') return undefined
      for (const event of batch) if (watch.see(event)) return event
    }
    throw new A2AError('UNAVAILABLE', 'The task continues, but this call ends here; get the task for its result', {
      metadata: { taskId },
      retryAfterSeconds: 1,
    })
  }

  /** The task at the end of a turn, also when it has changed since. */
  async #taskAfter({ taskId, run }: Admitted, last: TaskEvent | undefined, history: HistoryWindow): Promise<Task> {
    const { store } = this.#deps
    const here = run?.task
    if (here && isSettled(here)) return here
    const key = this.#key(taskId)
    const viewed = await store.view(key, { history, includeArtifacts: true })
    if (viewed && (isSettled(viewed.task) || !last)) return viewed.task
    const loaded = await store.load(key)
    const events = loaded?.events.filter(({ seq }) => last === undefined || seq <= last.seq)
    const task = loaded && foldOf({ ...loaded, events: events ?? [] }).snapshot()
    if (!task) throw taskNotFound(taskId)
    return task
  }

  /** Throws for a cursor that is not in the log, or at the end of a log that is complete. */
  async #assertCursor(taskId: string, cursor: number): Promise<void> {
    const record = await this.#deps.store.find(this.#key(taskId))
    if (!record) throw taskNotFound(taskId)
    const { seq, visibility, state } = record
    if (cursor > seq) throw noSuchEvent(taskId, cursor)
    const isOver = visibility === 'message' || (state !== undefined && isTerminal(state))
    if (isOver && cursor === seq) throw nothingToFollow(taskId, state ?? 'TASK_STATE_COMPLETED')
  }

  async #acceptedTurn({ taskId, after }: Admitted): Promise<number> {
    const [event] = (await this.#deps.store.read(this.#key(taskId), after, 1)) ?? []
    return event && 'accepted' in event.body ? event.body.accepted.turn : 1
  }

  /** The newest turn that had started at a sequence which is not before the sender's message. */
  async #turnAt({ taskId, after, run }: Admitted, seq: number): Promise<number> {
    const fold = run?.writer.fold
    if (fold?.seq === seq) return fold.current?.turn ?? 0
    let turn = 0
    for (let place = after; place < seq; ) {
      const events = (await this.#deps.store.read(this.#key(taskId), place, eventsPerRead)) ?? []
      for (const event of events)
        if (event.seq <= seq && 'started' in event.body) turn = Math.max(turn, event.body.started.turn)
      const last = events.at(-1)?.seq
      if (last === undefined) break
      place = last
    }
    return turn
  }

  #key(id: string): TaskKey {
    return { agent: this.#deps.agent.card.name, id }
  }
}

function isSettled({ status }: Task): boolean {
  return isTerminal(status.state) || isInterrupted(status.state)
}
