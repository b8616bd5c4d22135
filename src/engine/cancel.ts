/** Cancel (E-7): fires the handler's signal wherever it runs, and answers when the task has ended. */
import { A2AError } from '../model/errors.js'
import type { CallContext, CancelTaskRequest } from '../model/service.js'
import { isInterrupted, isTerminal, type Task } from '../model/task.js'
import type { LoadedTask } from '../stores/store.js'
import type { Internals } from './internals.js'
import { mayAccess, type SharedTask, taskNotFound } from './ownership.js'
import { Run } from './run.js'
import { foldOf, identityOf, snapshotOf } from './snapshot.js'
import { TurnWatch } from './watch-turn.js'

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
    const loaded = await internals.store.load(internals.key(request.id))
    if (loaded?.record.visibility !== 'task' || !(await mayCancel(identityOf(loaded.record))))
      throw taskNotFound(request.id)
    const task = foldOf(loaded).snapshot()
    if (!task) throw taskNotFound(request.id)
    if (isTerminal(task.status.state)) return answerFor(internals, task, run !== undefined, context)
    if (internals.runs.has(request.id)) continue
    const isIdle = loaded.record.leaseOwner === undefined && isInterrupted(task.status.state)
    const isDone = isIdle
      ? await cancelIdle(internals, loaded)
      : await cancelElsewhere(internals, loaded, request, context)
    if (isDone) {
      const ended = await snapshotOf(internals, request.id)
      if (!ended) throw taskNotFound(request.id)
      return answerFor(internals, ended.task, true, context)
    }
  }
}

/** `isOurs`: this call asked for the cancel, so a cancelled task is its success. */
function answerFor({ settings }: Internals, task: Task, isOurs: boolean, { cancelsOnce }: CallContext): Task {
  const isCanceled = task.status.state === 'TASK_STATE_CANCELED'
  if (isCanceled && (isOurs || (settings.cancelTwice === 'task' && !cancelsOnce))) return task
  throw new A2AError('TASK_NOT_CANCELABLE', `Task ${task.id} has already ended`, {
    metadata: { taskId: task.id, state: task.status.state },
  })
}

async function cancelIdle(internals: Internals, loaded: LoadedTask): Promise<boolean> {
  const { key, contextId, tenant, owner, dialect } = loaded.record
  const run = new Run(internals, { key, contextId, tenant, owner, dialect, fold: foldOf(loaded), isNew: false })
  return await run.end('TASK_STATE_CANCELED')
}

/** Puts the request into the log; whoever holds or takes the lease acts on it. */
async function cancelElsewhere(
  internals: Internals,
  loaded: LoadedTask,
  request: CancelTaskRequest,
  context: CallContext,
): Promise<boolean> {
  const { key, seq } = loaded.record
  const body = { cancelAsked: request.metadata ? { metadata: request.metadata } : {} }
  const outcome = await internals.store.append({
    key,
    expect: seq,
    events: [{ seq: seq + 1, time: internals.clock.now(), body }],
    isRunnable: true,
  })
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
