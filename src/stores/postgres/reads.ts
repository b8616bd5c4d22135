/** Reads tasks, events and views. */

import type { Artifact } from '../../model/artifact.js'
import type { TaskEvent } from '../../model/event.js'
import { type HistoryWindow, newestMessages } from '../../model/history-window.js'
import type { Message } from '../../model/message.js'
import type { Task } from '../../model/task.js'
import { foldEvents } from '../../model/task-fold.js'
import { type EventRow, fromStorable, type RecordRow, readBatch, readRecord, toStorable } from '../rows.js'
import type { KeyedSend, LoadedTask, Scope, TaskKey, TaskRecord, ViewedTask, ViewOptions } from '../store.js'
import {
  artifactsIn,
  type BatchSize,
  batchKinds,
  HistoryTail,
  headIn,
  inLog,
  kindsWithArtifacts,
  kindsWithHistory,
  kindsWithOthers,
  tailLength,
  viewOf,
} from '../views.js'
import type { Database, Names } from './database.js'

/** The maximum number of batches of one read. */
const batchesPerRead = 32
/** A page ends with the batch that passes this size. */
const bytesPerRead = 256 * 1024

/** The columns of a record. The database compares the lease with its clock: 1 if it is held, else 0. */
const recordColumns = `t.id, a.name, t.task_id, s.tenant, s.owner, t.context, t.dialect, t.visibility, t.seq, t.fence,
  t.lease_owner, (t.lease_until > dragoman.now_ms())::int, t.state, t.status_last, t.bytes`
const recordTables =
  'dragoman.tasks t JOIN dragoman.agents a ON a.id = t.agent JOIN dragoman.scopes s ON s.id = t.scope'

type LoadedRow = [...RecordRow, head: string | null, artifacts: string | null]

const columnsOfRecord = 15

export class Reads {
  readonly #database: Database
  readonly #names: Names

  constructor(database: Database, names: Names) {
    this.#database = database
    this.#names = names
  }

