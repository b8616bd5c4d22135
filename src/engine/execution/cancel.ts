/** Cancels a task (E-7): stops its handler in any process, and answers when the task has ended. */
import type { Clock } from '../../model/clock.js'
import { A2AError } from '../../model/errors.js'
import type { CallContext, CancelTaskRequest } from '../../model/service.js'
import { isInterrupted, isTerminal, type Task } from '../../model/task.js'
import type { CompleteStore, TaskRecord } from '../../stores/store.js'
import { type SharedTask, sharedTaskOf, type TaskAccess, taskNotFound } from '../access.js'
import type { Following } from '../following/following.js'
import { foldOf } from '../following/task-reader.js'
import { TurnWatch } from '../following/task-stream.js'
import { isFull, storeFull } from '../limits.js'
import type { EngineSettings } from '../settings.js'
import type { Execution } from './execution.js'
import type { Run } from './run.js'
import { cancelRequest } from './stop.js'
import type { RunningTasks } from './usage.js'

interface CancelDeps {
  readonly agent: string
  readonly store: Pick<CompleteStore, 'append' | 'find' | 'load'>
  readonly clock: Pick<Clock, 'now'>
  readonly settings: Pick<EngineSettings, 'leaseMs' | 'cancelGraceMs' | 'cancelTwice' | 'limits'>
  readonly access: TaskAccess
  readonly running: RunningTasks<Run>
  readonly execution: Pick<Execution, 'open'>
  readonly following: Pick<Following, 'reader' | 'topics'>
}

export async function cancelTask(deps: CancelDeps, request: CancelTaskRequest, context: CallContext): Promise<Task> {
  const { running, store, access } = deps
  const mayCancel = (task: SharedTask) => access.allows(task, context, 'cancelTask')
  for (;;) {
    const found = running.get(request.id)
    const run = found?.task && found
    if (run) {
      if (!(await mayCancel(run.identity))) throw taskNotFound(request.id)
      await run.cancel(request.metadata)
    }
    const record = await store.find({ agent: deps.agent, id: request.id })
    if (record?.visibility !== 'task' || !record.state || !(await mayCancel(sharedTaskOf(record))))
      throw taskNotFound(request.id)
    if (isTerminal(record.state)) return await answerFor(deps, request.id, run !== undefined, context)
    const rival = running.get(request.id)
    if (rival) {
      // Its first commit may be on its way, or refused because this task has the id.
      await rival.writer.firstCommit.wait()
      continue
    }
    const isIdle = record.leaseOwner === undefined && isInterrupted(record.state)
    const isDone = isIdle ? await cancelIdle(deps, record) : await cancelElsewhere(deps, record, request, context)
    if (isDone) return await answerFor(deps, request.id, true, context)
  }
}

/** `isOurs`: this call requested the cancel, so a cancelled task is its success. */
async function answerFor(
  { following, settings }: CancelDeps,
  taskId: string,
  isOurs: boolean,
  context: CallContext,
): Promise<Task> {
  const ended = await following.reader.snapshot(taskId)
  if (!ended) throw taskNotFound(taskId)
  const { task } = ended
  const isCanceled = task.status.state === 'TASK_STATE_CANCELED'
  if (isCanceled && (isOurs || (settings.cancelTwice === 'task' && !context.cancelsOnce)))
    return await following.reader.withProgress(task, context)
  throw new A2AError('TASK_NOT_CANCELABLE', `Task ${taskId} has already ended`, {
    metadata: { taskId, state: task.status.state },
  })
}

async function cancelIdle({ store, running, execution }: CancelDeps, record: TaskRecord): Promise<boolean> {
  const loaded = await store.load(record.key)
  if (!loaded || loaded.record.seq !== record.seq || running.has(record.key.id)) return false
  const { key, contextId, tenant, owner, dialect, bytes } = record
  const fold = foldOf(loaded)
  const run = execution.open({ key, contextId, tenant, owner, dialect, fold, bytes, isNew: false })
  return await run.end('TASK_STATE_CANCELED')
}

/** Writes the request to the log; the process that holds or takes the lease acts on it. */
async function cancelElsewhere(
  { store, clock, settings, following }: CancelDeps,
  { key, seq, bytes: taskBytes }: TaskRecord,
  request: CancelTaskRequest,
  context: CallContext,
): Promise<boolean> {
  const { body, bytes } = cancelRequest(request.metadata, taskBytes, settings.limits)
  const events = [{ seq: seq + 1, time: clock.now(), body }]
  const { result } = await store.append({ key, expect: seq, events, bytes, isRunnable: true })
  if (isFull(result)) throw storeFull(result)
  if (result !== 'ok') return false
  const timeout = AbortSignal.timeout(settings.leaseMs * 2 + settings.cancelGraceMs)
  const signal = context.signal ? AbortSignal.any([context.signal, timeout]) : timeout
  const watch = new TurnWatch('subscription')
  for await (const batch of following.topics.open(key.id).batches(seq, signal)) {
    if (batch === 'removed' || batch.some((event) => watch.see(event))) return true
  }
  throw new A2AError('UNAVAILABLE', 'The cancel was noted, but the task has not ended yet', { retryAfterSeconds: 1 })
}
