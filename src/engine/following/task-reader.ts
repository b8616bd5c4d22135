/** Reads tasks for callers: snapshots, histories and lists. */
import { setImmediate } from 'node:timers/promises'
import { copyJson } from '../../model/copy-json.js'
import { invalidField } from '../../model/errors.js'
import { type HistoryWindow, historyMessage, newestMessages } from '../../model/history-window.js'
import type { Message } from '../../model/message.js'
import { AuthorError } from '../../model/option-names.js'
import type { CallContext, GetTaskRequest, ListTasksRequest, ListTasksResponse } from '../../model/service.js'
import type { Task, TaskStatus } from '../../model/task.js'
import { foldEvents, TaskFold } from '../../model/task-fold.js'
import { withMembers } from '../../model/with-members.js'
import { type CompleteStore, isPosition, type ListQuery, type LoadedTask } from '../../stores/store.js'
import {
  isOwn,
  type SharedTask,
  type SharingOperation,
  sharedTaskOf,
  type TaskAccess,
  taskNotFound,
} from '../access.js'
import type { EarlierOptions } from '../agent.js'
import type { EngineLimits } from '../limits.js'

/** A task that runs in this process. */
export interface LiveTask {
  readonly identity: SharedTask
  /** The committed task; undefined before it exists. */
  readonly task: Task | undefined
  /** The sequence of the last committed event. */
  readonly seq: number
}

/** Tasks that run in this process, by id. */
export interface LiveTasks {
  get(taskId: string): LiveTask | undefined
}

export interface ReaderDeps {
  readonly agent: string
  readonly store: Pick<CompleteStore, 'find' | 'view' | 'read' | 'list'>
  readonly limits: EngineLimits
  readonly running: LiveTasks
  readonly access: TaskAccess
}

/** A task and its position in the log, read together. */
interface TaskSnapshot {
  readonly task: Task
  readonly seq: number
}

/** The caller that reads a task. Without an operation that can be shared, it must own the task. */
interface Viewer extends Pick<CallContext, 'caller' | 'tenant'> {
  readonly operation?: SharingOperation
}

const defaultPageSize = 50
const maxPageSize = 100
const defaultEarlier = 20
/** A page ends early when its tasks are this large together. */
const maxPageBytes = 8 * 1024 * 1024
const eventsPerRead = 256

export class TaskReader {
  readonly #deps: ReaderDeps
  readonly #defaultWindow: HistoryWindow

  constructor(deps: ReaderDeps) {
    const { historyMessages, historyCharacters } = deps.limits
    this.#deps = deps
    this.#defaultWindow = { messages: historyMessages, characters: historyCharacters }
  }

  async getTask({ id, historyLength }: GetTaskRequest, context: CallContext): Promise<Task> {
    const history = this.historyWindow(historyLength)
    const snapshot = await this.snapshot(id, withMembers(context, { operation: 'getTask' as const }), history)
    if (!snapshot) throw taskNotFound(id)
    return trimHistory(await this.withProgress(snapshot.task, context), history)
  }