  async find(key: TaskKey): Promise<TaskRecord | undefined> {
    const agent = await this.#names.findAgent(key.agent)
    if (agent === undefined) return undefined
    const [row] = await this.#database.query<RecordRow>(
      `SELECT ${recordColumns} FROM ${recordTables} WHERE t.agent = $1 AND t.task_id = $2`,
      [agent, toStorable(key.id)],
    )
    return row && readRecord(row, 0)
  }

  async view(key: TaskKey, options: ViewOptions): Promise<ViewedTask | undefined> {
    const agent = await this.#names.findAgent(key.agent)
    if (agent === undefined) return undefined
    const measured = await measure(this.#database, byKey, [agent, toStorable(key.id)], options)
    const [viewed] = await readViews(this.#database, measured, options)
    return viewed
  }

  async load(key: TaskKey, includeArtifacts: boolean): Promise<LoadedTask | undefined> {
    const agent = await this.#names.findAgent(key.agent)
    if (agent === undefined) return undefined
    const [row] = await this.#database.query<LoadedRow>(
      `SELECT ${recordColumns}, p.head, ${includeArtifacts ? 'p.artifacts' : 'NULL'}
        FROM ${recordTables} LEFT JOIN dragoman.snapshots p ON p.task = t.id AND p.in_log = ${inLog.nothing}
        WHERE t.agent = $1 AND t.task_id = $2`,
      [agent, toStorable(key.id)],
    )
    if (!row) return undefined
    const record = readRecord(row.slice(0, columnsOfRecord) as unknown as RecordRow, 0) // its first columns
    const [head, artifacts] = row.slice(columnsOfRecord) as [string | null, string | null]
    if (head !== null) {
      const task = JSON.parse(head) as Task // written by `snapshotRow`
      const snapshot = artifacts === null ? task : { ...task, artifacts: JSON.parse(artifacts) as Artifact[] }
      return { record, snapshot, events: [] }
    }
    return { record, events: await this.#events(row[0], record.seq, includeArtifacts) }
  }

  async read(key: TaskKey, afterSeq: number, limit: number): Promise<readonly TaskEvent[] | undefined> {
    const agent = await this.#names.findAgent(key.agent)
    if (agent === undefined) return undefined
    const rows = await this.#database.query<[seq: number, ...batch: EventRow | [null, null, null, null]]>(
      // Postgres knows the length of a text without reading it, compressed or not.
      `SELECT t.seq, e.first, e.last, e.time_ms, e.body FROM dragoman.tasks t LEFT JOIN LATERAL (
          SELECT r.*, sum(octet_length(r.body)) OVER (ORDER BY r.last) - octet_length(r.body) AS before FROM (
            ${rangesAfter} ORDER BY last LIMIT $4) r) e ON e.before < $5
        WHERE t.agent = $1 AND t.task_id = $2 ORDER BY e.last`,
      [agent, toStorable(key.id), afterSeq, Math.min(limit, batchesPerRead), bytesPerRead],
    )
    const [first] = rows
    if (!first) return undefined
    if (first[1] === null) return first[0] > afterSeq ? undefined : []
    const events: TaskEvent[] = []
    for (const [, ...batch] of rows as [number, ...EventRow][]) {
      for (const event of readBatch(batch)) if (event.seq > afterSeq) events.push(event)
      if (events.length >= limit) break
    }
    return events
  }

  async bytesOf(agent: string, owner: string): Promise<number> {
    const number = await this.#names.findAgent(agent)
    if (number === undefined) return 0
    const [row] = await this.#database.query<[number]>(
      `SELECT coalesce(sum(c.bytes), 0)::bigint FROM dragoman.scopes s JOIN dragoman.counts c ON c.scope = s.id
        WHERE s.agent = $1 AND s.owner = $2`,
      [number, toStorable(owner)],
    )
    return row?.[0] ?? 0
  }

  async findKey(scope: Scope, key: string): Promise<KeyedSend | undefined> {
    const number = await this.#names.findScope(scope)
    if (number === undefined) return undefined
    const [row] = await this.#database.query<[string, string, number]>(
      `SELECT t.task_id, k.digest, k.seq FROM dragoman.keys k
        JOIN dragoman.tasks t ON t.id = k.task AND t.scope = k.scope
        WHERE k.scope = $1 AND k.key = $2 AND k.until_ms > dragoman.now_ms()`,
      [number, toStorable(key)],
    )
    return row && { taskId: fromStorable(row[0]), digest: row[1], seq: row[2] }
  }

  /** All events up to the sequence of the record. */
  async #events(id: number, seq: number, includeArtifacts: boolean): Promise<readonly TaskEvent[]> {
    const batches = await this.#database.query<EventRow>(
      `SELECT first, last, time_ms, body FROM dragoman.events
        WHERE task = $1 AND last <= $2 ${includeArtifacts ? '' : `AND head IN ${kindsWithOthers}`} ORDER BY last`,
      [id, seq],
    )
    const events = batches.flatMap(readBatch)
    return includeArtifacts ? events : events.filter(({ body }) => !('artifactUpdate' in body))
  }
}

const byKey = '(SELECT id, 1 AS place FROM dragoman.tasks WHERE agent = $3 AND task_id = $4) w'

/** Merges one ordered range of the index per kind of batch, so that the database does not sort. */
const rangesAfter = Object.values(batchKinds)
  .map(
    (kind) =>
      `(SELECT * FROM dragoman.events WHERE task = t.id AND head = ${kind} AND last > $3 ORDER BY last LIMIT $4)`,
  )
  .join(' UNION ALL ')

/** The number of batch sizes per read. */
const sizesPerRead = 1000

/** The sizes of the parts of a view, read before the parts. */
export interface Measured {
  readonly row: RecordRow
  /** Parts that only the log has. Absent if the task has no snapshot. */
  readonly lacks: number | undefined
  /** The newest batches with history that the window needs; none if the snapshot has the history. */
  readonly tail: readonly BatchSize[]
  /** The size of everything to read. */
  readonly bytes: number
}

type MeasuredRow = [
  ...RecordRow,
  lacks: number | null,
  headBytes: number,
  artifactBytes: number,
  lasts: (string | number)[] | null,
  sizes: (string | number)[] | null,
]

