import { A2AError, invalidField } from '../model/errors.js'
import { isPublic, type TaskEvent } from '../model/event.js'
import type { CallContext, StreamItem, SubscribeToTaskRequest } from '../model/service.js'
import { isTerminal, type TaskState } from '../model/task.js'
import { assertStreaming } from './acceptable.js'
import { trimHistory } from './history.js'
import type { Internals } from './internals.js'
import { taskNotFound } from './ownership.js'
import { snapshotOf } from './snapshot.js'
import type { Topic } from './topic.js'
import { TurnWatch } from './watch-turn.js'

/** A task is created among the first events of its log. */
const firstEvents = 8

export async function* subscribeToTask(
  internals: Internals,
  { id }: SubscribeToTaskRequest,
  context: CallContext,
): AsyncGenerator<StreamItem, void, void> {
  assertStreaming(internals.agent)
  const snapshot = await snapshotOf(internals, id, context)
  if (!snapshot) throw taskNotFound(id)
  const { state } = snapshot.task.status
  const isEnded = isTerminal(state)
  const after = context.resumeAfter
  if (after !== undefined && after > snapshot.seq)
    throw invalidField('Last-Event-ID', `task ${id} has no event ${after}`)
  if (isEnded && after === undefined && context.showsEndedTasks) {
    yield { event: { task: snapshot.task }, seq: snapshot.seq }
    return
  }
  if (isEnded && (after === undefined || after === snapshot.seq)) throw nothingToFollow(id, state)
  if (after === undefined) yield { event: { task: snapshot.task }, seq: snapshot.seq }
  else context.onOpen?.()
  const watch = new TurnWatch('subscription')
  watch.endsAtQuestions = context.endsAtQuestions === true
  yield* followTask(internals, id, { after: after ?? snapshot.seq, watch, context })
}

export function nothingToFollow(taskId: string, state: TaskState): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', `Task ${taskId} has ended; there is nothing more to follow`, {
    metadata: { taskId, state },
  })
}

interface Following {
  readonly after: number
  readonly watch: TurnWatch
  readonly context: CallContext
  readonly historyLength?: number | undefined
  readonly topic?: Topic
}

/** The public events behind a place in the log, until the watch says that it was the last one. */
export async function* followTask(
  internals: Internals,
  taskId: string,
  following: Following,
): AsyncGenerator<StreamItem, void, void> {
  const { watch, context, historyLength } = following
  // A new task is shown with its messages, which lie before it in the log.
  let after = following.after < firstEvents ? 0 : following.after
  for (;;) {
    const topic = following.topic ?? internals.topic(taskId)
    let isGone = false
    for await (const batch of topic.follow(after, context.signal)) {
      if (!batch) {
        isGone = true
        break
      }
      for (const event of batch) {
        const isLast = watch.see(event)
        const isNews = event.seq > following.after
        if (isNews && isPublic(event.body)) yield asItem(event, watch, historyLength)
        if (isLast && isNews) return
      }
    }
    if (!isGone) return
    // Retention removed what the reader has not seen: start over from the task as it is (E-4).
    const snapshot = await snapshotOf(internals, taskId)
    if (!snapshot) throw taskNotFound(taskId)
    yield { event: { task: trimHistory(snapshot.task, historyLength) }, seq: snapshot.seq }
    if (watch.endsAt(snapshot.task.status.state)) return
    after = snapshot.seq
  }
}

/** The log keeps a new task without its messages; they were accepted just before it. */
function asItem(taskEvent: TaskEvent, watch: TurnWatch, historyLength: number | undefined): StreamItem {
  const { seq, body } = taskEvent
  if ('task' in body && watch.messages.length > 0) {
    return { event: { task: trimHistory({ ...body.task, history: watch.messages.slice() }, historyLength) }, seq }
  }
  const event = body as StreamItem['event'] // only public bodies come here
  // A Message ends its stream; there is nothing to resume behind it.
  return 'message' in event ? { event } : { event, seq, source: taskEvent }
}