  /** The dialect a task was created in: methods that versions share are answered in it (RM-DET-4). */
  async createdIn(taskId: string, scope: Pick<CallContext, 'caller' | 'tenant'>): Promise<string | undefined> {
    const record = await this.#deps.store.find(this.#key(taskId))
    if (record?.visibility !== 'task') return undefined
    return (await this.#deps.access.allows(sharedTaskOf(record), scope, 'getTask')) ? record.dialect : undefined
  }

  async listTasks(request: ListTasksRequest, context: CallContext): Promise<ListTasksResponse> {
    const { contextId, status, statusTimestampAfter } = request
    const pageSize = request.pageSize ?? defaultPageSize
    const history = this.historyWindow(request.historyLength)
    if (pageSize < 1 || pageSize > maxPageSize) throw invalidField('pageSize', `must be from 1 to ${maxPageSize}`)
    const includeArtifacts = request.includeArtifacts === true
    const after = request.pageToken ? readToken(request) : undefined
    const query: ListQuery = {
      agent: this.#deps.agent,
      tenant: context.tenant ?? '',
      owner: context.caller.id,
      limit: pageSize,
      maxBytes: maxPageBytes,
      history,
      includeArtifacts,
      ...(contextId !== undefined && { contextId }),
      ...(status !== undefined && { state: status }),
      ...(statusTimestampAfter !== undefined && { statusTimeFromMs: Date.parse(statusTimestampAfter) }),
      ...(after !== undefined && { after }),
    }
    const page = await this.#deps.store.list(query)
    return {
      // If artifacts were requested, the member is present even when it is empty (R-LIST-7).
      tasks: page.tasks.map(({ task }) => (includeArtifacts && !task.artifacts ? { ...task, artifacts: [] } : task)),
      nextPageToken: page.next === undefined ? '' : makeToken(page.next, request),
      pageSize,
      totalSize: page.total,
    }
  }

  /** The other tasks of a task's context and owner, changed last first in the store and returned oldest first. */
  async earlier(
    { id, contextId, owner, tenant }: SharedTask,
    { limit = defaultEarlier }: EarlierOptions = {},
  ): Promise<readonly Task[]> {
    if (!Number.isInteger(limit) || limit < 1 || limit > maxPageSize)
      throw new AuthorError(`\`limit\` of turn.earlier must be an integer from 1 to ${maxPageSize}, not ${limit}`)
    // One more, because the page may contain the task itself.
    const request = { contextId, pageSize: Math.min(limit + 1, maxPageSize), includeArtifacts: true }
    const { tasks } = await this.listTasks(request, { caller: { id: owner }, tenant })
    const others = tasks.filter((task) => task.id !== id).slice(0, limit)
    // Copied: the store may share its objects.
    return copyJson(others.reverse())
  }

  /** The owner and context of a task, if the viewer may see it. Checked before the task is read (R-ERR-7). */
  async visibleTask(taskId: string, viewer: Viewer): Promise<SharedTask | undefined> {
    const identity = this.#running(taskId)?.identity ?? (await this.#stored(taskId))
    if (!identity) return undefined
    const { operation } = viewer
    const isAllowed = operation ? await this.#deps.access.allows(identity, viewer, operation) : isOwn(identity, viewer)
    return isAllowed ? identity : undefined
  }

  /** A consistent snapshot of a task in any process. With a viewer: undefined if it may not see the task. */
  async snapshot(
    taskId: string,
    viewer?: Viewer,
    history: HistoryWindow = this.historyWindow(undefined),
  ): Promise<TaskSnapshot | undefined> {
    if (viewer && !(await this.visibleTask(taskId, viewer))) return undefined
    const run = this.#running(taskId)
    if (run?.task) return { task: run.task, seq: run.seq }
    const viewed = await this.#deps.store.view(this.#key(taskId), { history, includeArtifacts: true })
    if (viewed?.record.visibility !== 'task') return undefined
    return { task: viewed.task, seq: viewed.record.seq }
  }

  /** The messages that a response includes: as many as requested, within the limits (R-HIST-1). */
  historyWindow(requested: number | undefined, field = 'historyLength'): HistoryWindow {
    const { historyMessages, historyCharacters } = this.#deps.limits
    if (requested === undefined) return this.#defaultWindow
    if (requested < 0) throw invalidField(field, 'must not be negative')
    return { messages: Math.min(requested, historyMessages), characters: historyCharacters }
  }

  /**
   * The task with progress messages in its history, if the caller's dialect includes them. Stores keep progress as events,
   * so this reads the whole log.
   */
  withProgress(task: Task, { showsProgress }: Pick<CallContext, 'showsProgress'>): Task | Promise<Task> {
    if (!showsProgress) return task
    return this.#messagesUpTo(task).then((history) => (history?.length ? withMembers(task, { history }) : task))
  }

  /** Undefined when retention has removed the events. */
  async #messagesUpTo({ id, status }: Task): Promise<readonly Message[] | undefined> {
    const window = this.historyWindow(undefined)
    const messages: Message[] = []
    /** The number of messages when the task got its status. */
    let count: number | undefined
    for (let after = 0; ; ) {
      const events = await this.#deps.store.read(this.#key(id), after, eventsPerRead)
      if (!events) return undefined
      for (const { body } of events) {
        const message = historyMessage(body, true)
        if (message) messages.push(message)
        // Messages after this status are not part of the given task.
        if ('statusUpdate' in body && isSame(body.statusUpdate.status, status)) count = messages.length
      }
      const last = events.at(-1)?.seq
      if (last === undefined) return newestMessages(messages.slice(0, count), window)
      const excess = messages.length - window.messages - eventsPerRead
      if (excess > 0) {
        messages.splice(0, excess)
        count = count === undefined ? undefined : Math.max(0, count - excess)
      }
      after = last
      // A long log must not block other calls.
      await setImmediate()
    }
  }

  /** The run of a task, once the task is committed: until then a caller's task of the same id may be in the store. */
  #running(taskId: string): LiveTask | undefined {
    const run = this.#deps.running.get(taskId)
    return run?.task && run
  }

  async #stored(taskId: string): Promise<SharedTask | undefined> {
    const record = await this.#deps.store.find(this.#key(taskId))
    return record?.visibility === 'task' ? sharedTaskOf(record) : undefined
  }

  #key(id: string) {
    return { agent: this.#deps.agent, id }
  }
}

/** The fold of a loaded task. `withoutArtifacts`: the task was loaded without them. */
export function foldOf(
  { snapshot, record, events }: LoadedTask,
  options: { readonly withoutArtifacts?: boolean } = {},
): TaskFold {
  if (snapshot) return TaskFold.from(snapshot, record.seq)
  const fold = foldEvents(events, options)
  if (options.withoutArtifacts) fold.seq = Math.max(fold.seq, record.seq)
  return fold
}

/** The task with its newest messages, oldest first. Without messages the history is absent (R-HIST). */
export function trimHistory(task: Task, window: HistoryWindow): Task {
  if (!task.history) return task
  const kept = newestMessages(task.history, window)
  if (kept.length === task.history.length && kept.length > 0) return task
  const { history: _history, ...rest } = task
  return kept.length === 0 ? rest : withMembers(rest, { history: kept })
}

function isSame(one: TaskStatus, other: TaskStatus): boolean {
  return (
    one.state === other.state &&
    one.timestamp === other.timestamp &&
    one.message?.messageId === other.message?.messageId
  )
}

/** A page token holds a position and the filter it was made for (R-LIST-6). */
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
  const isSameFilter = JSON.stringify(filter) === JSON.stringify(filterOf(request))
  if (!isSameFilter || !isPosition(position)) throw refused
  return position
}

function filterOf({ contextId, status, statusTimestampAfter }: ListTasksRequest): readonly string[] {
  return [contextId ?? '', status ?? '', statusTimestampAfter ?? '']
}
