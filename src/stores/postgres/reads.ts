/** Tasks and their events, read back. */
import type { TaskEvent } from '../../model/event.js'
import { type EventRow, type RecordRow, readBatch, readRecord, readSnapshot } from '../rows.js'
import { fromStorable, toStorable } from '../storable-text.js'
import type { KeyedSend, LoadedTask, Scope, TaskKey } from '../store.js'
import type { Database } from './database.js'
import type { Names } from './names.js'

/** Batches fetched at once when a reader catches up. */
const batchesPerRead = 32

/** Whether the lease lasts is the database's to say: it comes as 1 or 0. */
const recordColumns = `t.id, a.name, t.task_id, s.tenant, s.owner, t.context, t.dialect, t.visibility, t.seq, t.fence,
  t.lease_owner, (t.lease_until > dragoman.now_ms())::int`
const recordTables =
  'dragoman.tasks t JOIN dragoman.agents a ON a.id = t.agent JOIN dragoman.scopes s ON s.id = t.scope'

type LoadedRow = [...RecordRow, head: string | null, artifacts: string | null]
type TaskEventRow = [...EventRow, task: number]

export class Reads {
  readonly #database: Database
  readonly #names: Names

  constructor(database: Database, names: Names) {
    this.#database = database
    this.#names = names
  }

  async load(key: TaskKey, includeArtifacts: boolean): Promise<LoadedTask | undefined> {
    const agent = await this.#names.findAgent(key.agent)
    if (agent === undefined) return undefined
    const rows = await this.#database.query<LoadedRow>(
      `SELECT ${recordColumns}, p.head, ${includeArtifacts ? 'p.artifacts' : 'NULL'}
        FROM ${recordTables} LEFT JOIN dragoman.snapshots p ON p.task = t.id
        WHERE t.agent = $1 AND t.task_id = $2`,
      [agent, toStorable(key.id)],
    )
    const [loaded] = await this.#withEvents(rows, includeArtifacts)
    return loaded
  }

  /** In the order of the given rows. */
  async loadRows(ids: readonly number[], includeArtifacts: boolean): Promise<readonly LoadedTask[]> {
    if (ids.length === 0) return []
    const rows = await this.#database.query<LoadedRow>(
      `SELECT ${recordColumns}, p.head, ${includeArtifacts ? 'p.artifacts' : 'NULL'}
        FROM unnest($1::bigint[]) WITH ORDINALITY AS w (id, place)
        JOIN ${recordTables} ON t.id = w.id LEFT JOIN dragoman.snapshots p ON p.task = t.id
        ORDER BY w.place`,
      [ids],
    )
    return await this.#withEvents(rows, includeArtifacts)
  }

  async read(key: TaskKey, afterSeq: number, limit: number): Promise<readonly TaskEvent[] | undefined> {
    const agent = await this.#names.findAgent(key.agent)
    if (agent === undefined) return undefined
    const rows = await this.#database.query<[seq: number, ...batch: EventRow | [null, null, null, null]]>(
      // Two ordered ranges of the index, merged: no sort, however long the log is.
      `SELECT t.seq, e.first, e.last, e.time_ms, e.body FROM dragoman.tasks t LEFT JOIN LATERAL (
          (SELECT * FROM dragoman.events WHERE task = t.id AND NOT head AND last > $3 ORDER BY last LIMIT $4)
          UNION ALL
          (SELECT * FROM dragoman.events WHERE task = t.id AND head AND last > $3 ORDER BY last LIMIT $4)
          ORDER BY last LIMIT $4) e ON true
        WHERE t.agent = $1 AND t.task_id = $2 ORDER BY e.last`,
      [agent, toStorable(key.id), afterSeq, Math.min(limit, batchesPerRead)],
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

  /** Tasks that have not ended have no snapshot: their events, up to what the record knew. */
  async #withEvents(rows: readonly LoadedRow[], includeArtifacts: boolean): Promise<readonly LoadedTask[]> {
    const open = rows.filter((row) => row[12] === null).map(([id]) => id)
    const events = new Map<number, TaskEvent[]>()
    if (open.length > 0) {
      const batches = await this.#database.query<TaskEventRow>(
        `SELECT first, last, time_ms, body, task FROM dragoman.events
          WHERE task = ANY($1::bigint[]) ${includeArtifacts ? '' : 'AND head'} ORDER BY task, last`,
        [open],
      )
      for (const [first, last, timeMs, body, task] of batches) {
        const known = events.get(task) ?? []
        known.push(...readBatch([first, last, timeMs, body]))
        events.set(task, known)
      }
    }
    return rows.map((row) => {
      const [head, artifacts] = [row[12], row[13]]
      const record = readRecord(row.slice(0, 12) as unknown as RecordRow, 0) // its first twelve columns
      if (head !== null) return { record, snapshot: readSnapshot(head, artifacts), events: [] }
      const own = (events.get(row[0]) ?? []).filter(({ seq }) => seq <= record.seq)
      return { record, events: includeArtifacts ? own : own.filter(({ body }) => !('artifactUpdate' in body)) }
    })
  }
}
