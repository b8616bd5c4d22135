import { foldEvents, TaskFold } from '../model/apply-event.js'
import type { CallContext } from '../model/service.js'
import type { Task } from '../model/task.js'
import type { LoadedTask } from '../stores/store.js'
import type { Internals } from './internals.js'
import { isOwn } from './ownership.js'

/** A task and its place in the log, taken together. */
export interface TaskSnapshot {
  readonly task: Task
  readonly seq: number
  readonly currentTurn: number
}

export function foldOf({ snapshot, record, events }: LoadedTask): TaskFold {
  return snapshot ? TaskFold.from(snapshot, record.seq) : foldEvents(events)
}

/** Consistent whether the task runs here, elsewhere or not at all. With a context: only if it is the caller's own. */
export async function snapshotOf(
  internals: Internals,
  taskId: string,
  context?: CallContext,
): Promise<TaskSnapshot | undefined> {
  const run = internals.runs.get(taskId)
  if (run) {
    const { fold } = run.writer
    const task = fold.snapshot()
    if (!task || (context && !isOwn(run.scope, context))) return undefined
    return { task, seq: fold.seq, currentTurn: fold.current?.turn ?? 0 }
  }
  const loaded = await internals.store.load(internals.key(taskId))
  if (loaded?.record.visibility !== 'task' || (context && !isOwn(loaded.record, context))) return undefined
  const fold = foldOf(loaded)
  const task = fold.snapshot()
  return task && { task, seq: loaded.record.seq, currentTurn: fold.current?.turn ?? 0 }
}
