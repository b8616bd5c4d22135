/** One task in the memory store. */
import type { TaskEvent } from '../model/event.js'
import { historyMessage, newestMessages } from '../model/history-window.js'
import type { Message } from '../model/message.js'
import { sizeOf } from '../model/size-of.js'
import { isTerminal, type Task, type TaskState } from '../model/task.js'
import type { HeapEntry } from './heap.js'
import type { ListIndex } from './memory-index.js'
import { type PackedLog, packLog, unpackLog } from './memory-log.js'
import {
  type AgentStats,
  type Append,
  type LeaseClaim,
  type ListPage,
  type ListQuery,
  type LoadedTask,
  maxCounted,
  type Scope,
  type StoredPushConfig,
  type TaskCreation,
  type TaskKey,
  type TaskRecord,
  type ViewedTask,
  type ViewOptions,
  type Visibility,
} from './store.js'
import { artifactsIn, type TaskHead, viewOf } from './views.js'

interface Lease {
  readonly owner: string
  readonly untilMs: number
}

/** One task. `serial` orders tasks of equal status time. */
export interface Row {
  readonly key: TaskKey
  /** The list of the scope: cached, because each commit uses it several times. */
  readonly list: ListIndex<Row>
  readonly tenant: string
  readonly owner: string
  readonly contextId: string
  readonly dialect: string
  readonly serial: number
  idempotencyKeys: string[] | undefined
  visibility: Visibility
  events: TaskEvent[]
  /** The newest status and all messages, so that views of a running task need not read its events. */
  head: TaskHead | undefined
  history: Message[]
  seq: number
  /** The size of the log, as its writers counted it. */
  bytes: number
  /** The tasks of its owner, for the choice of tasks to evict. */
  readonly share: OwnerShare
  /** The list of evictable tasks that it is in, and its neighbours there. */
  evictable: RowList | undefined
  older: Row | undefined
  newer: Row | undefined
  fencingToken: number
  lease: Lease | undefined
  isRunnable: boolean
  state: TaskState | undefined
  statusTimeMs: number
  endedMs: number | undefined
  sealed: Sealed | undefined
  /** Push configs, by id. */
  cursors: Map<string, Cursor> | undefined
}

/** `rank`: the time at which the cursor is due. A cursor without events to deliver is in no heap. */
export interface Cursor extends HeapEntry {
  readonly row: Row
  push: StoredPushConfig
  seq: number
  attempts: number
  fencingToken: number
  leaseOwner: string | undefined
}

/** True if there are events to deliver. */
export function isPending({ place }: Cursor): boolean {
  return place !== undefined
}

/** Evictable tasks, oldest first: a linked list, so that removing one takes constant time. */
export class RowList {
  size = 0
  oldest: Row | undefined
  #newest: Row | undefined

  /** Adds a row as the newest, unless it is there. A row is in one list at most. */
  add(row: Row): void {
    if (row.evictable === this) return
    row.evictable?.remove(row)
    row.evictable = this
    row.older = this.#newest
    if (this.#newest) this.#newest.newer = row
    else this.oldest = row
    this.#newest = row
    this.size += 1
  }

  remove(row: Row): void {
    if (row.older) row.older.newer = row.newer
    else this.oldest = row.newer
    if (row.newer) row.newer.older = row.older
    else this.#newest = row.older
    row.evictable = row.older = row.newer = undefined
    this.size -= 1
  }

  *[Symbol.iterator](): Iterator<Row> {
    for (let row = this.oldest; row; row = row.newer) yield row
  }
}

/** The tasks of one owner with one agent. */
export class OwnerShare {
  readonly agent: string
  readonly id: string
  tasks = 0
  bytes = 0
  readonly ended = new RowList()
  /** Tasks that wait for input. */
  readonly waiting = new RowList()
  readonly byBytes: RankedShare = { share: this, rank: 0, order: 0, place: undefined }
  readonly byEnded: RankedShare = { share: this, rank: 0, order: 0, place: undefined }

