/**
 * A page of a list within a budget. Tasks may be as large as requests may be, and a page holds a hundred of
 * them: a few are read first, and the others only as far as they are likely to fit. What does not fit is
 * the next page's.
 */
import type { Task } from '../model/task.js'
import type { ListPage, ListQuery, LoadedTask, Store } from '../stores/store.js'
import { sizeOfTask } from './size-of.js'

const firstTasks = 10
/** With artifacts, each may be as large as a page may be. */
const firstWithArtifacts = 2
const largestPage = 8 * 1024 * 1024

export interface TaskPage extends Omit<ListPage, 'tasks'> {
  readonly tasks: readonly Task[]
}

export async function readPage(
  store: Store,
  query: ListQuery,
  show: (loaded: LoadedTask) => Task | undefined,
): Promise<TaskPage> {
  const tasks: Task[] = []
  let size = 0
  let total: number | undefined
  let after = query.after
  let next: string | undefined
  for (
    let left = query.limit, limit = Math.min(left, query.includeArtifacts ? firstWithArtifacts : firstTasks);
    left > 0;
  ) {
    const page = await store.list({ ...query, limit, ...(after !== undefined && { after }) })
    total ??= page.total
    for (const loaded of page.tasks) {
      const task = show(loaded)
      if (!task) continue
      size += sizeOfTask(task)
      tasks.push(task)
    }
    next = page.next
    left -= page.tasks.length
    if (next === undefined || page.tasks.length === 0 || size >= largestPage) break
    after = next
    // As many as fit if they are like those before; at least one, so that a list never stands still.
    const average = Math.max(1, size / Math.max(1, tasks.length))
    limit = Math.max(1, Math.min(left, Math.floor((largestPage - size) / average)))
  }
  return { tasks, total: total ?? 0, ...(next !== undefined && { next }) }
}
