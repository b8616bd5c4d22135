import { setImmediate } from 'node:timers/promises'
import { foldEvents, TaskFold } from '../../model/apply-event.js'
import { invalidField } from '../../model/errors.js'
import type { HistoryWindow } from '../../model/history-window.js'
import { historyMessage, newestMessages } from '../../model/history-window.js'
import type { Message } from '../../model/message.js'
import type { CallContext, GetTaskRequest, ListTasksRequest, ListTasksResponse } from '../../model/service.js'
import type { Task, TaskStatus } from '../../model/task.js'
import type { LoadedTask, TaskRecord } from '../../stores/store.js'
import { isPosition, type ListQuery } from '../../stores/store.js'
import { isOwn, mayAccess, type SharedTask, type SharingOperation, taskNotFound } from '../access.js'
import type { Internals } from '../internals.js'

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

/** As many messages as are asked for, and never more than the limits (R-HIST-1). */
export function shownHistory({ settings }: Internals, asked: number | undefined, field?: string): HistoryWindow {
  const { historyMessages, historyCharacters } = settings.limits
  assertHistoryLength(asked, field)
  const messages = asked === undefined ? historyMessages : Math.min(asked, historyMessages)
  return { messages, characters: historyCharacters }
}

/** The task with the newest messages, oldest first; without a history when none is shown (R-HIST). */
export function trimHistory(task: Task, shown: HistoryWindow): Task {
  if (!task.history) return task
  const kept = newestMessages(task.history, shown)
  if (kept.length === task.history.length && kept.length > 0) return task
  const { history: _history, ...rest } = task
  return kept.length === 0 ? rest : { ...rest, history: kept }
}

export function assertHistoryLength(historyLength: number | undefined, field = 'historyLength'): void {
  if (historyLength !== undefined && historyLength < 0) throw invalidField(field, 'must not be negative')
}

const eventsPerRead = 256

/** The task as it was given, with progress messages in its history if the caller's dialect shows them. */
export function withProgress(
  internals: Internals,
  task: Task,
  { showsProgress }: Pick<CallContext, 'showsProgress'>,
): Task | Promise<Task> {
  if (!showsProgress) return task
  return messagesUpTo(internals, task).then((history) => (history?.length ? { ...task, history } : task))
}

/** Absent when retention has removed the events. */
async function messagesUpTo(internals: Internals, { id, status }: Task): Promise<readonly Message[] | undefined> {
  const { store } = internals
  const shown = shownHistory(internals, undefined)
  const messages: Message[] = []
  /** Their number when the task got its status. */
  let count: number | undefined
  for (let after = 0; ; ) {
    const events = await store.read(internals.key(id), after, eventsPerRead)
    if (!events) return undefined
    for (const { body } of events) {
      const message = historyMessage(body, true)
      if (message) messages.push(message)
      // The task may have moved on since: later messages are not part of it.
      if ('statusUpdate' in body && isSame(body.statusUpdate.status, status)) count = messages.length
    }
    const last = events.at(-1)?.seq
    if (last === undefined) return newestMessages(messages.slice(0, count), shown)
    const tooMany = messages.length - shown.messages - eventsPerRead
    if (tooMany > 0) {
      messages.splice(0, tooMany)
      count = count === undefined ? undefined : Math.max(0, count - tooMany)
    }
    after = last
    // A long log must not keep other calls waiting.
    await setImmediate()
  }
}

function isSame(one: TaskStatus, other: TaskStatus): boolean {
  return (
    one.state === other.state &&
    one.timestamp === other.timestamp &&
    one.message?.messageId === other.message?.messageId
  )
}

const defaultPageSize = 50
const largestPageSize = 100
/** Tasks may be as large as requests may be, and a page holds a hundred of them: what does not fit is the next page's. */
const largestPageBytes = 8 * 1024 * 1024

export async function getTask(
  internals: Internals,
  { id, historyLength }: GetTaskRequest,
  context: CallContext,
): Promise<Task> {
  const shown = shownHistory(internals, historyLength)
  const snapshot = await snapshotOf(internals, id, { ...context, operation: 'getTask' }, shown)
  if (!snapshot) throw taskNotFound(id)
  return trimHistory(await withProgress(internals, snapshot.task, context), shown)
}

/** Which dialect a task was created in: methods that versions share are answered in that one (RM-DET-4). */
export async function createdIn(
  internals: Internals,
  taskId: string,
  scope: Pick<CallContext, 'caller' | 'tenant'>,
): Promise<string | undefined> {
  const record = await internals.store.find(internals.key(taskId))
  if (record?.visibility !== 'task') return undefined
  const isSeen = await mayAccess(internals, identityOf(record), scope, 'getTask')
  return isSeen ? record.dialect : undefined
}

export async function listTasks(
  internals: Internals,
  request: ListTasksRequest,
  context: CallContext,
): Promise<ListTasksResponse> {
  const { contextId, status, statusTimestampAfter } = request
  const shown = shownHistory(internals, request.historyLength)
  const pageSize = request.pageSize ?? defaultPageSize
  if (pageSize < 1 || pageSize > largestPageSize) throw invalidField('pageSize', `must be from 1 to ${largestPageSize}`)
  const includeArtifacts = request.includeArtifacts === true
  const after = request.pageToken ? readToken(request) : undefined
  const query: ListQuery = {
    ...internals.scope(context),
    limit: pageSize,
    maxBytes: largestPageBytes,
    history: shown,
    includeArtifacts,
    ...(contextId !== undefined && { contextId }),
    ...(status !== undefined && { state: status }),
    ...(statusTimestampAfter !== undefined && { statusTimeFromMs: Date.parse(statusTimestampAfter) }),
    ...(after !== undefined && { after }),
  }
  const page = await internals.store.list(query)
  return {
    tasks: page.tasks.map(({ task }) => withArtifacts(task, includeArtifacts)),
    nextPageToken: page.next === undefined ? '' : makeToken(page.next, request),
    pageSize,
    totalSize: page.total,
  }
}

/** Asked for, the member is there even when it is empty (R-LIST-7). */
function withArtifacts(task: Task, includeArtifacts: boolean): Task {
  return includeArtifacts && !task.artifacts ? { ...task, artifacts: [] } : task
}

/** A token names a position and the filter it was made for (R-LIST-6). */
function makeToken(position: string, request: ListTasksRequest): string {
  return Buffer.from(JSON.stringify([position, ...filterOf(request)])).toString('base64url')
}

function readToken(request: ListTasksRequest): string {
  const refused = invalidField('pageToken', 'is not a token of this list')
  let token: unknown
  try {
    token = JSON.parse(Buffer.from(request.pageToken ?? '', 'base64url').toString('utf8'))
  } catch {
    throw refused
  }
  if (!Array.isArray(token)) throw refused
  const [position, ...filter] = token as unknown[]
  const isSame = JSON.stringify(filter) === JSON.stringify(filterOf(request))
  if (!isSame || !isPosition(position)) throw refused
  return position
}

function filterOf({ contextId, status, statusTimestampAfter }: ListTasksRequest): readonly string[] {
  return [contextId ?? '', status ?? '', statusTimestampAfter ?? '']
}
