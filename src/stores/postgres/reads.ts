/** Tasks and their events, read back. */
import type { Artifact } from '../../model/artifact.js'
import type { TaskEvent } from '../../model/event.js'
import type { Task } from '../../model/task.js'
import { type EventRow, type RecordRow, readBatch, readRecord } from '../rows.js'
import { fromStorable, toStorable } from '../storable-text.js'
import type { KeyedSend, LoadedTask, Scope, TaskKey, TaskRecord, ViewedTask, ViewOptions } from '../store.js'
import { batchKinds, inLog, kindsWithOthers } from '../views.js'
import type { Database } from './database.js'
import type { Names } from './names.js'
import { measure, readViews } from './views.js'

/** Batches fetched at once when a reader catches up. */
const batchesPerRead = 32
/** A page ends with the batch that passes this size. */
const bytesPerRead = 256 * 1024

/** Whether the lease lasts is the database's to say: it comes as 1 or 0. */
export const recordColumns = `t.id, a.name, t.task_id, s.tenant, s.owner, t.context, t.dialect, t.visibility, t.seq, t.fence,
  t.lease_owner, (t.lease_until > dragoman.now_ms())::int, t.state, t.status_last, t.bytes`
export const recordTables =
  'dragoman.tasks t JOIN dragoman.agents a ON a.id = t.agent JOIN dragoman.scopes s ON s.id = t.scope'

type LoadedRow = [...RecordRow, head: string | null, artifacts: string | null]

export const columnsOfRecord = 15

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
      // The length of a text is known without reading it, compressed or not.
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

  /** All events up to what the record knew. */
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

/** Ordered ranges of the index, one for each kind of batch, merged: no sort, however long the log is. */
const rangesAfter = Object.values(batchKinds)
  .map(
    (kind) =>
      `(SELECT * FROM dragoman.events WHERE task = t.id AND head = ${kind} AND last > $3 ORDER BY last LIMIT $4)`,
  )
  .join(' UNION ALL ')
