/** One task in the memory store. */
import type { EventBody, TaskArtifactUpdateEvent, TaskEvent } from '../model/event.js'
import { historyMessage, newestMessages } from '../model/history-window.js'
import type { Message } from '../model/message.js'
import type { Part } from '../model/part.js'
import { sizeOf } from '../model/size-of.js'
import { isTerminal, type Task, type TaskState, type TaskStatus } from '../model/task.js'
import type { Cursor } from './memory-deliveries.js'
import type { ListIndex } from './memory-index.js'
import type { OwnerShare, RowList } from './memory-room.js'
import {
  type AgentStats,
  type Append,
  type ListPage,
  type ListQuery,
  type LoadedTask,
  maxCounted,
  type Scope,
  type TaskCreation,
  type TaskKey,
  type TaskRecord,
  type ViewedTask,
  type ViewOptions,
  type Visibility,
} from './store.js'
import { artifactsIn, viewOf } from './views.js'

interface Lease {
  readonly owner: string
  readonly untilMs: number
}

/** One task. `serial` orders tasks of equal status time. */
export interface Row {
  readonly key: TaskKey
  /** Its name among all rows, and the list it is shown in: both are asked for several times a commit. */
  readonly id: string
  readonly list: ListIndex<Row>
  readonly tenant: string
  readonly owner: string
  readonly contextId: string
  readonly dialect: string
  readonly serial: number
  idempotencyKeys: string[] | undefined
  visibility: Visibility
  events: TaskEvent[]
  /** The newest status and all messages, so that readers need not fold the events of a running task. */
  status: TaskStatus | undefined
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

/** An ended task: its snapshot and, in place of its events, what can be made of them again. */
interface Sealed {
  readonly snapshot: Task
  /** Absent when retention has removed it. */
  readonly log: PackedLog | undefined
}

export function newRow(
  key: TaskKey,
  creation: TaskCreation,
  place: Pick<Row, 'id' | 'list' | 'share' | 'serial'>,
): Row {
  return {
    key,
    ...place,
    tenant: creation.tenant,
    owner: creation.owner,
    contextId: creation.contextId,
    dialect: creation.dialect,
    idempotencyKeys: undefined,
    visibility: 'provisional',
    events: [],
    status: undefined,
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

/** Of the rows of an agent that have a turn to run. */
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
  const status = snapshot?.status ?? row.status
  if (!status) return undefined
  const messages = newestMessages(snapshot?.history ?? row.history, history)
  const artifacts = includeArtifacts ? (snapshot ? snapshot.artifacts : artifactsIn(row.events)) : undefined
  return viewOf(recordOf(row, now), { ...snapshot, status }, messages, artifacts)
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
  if ('statusUpdate' in body) row.status = body.statusUpdate.status
  else if ('task' in body) row.status = body.task.status
  const message = historyMessage(body)
  if (message) row.history.push(message)
}

/** The task has ended. */
export function seal(row: Row, snapshot: Task): void {
  row.sealed = { snapshot, log: packLog(row.events, snapshot) }
  row.events = []
  row.history = []
}

/** The row is removed. Indexes may hold it for a while: they must not hold its content. */
export function release(row: Row): void {
  row.events = []
  row.history = []
  row.status = undefined
  row.sealed = undefined
}

/** Forgets the events of an ended task; false when there were none. */
export function dropEvents(row: Row): boolean {
  if (!row.sealed?.log) return false
  row.sealed = { snapshot: row.sealed.snapshot, log: undefined }
  return true
}

/** Events behind a sequence; absent when they are not kept any more. */
export function eventsAfter(row: Row, afterSeq: number, limit: number): readonly TaskEvent[] | undefined {
  const events = row.sealed?.log ? unpackLog(row.sealed.log) : row.events
  const first = events[0]?.seq ?? row.seq + 1
  if (afterSeq + 1 < first) return undefined
  const from = afterSeq + 1 - first
  return events.slice(from, from + limit)
}

function isNotArtifact({ body }: TaskEvent): boolean {
  return !('artifactUpdate' in body)
}

/** Whether a step ends the task, or the exchange that made no task. */
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

export interface PackedLog {
  readonly firstSeq: number
  readonly timeMs: number
  readonly rows: readonly (EventBody | Chunks)[]
}

/** Events that each added one part to the same artifact and said nothing else. */
interface Chunks {
  readonly like: TaskArtifactUpdateEvent
  /** The parts of the artifact in the snapshot. */
  readonly parts: readonly Part[]
  readonly from: number
  to: number
}

/** Most tasks say less than this; there is nothing to gain. */
const shortLog = 8

export function packLog(events: readonly TaskEvent[], snapshot: Task): PackedLog {
  const rows = events.length > shortLog ? rowsOf(events, snapshot) : events.map(({ body }) => body)
  return { firstSeq: events[0]?.seq ?? 1, timeMs: events.at(-1)?.time ?? 0, rows }
}

function rowsOf(events: readonly TaskEvent[], snapshot: Task): readonly (EventBody | Chunks)[] {
  const rows: (EventBody | Chunks)[] = []
  /** How many parts of each artifact lie behind. */
  const places = new Map<string, number>()
  let chunks: Chunks | undefined
  for (const { body } of events) {
    const update = 'artifactUpdate' in body ? body.artifactUpdate : undefined
    const place = update?.append ? (places.get(update.artifact.artifactId) ?? 0) : 0
    if (update) places.set(update.artifact.artifactId, place + update.artifact.parts.length)
    if (!update || !isChunk(update)) {
      chunks = undefined
      rows.push(body)
    } else if (chunks && chunks.to === place && isSame(chunks, update)) chunks.to += 1
    else {
      const { artifactId } = update.artifact
      const parts = snapshot.artifacts?.find((artifact) => artifact.artifactId === artifactId)?.parts ?? []
      // An artifact that was replaced later has other parts by now.
      chunks =
        parts[place] === update.artifact.parts[0] ? { like: update, parts, from: place, to: place + 1 } : undefined
      rows.push(chunks ?? body)
    }
  }
  return rows
}

export function unpackLog({ rows, firstSeq, timeMs }: PackedLog): readonly TaskEvent[] {
  return rows.flatMap(bodiesOf).map((body, place) => ({ seq: firstSeq + place, time: timeMs, body }))
}

function isChunk({ append, lastChunk, metadata, artifact }: TaskArtifactUpdateEvent): boolean {
  if (!append || lastChunk || metadata || artifact.parts.length !== 1) return false
  return !artifact.description && !artifact.metadata && !artifact.extensions
}

function isSame({ like, parts, to }: Chunks, { artifact }: TaskArtifactUpdateEvent): boolean {
  const { artifactId, name } = like.artifact
  return artifact.artifactId === artifactId && artifact.name === name && artifact.parts[0] === parts[to]
}

function bodiesOf(row: EventBody | Chunks): readonly EventBody[] {
  if (!('like' in row)) return [row]
  const { like, parts, from, to } = row
  return parts
    .slice(from, to)
    .map((part) => ({ artifactUpdate: { ...like, artifact: { ...like.artifact, parts: [part] } } }))
}
