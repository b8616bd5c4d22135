import { foldEvents, TaskFold } from '../model/apply-event.js'
import type { CallContext } from '../model/service.js'
import type { Task } from '../model/task.js'
import type { LoadedTask, TaskRecord } from '../stores/store.js'
import type { Internals } from './internals.js'
import { isOwn, mayAccess, type SharedTask, type SharingOperation } from './ownership.js'

/** Whose task a record is of. */
export function identityOf({ key, contextId, tenant, owner }: TaskRecord): SharedTask {
  return { id: key.id, contextId, tenant, owner }
}

function isVisible(
  internals: Internals,
  task: SharedTask,
  { operation, ...asking }: Viewer,
): boolean | Promise<boolean> {
  return operation ? mayAccess(internals, task, asking, operation) : isOwn(task, asking)
}

/** A task and its place in the log, taken together. */
export interface TaskSnapshot {
  readonly task: Task
  readonly seq: number
  readonly currentTurn: number
}

export function foldOf({ snapshot, record, events }: LoadedTask): TaskFold {
  return snapshot ? TaskFold.from(snapshot, record.seq) : foldEvents(events)
}

/** Who wants to see a task; without an operation that may be shared, it has to be its own. */
export interface Viewer extends Pick<CallContext, 'caller' | 'tenant'> {
  readonly operation?: SharingOperation
}

/** Consistent whether the task runs here, elsewhere or not at all. With a viewer: only if it may see the task. */
export async function snapshotOf(
  internals: Internals,
  taskId: string,
  viewer?: Viewer,
): Promise<TaskSnapshot | undefined> {
  const run = internals.runs.get(taskId)
  if (run?.task && viewer && !(await isVisible(internals, run.identity, viewer))) return undefined
  if (run) {
    const { fold } = run.writer
    const task = fold.snapshot()
    if (!task) return undefined
    return { task, seq: fold.seq, currentTurn: fold.current?.turn ?? 0 }
  }
  const loaded = await internals.store.load(internals.key(taskId))
  if (loaded?.record.visibility !== 'task') return undefined
  if (viewer && !(await isVisible(internals, identityOf(loaded.record), viewer))) return undefined
  const fold = foldOf(loaded)
  const task = fold.snapshot()
  return task && { task, seq: loaded.record.seq, currentTurn: fold.current?.turn ?? 0 }
}
