/** Tasks read back: whole, for writers, or as much as a reader wants to see. */
import { foldEvents } from '../../model/apply-event.js'
import type { Artifact } from '../../model/artifact.js'
import { type HistoryWindow, newestMessages } from '../../model/history-window.js'
import type { Message } from '../../model/message.js'
import { isTerminal, type Task, type TaskStatus, taskStates } from '../../model/task.js'
import { type EventRow, type RecordRow, readBatch, readRecord } from '../rows.js'
import type { LoadedTask, ViewedTask, ViewOptions } from '../store.js'
import { artifactsIn, HistoryTail, inLog, statusIn, tailLength, viewOf } from '../views.js'
import type { Session } from './session.js'

/** Sizes of batches that are fetched at once. */
const sizesPerRead = 1000

export function loadRow({ sql, leaseNow }: Session, row: RecordRow, includeArtifacts: boolean): LoadedTask {
  const record = readRecord(row, leaseNow())
  const [id] = row
  const [head, lacks] = (sql.snapshotHead.get(id) ?? []) as [string?, number?]
  if (head !== undefined && lacks === inLog.nothing) {
    const task = JSON.parse(head) as Task // written by `snapshotRow`
    const artifacts = includeArtifacts ? storedArtifacts(sql.snapshotArtifacts.get(id)) : undefined
    return { record, snapshot: artifacts ? { ...task, artifacts } : task, events: [] }
  }
  const batches = (includeArtifacts ? sql.allEvents : sql.otherEvents).all(id) as EventRow[]
  const events = batches.flatMap(readBatch)
  return { record, events: includeArtifacts ? events : events.filter(({ body }) => !('artifactUpdate' in body)) }
}

/**
 * Other processes may write between two statements: nothing behind the record's sequence is read, nor the snapshot of a
 * task that ended after its record was read.
 */
export function viewRow(session: Session, row: RecordRow, options: ViewOptions): ViewedTask | undefined {
  const { sql } = session
  const record = readRecord(row, session.leaseNow())
  const [id] = row
  const state = taskStates[row[12]]
  const snapshot = state === undefined || isTerminal(state) ? sql.snapshotHead.get(id) : undefined
  const [head, lacks = inLog.history + inLog.artifacts] = (snapshot ?? []) as [string?, number?]
  const kept = head === undefined ? undefined : (JSON.parse(head) as Task) // written by `snapshotRow`
  const status = kept?.status ?? newestStatus(session, row)
  if (!status) return undefined
  const history =
    lacks & inLog.history
      ? readTail(session, id, record.seq, options.history)
      : newestMessages(kept?.history ?? [], options.history)
  return viewOf(record, { ...kept, status }, history, options.includeArtifacts ? artifactsOf() : undefined)

  function artifactsOf(): readonly Artifact[] | undefined {
    if (!(lacks & inLog.artifacts)) return storedArtifacts(sql.snapshotArtifacts.get(id))
    return artifactsIn((sql.artifactEvents.all(id, record.seq) as EventRow[]).flatMap(readBatch))
  }
}

function storedArtifacts(found: unknown): readonly Artifact[] | undefined {
  const [artifacts] = (found ?? [null]) as [string | null]
  return artifacts === null ? undefined : (JSON.parse(artifacts) as Artifact[]) // written by `snapshotRow`
}

function newestStatus({ sql }: Session, row: RecordRow): TaskStatus | undefined {
  const [id] = row
  const statusLast = row[13]
  const batch = sql.batchAt.get(id, statusLast) as EventRow | undefined
  const status = batch && statusIn(readBatch(batch))
  if (status) return status
  // Written by an older version, which did not note where the status is.
  const batches = sql.otherEvents.all(id) as EventRow[]
  return foldEvents(
    batches.flatMap(readBatch).filter(({ body }) => !('artifactUpdate' in body)),
    { withoutArtifacts: true },
  ).status
}

function readTail({ sql }: Session, id: number, seq: number, window: HistoryWindow): readonly Message[] {
  const tail = new HistoryTail(window)
  let isMore = window.messages > 0
  for (let before = seq + 1; isMore; ) {
    const rows = sql.historySizes.all(id, before, Math.min(window.messages, sizesPerRead)) as [number, number][]
    const sizes = rows.map(([last, bytes]) => ({ last, bytes }))
    const from = sizes[tailLength(sizes, window) - 1]?.last
    if (from === undefined) break
    isMore = tail.addOlder((sql.historyEvents.all(id, from, before) as EventRow[]).flatMap(readBatch))
    before = from
  }
  return tail.messages
}