/** `rows`: SQL for the ids of tasks, `w (id, place)`, with values from $3 on. In the order of their places. */
export async function measure(
  database: Database,
  rows: string,
  values: readonly unknown[],
  { history, includeArtifacts }: ViewOptions,
): Promise<readonly Measured[]> {
  const found = await database.query<MeasuredRow>(
    `SELECT ${recordColumns}, p.in_log, coalesce(octet_length(p.head), 0),
        CASE WHEN NOT $1 THEN 0 WHEN p.in_log & ${inLog.artifacts} = 0 THEN coalesce(octet_length(p.artifacts), 0)
          ELSE (SELECT coalesce(sum(octet_length(body)), 0) FROM dragoman.events
            WHERE task = t.id AND head IN ${kindsWithArtifacts}) END::bigint,
        h.lasts, h.sizes
      FROM ${rows} JOIN ${recordTables} ON t.id = w.id LEFT JOIN dragoman.snapshots p ON p.task = t.id
      LEFT JOIN LATERAL (
        SELECT array_agg(b.last) AS lasts, array_agg(b.bytes) AS sizes FROM (
          SELECT last, octet_length(body) AS bytes FROM dragoman.events
          WHERE task = t.id AND head IN ${kindsWithHistory} AND coalesce(p.in_log & ${inLog.history}, 1) > 0
          ORDER BY last DESC LIMIT $2) b) h ON true
      ORDER BY w.place`,
    [includeArtifacts, Math.min(history.messages, sizesPerRead), ...values],
  )
  return found.map((row) => {
    const [lacks, headBytes, artifactBytes, lasts, sizes] = row.slice(columnsOfRecord) as [
      number | null,
      number,
      number,
      (string | number)[] | null,
      (string | number)[] | null,
    ]
    // Arrays of bigint come as text.
    const batches = (lasts ?? []).map((last, place) => ({ last: Number(last), bytes: Number(sizes?.[place] ?? 0) }))
    const tail = batches.slice(0, tailLength(batches, history))
    const tailBytes = tail.reduce((sum, { bytes }) => sum + bytes, 0)
    return {
      row: row.slice(0, columnsOfRecord) as unknown as RecordRow, // its first columns
      lacks: lacks ?? undefined,
      tail,
      bytes: headBytes + artifactBytes + tailBytes,
    }
  })
}

type Part = 'status' | 'history' | 'artifacts'
type PartRow = [task: number, part: Part, ...batch: EventRow]
type SnapshotColumns = [task: number, head: string, artifacts: string | null]

/** In the order of the measured tasks, without those that have no status yet. */
export async function readViews(
  database: Database,
  measured: readonly Measured[],
  options: ViewOptions,
): Promise<readonly ViewedTask[]> {
  if (measured.length === 0) return []
  const ids = measured.map(({ row }) => row[0])
  const [snapshots, parts] = await Promise.all([
    readSnapshots(database, measured, options),
    readParts(database, measured, options),
  ])
  const views = await Promise.all(
    measured.map(async ({ row, lacks, tail }, place) => {
      const id = ids[place] as number // one for each that was measured
      const record = readRecord(row, 0)
      const [, head, artifacts] = snapshots.get(id) ?? []
      const kept = head === undefined ? undefined : (JSON.parse(head) as Task) // written by `snapshotRow`
      const events = (part: Part) => parts.get(id)?.get(part) ?? []
      const shown = kept ?? headIn(events('status')) ?? (await foldedTask(database, id, record.seq))
      if (!shown) return []
      const isInLog = (part: number) => lacks === undefined || (lacks & part) > 0
      const messages = isInLog(inLog.history)
        ? await readTail(database, { id, tail, newest: events('history') }, options.history)
        : newestMessages(kept?.history ?? [], options.history)
      const own = isInLog(inLog.artifacts) ? artifactsIn(events('artifacts')) : parseArtifacts(artifacts)
      return [viewOf(record, shown, messages, options.includeArtifacts ? own : undefined)]
    }),
  )
  return views.flat()
}

function parseArtifacts(artifacts: string | null | undefined): readonly Artifact[] | undefined {
  return artifacts ? (JSON.parse(artifacts) as Artifact[]) : undefined // written by `snapshotRow`
}

async function readSnapshots(
  database: Database,
  measured: readonly Measured[],
  { includeArtifacts }: ViewOptions,
): Promise<ReadonlyMap<number, SnapshotColumns>> {
  const ids = measured.filter(({ lacks }) => lacks !== undefined).map(({ row }) => row[0])
  if (ids.length === 0) return new Map()
  const rows = await database.query<SnapshotColumns>(
    `SELECT task, head, ${includeArtifacts ? 'artifacts' : 'NULL'} FROM dragoman.snapshots
      WHERE task = ANY($1::bigint[])`,
    [ids],
  )
  return new Map(rows.map((row) => [row[0], row]))
}