  constructor(agent: string, id: string) {
    this.agent = agent
    this.id = id
  }
}

export interface RankedShare extends HeapEntry {
  readonly share: OwnerShare
}

/** An ended task: its snapshot and its packed log. */
interface Sealed {
  readonly snapshot: Task
  /** Absent if retention has removed it. */
  readonly log: PackedLog | undefined
}

export function newRow(key: TaskKey, creation: TaskCreation, place: Pick<Row, 'list' | 'share' | 'serial'>): Row {
  return {
    key,
    list: place.list,
    share: place.share,
    serial: place.serial,
    tenant: creation.tenant,
    owner: creation.owner,
    contextId: creation.contextId,
    dialect: creation.dialect,
    idempotencyKeys: undefined,
    visibility: 'provisional',
    events: [],
    head: undefined,
    history: [],
    seq: 0,
    bytes: 0,
    evictable: undefined,
    older: undefined,
    newer: undefined,
    fencingToken: 0,
    lease: undefined,
    isRunnable: false,
    state: undefined,
    statusTimeMs: 0,
    endedMs: undefined,
    sealed: undefined,
    cursors: undefined,
  }
}

export function heldBy({ lease }: Row, now: number): string | undefined {
  return lease && lease.untilMs > now ? lease.owner : undefined
}

export function takeLease(row: Row, { owner, ttlMs }: LeaseClaim, now: number): void {
  row.fencingToken += 1
  row.lease = { owner, untilMs: now + ttlMs }
}

/** The stats of the leases of an agent. `rows`: all runnable rows. */
export function runnableStats(
  rows: Iterable<Row>,
  agent: string,
  now: number,
): Pick<AgentStats, 'unheldTasks' | 'leaseEndsInMs'> {
  let unheldTasks = 0
  let endsMs = Number.POSITIVE_INFINITY
  for (const { key, lease } of rows) {
    if (key.agent !== agent) continue
    if (lease && lease.untilMs > now) endsMs = Math.min(endsMs, lease.untilMs)
    else unheldTasks += 1
  }
  return {
    unheldTasks: Math.min(unheldTasks, maxCounted),
    ...(endsMs < Number.POSITIVE_INFINITY && { leaseEndsInMs: endsMs - now }),
  }
}

export function recordOf(row: Row, now: number): TaskRecord {
  const { key, tenant, owner, contextId, dialect, visibility, seq, fencingToken, state, bytes } = row
  const leaseOwner = heldBy(row, now)
  return {
    key,
    tenant,
    owner,
    contextId,
    dialect,
    visibility,
    seq,
    fencingToken,
    ...(leaseOwner !== undefined && { leaseOwner }),
    ...(state && { state }),
    bytes,
  }
}

export function loadRow(row: Row, now: number, includeArtifacts: boolean): LoadedTask {
  const { sealed } = row
  const record = recordOf(row, now)
  if (!sealed) {
    return { record, events: includeArtifacts ? row.events.slice() : row.events.filter(isNotArtifact) }
  }
  const { snapshot } = sealed
  if (includeArtifacts) return { record, snapshot, events: [] }
  const { artifacts: _artifacts, ...rest } = snapshot
  return { record, snapshot: rest, events: [] }
}

export function viewRow(row: Row, now: number, { history, includeArtifacts }: ViewOptions): ViewedTask | undefined {
  const snapshot = row.sealed?.snapshot
  const head = snapshot ?? row.head
  if (!head) return undefined
  const messages = newestMessages(snapshot?.history ?? row.history, history)
  const artifacts = includeArtifacts ? (snapshot ? snapshot.artifacts : artifactsIn(row.events)) : undefined
  return viewOf(recordOf(row, now), head, messages, artifacts)
}

export function listRows(index: ListIndex<Row>, query: ListQuery, now: number): ListPage {
  const { contextId, state } = query
  const matches = (row: Row) =>
    (contextId === undefined || row.contextId === contextId) && (state === undefined || row.state === state)
  const { rows, ...rest } = index.page({
    matches: contextId === undefined && state === undefined ? undefined : matches,
    fromMs: query.statusTimeFromMs,
    after: query.after,
    limit: query.limit,
    budget: query.maxBytes,
    sizeOf: (row) => sizeOf(viewRow(row, now, query)?.task, query.maxBytes),
  })
  return { ...rest, tasks: rows.flatMap((row) => viewRow(row, now, query) ?? []) }
}

export function setStatus(row: Row, { visibility, status }: Append): void {
  const wasListed = row.visibility === 'task'
  if (visibility) row.visibility = visibility
  if (!status) return
  if (wasListed) row.list.remove(row)
  row.state = status.state
  row.statusTimeMs = status.timeMs
  if (row.visibility === 'task') row.list.add(row)
}

export function addEvent(row: Row, event: TaskEvent): void {
  const { body } = event
  row.events.push(event)
  if ('artifactUpdate' in body) return
  if ('statusUpdate' in body) row.head = body.statusUpdate
  else if ('task' in body) row.head = body.task
  const message = historyMessage(body)
  if (message) row.history.push(message)
}

/** Packs the log of an ended task. */
export function seal(row: Row, snapshot: Task): void {
  row.sealed = { snapshot, log: packLog(row.events, snapshot) }
  row.events = []
  row.history = []
}

/** Frees the content of a removed row: indexes may hold the row for a while. */
export function release(row: Row): void {
  row.events = []
  row.history = []
  row.head = undefined
  row.sealed = undefined
}

/** Removes the events of an ended task. False if there were none. */
export function dropEvents(row: Row): boolean {
  if (!row.sealed?.log) return false
  row.sealed = { snapshot: row.sealed.snapshot, log: undefined }
  return true
}

/** Events after a sequence. Undefined if they were removed. */
export function eventsAfter(row: Row, afterSeq: number, limit: number): readonly TaskEvent[] | undefined {
  const log = row.sealed?.log
  const first = log?.firstSeq ?? row.events[0]?.seq ?? row.seq + 1
  if (afterSeq + 1 < first) return undefined
  const from = afterSeq + 1 - first
  return log ? unpackLog(log, from, from + limit) : row.events.slice(from, from + limit)
}

function isNotArtifact({ body }: TaskEvent): boolean {
  return !('artifactUpdate' in body)
}

/** True if a step ends its task, or ends a send as a Message. */
export function isEnd({ status, visibility }: Append): boolean {
  return visibility === 'message' || (status !== undefined && isTerminal(status.state))
}

/** Cancel requests beyond this size need room like other events. */
const maxCancelBytes = 16 * 1024

/** A full store accepts steps of no size, ends of tasks, and small cancel requests. */
export function isAlwaysTaken(step: Append): boolean {
  const { bytes = 0 } = step
  if (bytes === 0 || isEnd(step)) return true
  return bytes <= maxCancelBytes && step.events.every(({ body }) => 'cancelAsked' in body)
}

export function scopeOf({ agent }: TaskKey, { tenant, owner }: Omit<Scope, 'agent'>): Scope {
  return { agent, tenant, owner }
}

export function scopeId({ agent, tenant, owner }: Scope): string {
  return `${agent}\n${tenant}\n${owner}`
}
