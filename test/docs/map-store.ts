import type { Task } from 'dragoman'
import {
  type Append,
  type LoadedTask,
  type Store,
  type TaskEvent,
  type TaskKey,
  type TaskRecord,
  viewTask,
} from 'dragoman/engine'

interface KeptTask {
  record: TaskRecord
  readonly events: TaskEvent[]
  snapshot: Task | undefined
  statusTimeMs: number
  /** Orders tasks of equal status time. */
  readonly serial: number
  isRunnable: boolean
}

/** Keeps tasks in a map, for one process. */
export function mapStore(tasks = new Map<string, KeptTask>()): Store {
  return {
    async append(step) {
      const id = idOf(step.key)
      const before = tasks.get(id)
      // A new task must not exist; another one must, and no other writer may have appended to it.
      if (before ? step.create || before.record.seq !== step.expect : !step.create || step.expect !== 0)
        return { result: 'conflict' }
      const task = before ?? emptyTask(step, tasks.size)
      tasks.set(id, task)
      applyStep(task, step)
      return { result: 'ok', fencingToken: 0 }
    },

    async load(key, { includeArtifacts = true } = {}) {
      const task = tasks.get(idOf(key))
      return task && loadedTask(task, includeArtifacts)
    },

    async read(key, afterSeq, limit) {
      const events = tasks.get(idOf(key))?.events.slice(afterSeq, afterSeq + limit)
      return events && startOf(events, 256 * 1024)
    },

    async list(query) {
      const matches = ({ record, statusTimeMs }: KeptTask) =>
        record.visibility === 'task' &&
        record.key.agent === query.agent &&
        record.tenant === query.tenant &&
        record.owner === query.owner &&
        (query.contextId === undefined || record.contextId === query.contextId) &&
        (query.state === undefined || record.state === query.state) &&
        statusTimeMs >= (query.statusTimeFromMs ?? 0)
      const all = [...tasks.values()].filter(matches)
      all.sort((a, b) => b.statusTimeMs - a.statusTimeMs || b.serial - a.serial)
      const rest = all.filter((task) => query.after === undefined || isAfter(task, query.after))
      const views = rest.slice(0, query.limit).flatMap((task) => viewTask(loadedTask(task, true), query) ?? [])
      const page = startOf(views, query.maxBytes ?? Number.POSITIVE_INFINITY)
      const last = page.length < rest.length ? rest[page.length - 1] : undefined
      return { tasks: page, total: all.length, ...(last && { next: `${last.statusTimeMs}.${last.serial}` }) }
    },

    async close() {},

    async runnable(agent) {
      const left = [...tasks.values()].filter(({ record, isRunnable }) => isRunnable && record.key.agent === agent)
      return left.map(({ record }) => record.key)
    },
  }
}

function idOf({ agent, id }: TaskKey): string {
  return JSON.stringify([agent, id])
}

function emptyTask({ key, create }: Append, serial: number): KeptTask {
  const { tenant = '', owner = '', contextId = '', dialect = '' } = create ?? {}
  const start = { visibility: 'provisional', seq: 0, fencingToken: 0, bytes: 0 } as const
  const record = { key, tenant, owner, contextId, dialect, ...start }
  return { record, events: [], snapshot: undefined, statusTimeMs: 0, serial, isRunnable: false }
}

/** Members of a step that are absent change nothing. */
function applyStep(task: KeptTask, { events, bytes = 0, visibility, status, isRunnable, snapshot }: Append): void {
  task.events.push(...events)
  task.record = {
    ...task.record,
    seq: task.events.length,
    bytes: task.record.bytes + bytes,
    ...(visibility && { visibility }),
    ...(status && { state: status.state }),
  }
  task.statusTimeMs = status?.timeMs ?? task.statusTimeMs
  task.isRunnable = isRunnable ?? task.isRunnable
  task.snapshot = snapshot ?? task.snapshot
}

/** Returns the snapshot of an ended task, or the log of a running one. */
function loadedTask({ record, events, snapshot }: KeptTask, includeArtifacts: boolean): LoadedTask {
  if (!snapshot) return { record, events: events.filter(({ body }) => includeArtifacts || !('artifactUpdate' in body)) }
  const { artifacts, ...rest } = snapshot
  return { record, events: [], snapshot: includeArtifacts && artifacts ? { ...rest, artifacts } : rest }
}

/** As many items as fit into a size, and the first one in any case. */
function startOf<Item>(items: readonly Item[], maxBytes: number): readonly Item[] {
  let bytes = 0
  const end = items.findIndex((item, place) => {
    bytes += JSON.stringify(item).length
    return place > 0 && bytes > maxBytes
  })
  return end < 0 ? items : items.slice(0, end)
}

function isAfter({ statusTimeMs, serial }: KeptTask, position: string): boolean {
  const [timeMs = 0, lastSerial = 0] = position.split('.').map(Number)
  return statusTimeMs < timeMs || (statusTimeMs === timeMs && serial < lastSerial)
}