/** Batches of the log up to the sequence of the record, each range by its index. */
async function readParts(
  database: Database,
  measured: readonly Measured[],
  { includeArtifacts }: ViewOptions,
): Promise<ReadonlyMap<number, ReadonlyMap<Part, TaskEvent[]>>> {
  const found = new Map<number, Map<Part, TaskEvent[]>>()
  const open = measured.filter(({ lacks }) => lacks !== inLog.nothing)
  if (open.length === 0) return found
  const events = 'e.first, e.last, e.time_ms, e.body'
  const rows = await database.query<PartRow>(
    `WITH w AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[])
        AS w (id, seq, status_last, tail_from, has_artifacts))
      SELECT w.id, 'status', ${events} FROM w JOIN dragoman.events e
        ON e.task = w.id AND e.head IN ${kindsWithOthers} AND e.last = w.status_last
      UNION ALL SELECT w.id, 'history', ${events} FROM w JOIN dragoman.events e
        ON e.task = w.id AND e.head IN ${kindsWithHistory} AND e.last >= w.tail_from AND e.last <= w.seq
      UNION ALL SELECT w.id, 'artifacts', ${events} FROM w JOIN dragoman.events e
        ON e.task = w.id AND e.head IN ${kindsWithArtifacts} AND e.last <= w.seq AND w.has_artifacts
      ORDER BY 1, 2, 4`,
    [
      open.map(({ row }) => row[0]),
      open.map(({ row }) => row[8]),
      open.map(({ row, lacks }) => (lacks === undefined ? row[13] : -1)),
      open.map(({ tail }) => tail.at(-1)?.last ?? Number.MAX_SAFE_INTEGER),
      open.map(({ lacks }) => includeArtifacts && (lacks === undefined || (lacks & inLog.artifacts) > 0)),
    ],
  )
  for (const [task, part, ...batch] of rows) {
    const parts = found.get(task) ?? new Map<Part, TaskEvent[]>()
    found.set(task, parts)
    const known = parts.get(part) ?? []
    for (const event of readBatch(batch)) known.push(event)
    parts.set(part, known)
  }
  return found
}

interface Tail {
  readonly id: number
  readonly tail: readonly BatchSize[]
  /** The events of these batches. */
  readonly newest: readonly TaskEvent[]
}

/** The measured batches are usually enough. */
async function readTail(
  database: Database,
  { id, tail, newest }: Tail,
  window: HistoryWindow,
): Promise<readonly Message[]> {
  const found = new HistoryTail(window)
  let isMore = window.messages > 0 && found.addOlder(newest)
  for (let before = tail.at(-1)?.last; isMore && before !== undefined; ) {
    const rows = await database.query<[number, number]>(
      `SELECT last, octet_length(body) FROM dragoman.events WHERE task = $1 AND head IN ${kindsWithHistory}
        AND last < $2 ORDER BY last DESC LIMIT $3`,
      [id, before, Math.min(window.messages, sizesPerRead)],
    )
    const sizes = rows.map(([last, bytes]) => ({ last, bytes }))
    const from = sizes[tailLength(sizes, window) - 1]?.last
    if (from === undefined) break
    const batches = await database.query<EventRow>(
      `SELECT first, last, time_ms, body FROM dragoman.events WHERE task = $1 AND head IN ${kindsWithHistory}
        AND last >= $2 AND last < $3 ORDER BY last`,
      [id, from, before],
    )
    isMore = found.addOlder(batches.flatMap(readBatch))
    before = from
  }
  return found.messages
}

/** For rows of older versions, which do not say which batch has the status. */
async function foldedTask(database: Database, id: number, seq: number): Promise<Task | undefined> {
  const batches = await database.query<EventRow>(
    `SELECT first, last, time_ms, body FROM dragoman.events WHERE task = $1 AND head IN ${kindsWithOthers}
      AND last <= $2 ORDER BY last`,
    [id, seq],
  )
  const events = batches.flatMap(readBatch).filter(({ body }) => !('artifactUpdate' in body))
  return foldEvents(events, { withoutArtifacts: true }).snapshot()
}
