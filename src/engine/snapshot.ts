import { foldEvents, TaskFold } from '../model/apply-event.js'
import type { HistoryWindow } from '../model/history-window.js'
import type { CallContext } from '../model/service.js'
import type { Task } from '../model/task.js'
import type { LoadedTask, TaskRecord } from '../stores/store.js'
import { shownHistory } from './history.js'
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
}

/** `withoutArtifacts`: the task was loaded without them. */
export function foldOf(
  { snapshot, record, events }: LoadedTask,
  options: { readonly withoutArtifacts?: boolean } = {},
): TaskFold {
  if (snapshot) return TaskFold.from(snapshot, record.seq)
  const fold = foldEvents(events, options)
  if (options.withoutArtifacts) fold.seq = Math.max(fold.seq, record.seq)
  return fold
}

/** Who wants to see a task; without an operation that may be shared, it has to be its own. */
export interface Viewer extends Pick<CallContext, 'caller' | 'tenant'> {
  readonly operation?: SharingOperation
}

/** The owner of a task, if the viewer may see it. The engine checks this before it reads the task (R-ERR-7). */
export async function visibleTask(
  internals: Internals,
  taskId: string,
  viewer: Viewer,
): Promise<SharedTask | undefined> {
  const run = internals.runs.get(taskId)
  const record = run ? undefined : await internals.store.find(internals.key(taskId))
  const isTask = run ? run.task !== undefined : record?.visibility === 'task'
  const identity = run?.identity ?? (record && identityOf(record))
  if (!isTask || !identity) return undefined
  return (await isVisible(internals, identity, viewer)) ? identity : undefined
}

/** Consistent whether the task runs here, elsewhere or not at all. With a viewer: only if it may see the task. */
export async function snapshotOf(
  internals: Internals,
  taskId: string,
  viewer?: Viewer,
  history: HistoryWindow = shownHistory(internals, undefined),
): Promise<TaskSnapshot | undefined> {
  if (viewer && !(await visibleTask(internals, taskId, viewer))) return undefined
  const run = internals.runs.get(taskId)
  if (run) {
    const { fold } = run.writer
    const task = fold.snapshot()
    return task && { task, seq: fold.seq }
  }
  const viewed = await internals.store.view(internals.key(taskId), { history, includeArtifacts: true })
  if (viewed?.record.visibility !== 'task') return undefined
  return { task: viewed.task, seq: viewed.record.seq }
}
