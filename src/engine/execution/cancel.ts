/** Cancel (E-7): fires the handler's signal wherever it runs, and answers when the task has ended. */
import { A2AError } from '../../model/errors.js'
import type { CallContext, CancelTaskRequest } from '../../model/service.js'
import { isInterrupted, isTerminal, type Task } from '../../model/task.js'
import type { TaskRecord } from '../../stores/store.js'
import { mayAccess, type SharedTask, taskNotFound } from '../access.js'
import { foldOf, identityOf, snapshotOf, withProgress } from '../following/task-reader.js'
import { TurnWatch } from '../following/task-stream.js'
import type { Internals } from '../internals.js'
import { cancelRequest, isFull, storeFull } from '../limits.js'
import { Run } from './run.js'

export async function cancelTask(
  internals: Internals,
  request: CancelTaskRequest,
  context: CallContext,
): Promise<Task> {
  const mayCancel = (task: SharedTask) => mayAccess(internals, task, context, 'cancelTask')
  for (;;) {
    const run = internals.runs.get(request.id)
    if (run) {
      if (!run.task || !(await mayCancel(run.identity))) throw taskNotFound(request.id)
      await run.cancel(request.metadata)
    }
    const record = await internals.store.find(internals.key(request.id))
    if (record?.visibility !== 'task' || !record.state || !(await mayCancel(identityOf(record))))
      throw taskNotFound(request.id)
    if (isTerminal(record.state)) return await answerFor(internals, record, run !== undefined, context)
    if (internals.runs.has(request.id)) continue
    const isIdle = record.leaseOwner === undefined && isInterrupted(record.state)
    const isDone = isIdle
      ? await cancelIdle(internals, record)
      : await cancelElsewhere(internals, record, request, context)
    if (isDone) return await answerFor(internals, record, true, context)
  }
}

/** `isOurs`: this call asked for the cancel, so a cancelled task is its success. */
async function answerFor(
  internals: Internals,
  { key }: TaskRecord,
  isOurs: boolean,
  context: CallContext,
): Promise<Task> {
  const ended = await snapshotOf(internals, key.id)
  if (!ended) throw taskNotFound(key.id)
  const { task } = ended
  const isCanceled = task.status.state === 'TASK_STATE_CANCELED'
  if (isCanceled && (isOurs || (internals.settings.cancelTwice === 'task' && !context.cancelsOnce)))
    return await withProgress(internals, task, context)
  throw new A2AError('TASK_NOT_CANCELABLE', `Task ${task.id} has already ended`, {
    metadata: { taskId: task.id, state: task.status.state },
  })
}

async function cancelIdle(internals: Internals, record: TaskRecord): Promise<boolean> {
  const loaded = await internals.store.load(record.key)
  if (!loaded || loaded.record.seq !== record.seq || internals.runs.has(record.key.id)) return false
  const { key, contextId, tenant, owner, dialect, bytes } = record
  const fold = foldOf(loaded)
  const run = new Run(internals, { key, contextId, tenant, owner, dialect, fold, bytes, isNew: false })
  return await run.end('TASK_STATE_CANCELED')
}

/** Puts the request into the log; whoever holds or takes the lease acts on it. */
async function cancelElsewhere(
  internals: Internals,
  { key, seq, bytes: taskBytes }: TaskRecord,
  request: CancelTaskRequest,
  context: CallContext,
): Promise<boolean> {
  const { body, bytes } = cancelRequest(request.metadata, taskBytes, internals.settings.limits)
  const outcome = await internals.store.append({
    key,
    expect: seq,
    events: [{ seq: seq + 1, time: internals.clock.now(), body }],
    bytes,
    isRunnable: true,
  })
  if (isFull(outcome.result)) throw storeFull(outcome.result)
  if (outcome.result !== 'ok') return false
  const { leaseMs, cancelGraceMs } = internals.settings
  const patience = AbortSignal.timeout(leaseMs * 2 + cancelGraceMs)
  const signal = context.signal ? AbortSignal.any([context.signal, patience]) : patience
  const watch = new TurnWatch('subscription')
  for await (const batch of internals.topic(key.id).batches(seq, signal)) {
    if (batch === 'removed' || batch.some((event) => watch.see(event))) return true
  }
  throw new A2AError('UNAVAILABLE', 'The cancel was noted, but the task has not ended yet', { retryAfterSeconds: 1 })
}
