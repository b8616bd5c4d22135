import { A2AError, invalidField } from '../../model/errors.js'
import type { CallContext, StreamItem, SubscribeToTaskRequest } from '../../model/service.js'
import { isTerminal, type TaskState } from '../../model/task.js'
import { taskNotFound } from '../access.js'
import type { Internals } from '../internals.js'
import { assertStreaming } from '../message-checks.js'
import { shownHistory, snapshotOf, withProgress } from './task-reader.js'
import { type StreamOpening, TaskStream, TurnWatch } from './task-stream.js'

export function subscribeToTask(
  internals: Internals,
  { id }: SubscribeToTaskRequest,
  context: CallContext,
): AsyncIterable<StreamItem> {
  return new TaskStream(internals, context, () => openSubscription(internals, id, context))
}

async function openSubscription(internals: Internals, id: string, context: CallContext): Promise<StreamOpening> {
  assertStreaming(internals.agent)
  const snapshot = await snapshotOf(internals, id, { ...context, operation: 'subscribeToTask' })
  if (!snapshot) throw taskNotFound(id)
  const { state } = snapshot.task.status
  const isEnded = isTerminal(state)
  const after = context.resumeAfter
  if (after !== undefined && after > snapshot.seq)
    throw invalidField('Last-Event-ID', `task ${id} has no event ${after}`)
  const isShown = after === undefined && context.showsEndedTasks === true
  if (isEnded && !isShown && (after === undefined || after === snapshot.seq)) throw nothingToFollow(id, state)
  const watch = new TurnWatch('subscription', context)
  const shown = shownHistory(internals, undefined)
  // A task that has ended is shown, where a dialect wants that, and ends its stream.
  if (after === undefined) {
    const task = await withProgress(internals, snapshot.task, context)
    return { taskId: id, after: snapshot.seq, watch, shownHistory: shown, snapshot: task }
  }
  context.onOpen?.()
  return { taskId: id, after, watch, shownHistory: shown }
}

export function nothingToFollow(taskId: string, state: TaskState): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', `Task ${taskId} has ended; there is nothing more to follow`, {
    metadata: { taskId, state },
  })
}
