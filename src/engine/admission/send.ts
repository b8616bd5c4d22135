import { A2AError, invalidField } from '../../model/errors.js'
import type { TaskEvent } from '../../model/event.js'
import type { HistoryWindow } from '../../model/history-window.js'
import type { CallContext, SendMessageRequest, SendMessageResponse, StreamItem } from '../../model/service.js'
import { isInterrupted, isTerminal, type Task } from '../../model/task.js'
import { taskNotFound } from '../access.js'
import { nothingToFollow } from '../following/following.js'
import { foldOf, shownHistory, snapshotOf, trimHistory, withProgress } from '../following/task-reader.js'
import { type StreamOpening, TaskStream, TurnWatch } from '../following/task-stream.js'
import type { Internals } from '../internals.js'
import { assertStreaming } from '../message-checks.js'
import { type Admission, admit } from './admit.js'

const eventsPerRead = 256

export async function sendMessage(
  internals: Internals,
  request: SendMessageRequest,
  context: CallContext,
): Promise<SendMessageResponse> {
  const { returnImmediately } = request.configuration ?? {}
  const shown = shownHistory(internals, request.configuration?.historyLength, 'configuration.historyLength')
  const respond = (answer: SendMessageResponse): SendMessageResponse | Promise<SendMessageResponse> => {
    if ('message' in answer) return answer
    const task = withProgress(internals, answer.task, context)
    if (!(task instanceof Promise)) return { task: trimHistory(task, shown) }
    return task.then((told) => ({ task: trimHistory(told, shown) }))
  }
  const admitted = admit(internals, request, context, true)
  const admission = admitted instanceof Promise ? await admitted : admitted
  if (returnImmediately) {
    const answer = await currentAnswer(internals, admission)
    if (answer) return respond(answer)
  }
  if (admission.isNew && admission.run) {
    const answer = await admission.run.firstEnd()
    if (answer) return respond(answer)
  }
  const last = await lastEvent(internals, admission, context)
  if (last && 'message' in last.body) return { message: last.body.message }
  return respond({ task: await taskAfter(internals, admission, last, shown) })
}

export function sendStreamingMessage(
  internals: Internals,
  request: SendMessageRequest,
  context: CallContext,
): AsyncIterable<StreamItem> {
  return new TaskStream(internals, context, () => openSend(internals, request, context))
}

async function openSend(
  internals: Internals,
  request: SendMessageRequest,
  context: CallContext,
): Promise<StreamOpening> {
  const shown = shownHistory(internals, request.configuration?.historyLength, 'configuration.historyLength')
  assertStreaming(internals.agent)
  const admitted = admit(internals, request, context, false)
  const admission = admitted instanceof Promise ? await admitted : admitted
  const { taskId, after, topic } = admission
  // A place in the log means something only to a send that is repeated with its key (E-4).
  if (context.resumeAfter !== undefined && !admission.isNew && context.idempotencyKey !== undefined) {
    await assertCursor(internals, taskId, context.resumeAfter)
    const own = await acceptedTurn(internals, admission)
    const watch = new TurnWatch('stream', context, own, context.resumeAfter > after ? own : 0)
    return { taskId, after: context.resumeAfter, watch, shownHistory: shown }
  }
  if (after === 0) return { taskId, after: 0, watch: new TurnWatch('stream', context), shownHistory: shown, topic }
  // A task that existed before: its snapshot first (R-STRM-3), taken together with the place in the log.
  const own = await acceptedTurn(internals, admission)
  const snapshot = await snapshotOf(internals, taskId)
  if (!snapshot) throw taskNotFound(taskId)
  const watch = new TurnWatch('stream', context, own, await turnAt(internals, admission, snapshot.seq))
  const task = await withProgress(internals, snapshot.task, context)
  return { taskId, after: snapshot.seq, watch, shownHistory: shown, snapshot: task }
}

/** Waits for the event that ends the sender's turn. Absent when retention removed it meanwhile. */
async function lastEvent(
  internals: Internals,
  { taskId, after }: Admission,
  context: CallContext,
): Promise<TaskEvent | undefined> {
  const watch = new TurnWatch('unary')
  for await (const batch of internals.topic(taskId).batches(after, context.signal)) {
    if (batch === 'removed') return undefined
    for (const event of batch) if (watch.see(event)) return event
  }
  throw new A2AError('UNAVAILABLE', 'The task goes on, but this call ends here; ask for the task', {
    metadata: { taskId },
    retryAfterSeconds: 1,
  })
}

/** The task at the end of a turn; when it has moved on since, as it stood then. */
async function taskAfter(
  internals: Internals,
  { taskId, run }: Admission,
  last: TaskEvent | undefined,
  history: HistoryWindow,
): Promise<Task> {
  const here = run?.task
  if (here && isSettled(here)) return here
  const key = internals.key(taskId)
  const viewed = await internals.store.view(key, { history, includeArtifacts: true })
  if (viewed && (isSettled(viewed.task) || !last)) return viewed.task
  const loaded = await internals.store.load(key)
  const events = loaded?.events.filter(({ seq }) => last === undefined || seq <= last.seq)
  const then = loaded && foldOf({ ...loaded, events: events ?? [] }).snapshot()
  if (!then) throw taskNotFound(taskId)
  return then
}

function isSettled({ status }: Task): boolean {
  return isTerminal(status.state) || isInterrupted(status.state)
}

/** What there is to show right now; absent while an earlier send with the same key has shown nothing yet. */
async function currentAnswer(
  internals: Internals,
  { taskId, run }: Admission,
): Promise<SendMessageResponse | undefined> {
  if (run?.task) return { task: run.task }
  const snapshot = await snapshotOf(internals, taskId)
  return snapshot && { task: snapshot.task }
}

/** A cursor must lie in the log; at the end of a finished one there is nothing more to follow. */
async function assertCursor(internals: Internals, taskId: string, cursor: number): Promise<void> {
  const record = await internals.store.find(internals.key(taskId))
  if (!record) throw taskNotFound(taskId)
  const { seq, visibility, state } = record
  if (cursor > seq) throw invalidField('Last-Event-ID', `is behind the last event`)
  const isOver = visibility === 'message' || (state !== undefined && isTerminal(state))
  if (isOver && cursor === seq) throw nothingToFollow(taskId, state ?? 'TASK_STATE_COMPLETED')
}

async function acceptedTurn(internals: Internals, { taskId, after }: Admission): Promise<number> {
  const [event] = (await internals.store.read(internals.key(taskId), after, 1)) ?? []
  return event && 'accepted' in event.body ? event.body.accepted.turn : 1
}

/** The newest turn that has started at a place in the log which is not before the sender's message. */
async function turnAt(internals: Internals, { taskId, after, run }: Admission, seq: number): Promise<number> {
  const fold = run?.writer.fold
  if (fold?.seq === seq) return fold.current?.turn ?? 0
  let turn = 0
  for (let place = after; place < seq; ) {
    const events = (await internals.store.read(internals.key(taskId), place, eventsPerRead)) ?? []
    for (const event of events)
      if (event.seq <= seq && 'started' in event.body) turn = Math.max(turn, event.body.started.turn)
    const last = events.at(-1)?.seq
    if (last === undefined) break
    place = last
  }
  return turn
}
