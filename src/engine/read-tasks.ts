import { invalidField } from '../model/errors.js'
import type { CallContext, GetTaskRequest, ListTasksRequest, ListTasksResponse } from '../model/service.js'
import type { Task } from '../model/task.js'
import { isPosition, type ListQuery } from '../stores/store.js'
import { shownHistory, trimHistory } from './history.js'
import type { Internals } from './internals.js'
import { mayAccess, taskNotFound } from './ownership.js'
import { withProgress } from './progress.js'
import { identityOf, snapshotOf } from './snapshot.js'

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
