/** State that the parts of the SQLite store share: prepared statements, clocks, and the numbers of names. */

import type Database from 'libsql'
import { toStorable } from '../rows.js'
import type { Scope, TaskKey } from '../store.js'
import { batchKinds, kindsWithArtifacts, kindsWithOthers } from '../views.js'

export interface Session {
  readonly sql: Statements
  /** Milliseconds since 1970. */
  now(): number
  /** The time of leases and of webhook retries; see `LeaseClock`. */
  leaseNow(): number
  /** The time of `leaseNow` in `ms` milliseconds. */
  leaseAfter(ms: number): number
  /** The epoch of `leaseNow`. */
  readonly epoch: string
  /** Changes of `counts` in this transaction, written once at its end. */
  readonly counts: CountChanges
  readonly touched: Touched
  readonly names: Names
}

/** Watchers to notify after the commit. */
interface Touched {
  /** Tasks, with their last sequence. */
  readonly tasks: Map<string, number>
  /** Agents with runnable tasks without a lease. */
  readonly agents: Set<string>
  /** Agents with cursors that are due. */
  readonly cursors: Set<string>
}

/** The number of a task, the number of its scope, and its last sequence. */
export function findTask(
  { sql, names }: Session,
  key: TaskKey,
): { readonly id: number; readonly scope: number; readonly seq: number } | undefined {
  const agent = names.agent(key.agent)
  const row = agent === undefined ? undefined : (sql.taskRow.get(agent, toStorable(key.id)) as number[] | undefined)
  return row && { id: Number(row[0]), scope: Number(row[1]), seq: Number(row[3]) }
}

const maxCacheSize = 10_000

/** Numbers of agents and scopes. Only writes create numbers. */
export class Names {
  readonly #sql: Statements
  readonly #agents = new Map<string, number>()
  readonly #scopes = new Map<string, number>()

  constructor(sql: Statements) {
    this.#sql = sql
  }

  agent(name: string): number | undefined {
    const known = this.#agents.get(name)
    if (known !== undefined) return known
    const row = this.#sql.agentId.get(toStorable(name)) as [number] | undefined
    if (row) this.#agents.set(name, row[0])
    return row?.[0]
  }

  scope(scope: Scope): number | undefined {
    const id = `${scope.agent}\n${scope.tenant}\n${scope.owner}`
    const known = this.#scopes.get(id)
    if (known !== undefined) return known
    const agent = this.agent(scope.agent)
    if (agent === undefined) return undefined
    const row = this.#sql.scopeId.get(agent, toStorable(scope.tenant), toStorable(scope.owner)) as [number] | undefined
    if (row) {
      if (this.#scopes.size >= maxCacheSize) this.#scopes.clear()
      this.#scopes.set(id, row[0])
    }
    return row?.[0]
  }

  /** Agents that this process has used. */
  known(): Iterable<string> {
    return this.#agents.keys()
  }

  makeAgent(name: string): number {
    return this.agent(name) ?? Number(this.#sql.insertAgent.run(toStorable(name)).lastInsertRowid)
  }

  makeScope(scope: Scope): number {
    const known = this.scope(scope)
    if (known !== undefined) return known
    const agent = this.makeAgent(scope.agent)
    return Number(this.#sql.insertScope.run(agent, toStorable(scope.tenant), toStorable(scope.owner)).lastInsertRowid)
  }

  /** Drops all numbers: those of a transaction that was rolled back do not exist. */
  forget(): void {
    this.#agents.clear()
    this.#scopes.clear()
  }
}

interface Change {
  n: number
  bytes: number
}

export class CountChanges {
  readonly #changes = new Map<number, Map<number, Change>>()

  /** Adds `n` tasks and their size to a state; both may be negative. */
  add(scope: number, state: number, n: 1 | 0 | -1, bytes: number): void {
    const states = this.#changes.get(scope) ?? new Map<number, Change>()
    this.#changes.set(scope, states)
    const change = states.get(state) ?? { n: 0, bytes: 0 }
    states.set(state, change)
    change.n += n
    change.bytes += bytes
  }

  write(sql: Statements): void {
    for (const [scope, states] of this.#changes)
      for (const [state, { n, bytes }] of states) if (n || bytes) sql.addCount.run(scope, state, n, bytes)
    this.#changes.clear()
  }

  clear(): void {
    this.#changes.clear()
  }
}

const record = `t.id, a.name, t.task_id, s.tenant, s.owner, t.context, t.dialect, t.visibility, t.seq, t.fence,
  t.lease_owner, t.lease_end, t.state, t.status_last, t.bytes`
const recordFrom = 'tasks t JOIN agents a ON a.id = t.agent JOIN scopes s ON s.id = t.scope'
const deadLetter = `d.id, a.name, t.task_id, s.tenant, s.owner, d.config, d.seq, d.attempts, d.error, d.time_ms
  FROM dead_letters d JOIN tasks t ON t.id = d.task JOIN scopes s ON s.id = d.scope JOIN agents a ON a.id = t.agent`
const events = 'first, last, time_ms, body'

/** Merges one ordered range of the index per kind of batch, so that SQLite does not sort. */
function merged(columns: string, kinds: readonly number[], range: string, order: string): string {
  const ranges = kinds.map((kind) => `SELECT ${columns} FROM events WHERE task = ?1 AND head = ${kind} AND ${range}`)
  return `${ranges.join(' UNION ALL ')} ORDER BY last ${order}`
}
const historyKinds = [batchKinds.history, batchKinds.historyAndArtifacts]

/** A prepared statement. libsql takes values one by one, which it copies, or as one list. */
export interface Statement {
  run(...values: unknown[]): { readonly changes: number; readonly lastInsertRowid: number | bigint }
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
}

export function prepareStatements(db: Database.Database) {
  /** Prepares a query; rows are arrays. */
  const prepare = (sql: string): Statement => db.prepare(sql).raw()
  /** Prepares a command. */
  const command = (sql: string): Statement => db.prepare(sql)
  return {
    agentId: prepare('SELECT id FROM agents WHERE name = ?'),
    insertAgent: command('INSERT INTO agents (name) VALUES (?)'),
    scopeId: prepare('SELECT id FROM scopes WHERE agent = ? AND tenant = ? AND owner = ?'),
    insertScope: command('INSERT INTO scopes (agent, tenant, owner) VALUES (?, ?, ?)'),

    taskRow: prepare(`SELECT id, scope, visibility, seq, state, fence, lease_end, runnable, lanes, bytes,
        counted
      FROM tasks WHERE agent = ? AND task_id = ?`),
    insertTask: command(`INSERT INTO tasks
      (agent, scope, task_id, context, dialect, visibility, seq, state, status_ms, status_last, runnable, fence, lease_owner,
        lease_end, bytes, counted)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`),
    // For chunks of a running task: only the sequence and the size change.
    advanceTask: command('UPDATE tasks SET seq = ?, bytes = ?, counted = ? WHERE id = ?'),
    updateTask: command(`UPDATE tasks SET seq = ?, bytes = ?, counted = ?, visibility = ?, state = ?,
      status_ms = coalesce(?, status_ms), status_last = coalesce(?, status_last), runnable = ?, fence = ?,
      lease_owner = ?, lease_end = ? WHERE id = ?`),
    leaseOwner: prepare('SELECT lease_owner FROM tasks WHERE id = ?'),
    addCount: command(`INSERT INTO counts (scope, state, n, bytes) VALUES (?, ?, ?, ?)
      ON CONFLICT (scope, state) DO UPDATE SET n = n + excluded.n, bytes = bytes + excluded.bytes`),
    bytesOf: prepare(`SELECT coalesce(sum(c.bytes), 0) FROM scopes s JOIN counts c ON c.scope = s.id
      WHERE s.agent = ? AND s.owner = ?`),

    insertEvents: command('INSERT INTO events (task, head, first, last, time_ms, body) VALUES (?, ?, ?, ?, ?, ?)'),
    insertSnapshot: command('INSERT OR REPLACE INTO snapshots (task, head, artifacts, in_log) VALUES (?, ?, ?, ?)'),

    record: prepare(`SELECT ${record} FROM ${recordFrom} WHERE t.agent = ? AND t.task_id = ?`),
    recordById: prepare(`SELECT ${record} FROM ${recordFrom} WHERE t.id = ?`),
    snapshotHead: prepare('SELECT head, in_log FROM snapshots WHERE task = ?'),
    snapshotArtifacts: prepare('SELECT artifacts FROM snapshots WHERE task = ?'),
    allEvents: prepare(`SELECT ${events} FROM events WHERE task = ? ORDER BY last`),
    otherEvents: prepare(`SELECT ${events} FROM events WHERE task = ? AND head IN ${kindsWithOthers} ORDER BY last`),
    artifactEvents: prepare(`SELECT ${events} FROM events WHERE task = ? AND head IN ${kindsWithArtifacts}
      AND last <= ? ORDER BY last`),
    batchAt: prepare(`SELECT ${events} FROM events WHERE task = ? AND head IN ${kindsWithOthers} AND last = ?`),
    eventsAfter: prepare(`${merged(events, Object.values(batchKinds), 'last > ?2', '')} LIMIT ?3`),
    // SQLite reads the length from the head of the row, not from the body.
    historySizes: prepare(`${merged('last, octet_length(body)', historyKinds, 'last < ?2', 'DESC')} LIMIT ?3`),
    historyEvents: prepare(merged(events, historyKinds, 'last >= ?2 AND last < ?3', '')),

    pageByState: prepare(`SELECT id, status_ms FROM tasks
      WHERE scope = ? AND state = ? AND visibility = 1 AND status_ms >= ? AND (status_ms, id) < (?, ?)
      ORDER BY status_ms DESC, id DESC LIMIT ?`),
    pageByContext: prepare(`SELECT id, status_ms FROM tasks
      WHERE scope = ?1 AND context = ?2 AND visibility = 1 AND status_ms >= ?3 AND (status_ms, id) < (?4, ?5)
        AND (?6 IS NULL OR state = ?6)
      ORDER BY status_ms DESC, id DESC LIMIT ?7`),
    counts: prepare('SELECT state, n FROM counts WHERE scope = ?'),
    countByState: prepare(`SELECT count(*) FROM tasks
      WHERE scope = ? AND state = ? AND visibility = 1 AND status_ms >= ?`),
    countByContext: prepare(`SELECT count(*) FROM tasks
      WHERE scope = ?1 AND context = ?2 AND visibility = 1 AND status_ms >= ?3 AND (?4 IS NULL OR state = ?4)`),

    findKey: prepare(`SELECT t.task_id, k.digest, k.seq FROM keys k JOIN tasks t ON t.id = k.task AND t.scope = k.scope
      WHERE k.scope = ? AND k.key = ? AND k.until_ms > ?`),
    insertKey: command(
      'INSERT OR REPLACE INTO keys (scope, key, task, digest, seq, until_ms) VALUES (?, ?, ?, ?, ?, ?)',
    ),

    shortenLeases: command('UPDATE tasks SET lease_end = ?1 WHERE agent = ?2 AND runnable = 1 AND lease_end > ?1'),
    claimable: prepare(`SELECT id, task_id, fence FROM tasks
      WHERE agent = ? AND runnable = 1 AND lease_end <= ? ORDER BY id LIMIT ?`),
    takeLease: command('UPDATE tasks SET fence = ?, lease_owner = ?, lease_end = ? WHERE id = ?'),
    renewLease: command(`UPDATE tasks SET lease_end = ?
      WHERE agent = ? AND task_id = ? AND fence = ? AND lease_owner = ?`),
    leaseOwners: prepare(`SELECT DISTINCT lease_owner FROM tasks
      WHERE agent = ? AND runnable = 1 AND lease_end > ? AND lease_owner IS NOT NULL`),
    agentIds: prepare('SELECT id FROM agents'),
    disown: command('UPDATE tasks SET lease_end = 0 WHERE agent = ? AND runnable = 1 AND lease_owner = ?'),

    cursor: prepare('SELECT body, seq, fence FROM lanes WHERE task = ? AND config = ?'),
    insertCursor: command(`INSERT INTO lanes (task, config, agent, body, seq, attempts, fence)
      VALUES (?, ?, ?, ?, ?, 0, 0)`),
    replaceCursor: command(`UPDATE lanes SET body = ?, attempts = 0, fence = fence + 1, due = ?, lease_owner = NULL
      WHERE task = ? AND config = ?`),
    countCursors: command('UPDATE tasks SET lanes = (SELECT count(*) FROM lanes WHERE task = ?1) WHERE id = ?1'),
    listCursors: prepare('SELECT body FROM lanes WHERE task = ? AND config > ? ORDER BY config LIMIT ?'),
    deleteCursor: command('DELETE FROM lanes WHERE task = ? AND config = ?'),
    // Cursors that are due or held are skipped by the index, without a write.
    markCursors: command('UPDATE lanes SET due = ? WHERE task = ? AND due IS NULL'),
    dueCursors: prepare(`SELECT l.task, l.config, l.body, l.seq, l.attempts, l.fence, l.due, t.task_id
      FROM lanes l JOIN tasks t ON t.id = l.task WHERE l.agent = ? AND l.due <= ? ORDER BY l.due LIMIT ?`),
    firstDue: prepare('SELECT min(due) FROM lanes WHERE agent = ? AND due IS NOT NULL'),
    lastDue: prepare('SELECT max(due) FROM lanes WHERE agent = ? AND due IS NOT NULL'),
    shortenCursors: command('UPDATE lanes SET due = ?1 WHERE agent = ?2 AND due > ?1'),
    takeCursor: command('UPDATE lanes SET fence = ?, due = ?, lease_owner = ? WHERE task = ? AND config = ?'),
    holdCursor: command(`UPDATE lanes SET seq = ?, attempts = ?, due = ?
      WHERE task = ? AND config = ? AND fence = ?`),
    freeCursor: command(`UPDATE lanes SET seq = ?, attempts = ?, due = ?, lease_owner = NULL
      WHERE task = ? AND config = ? AND fence = ?`),
    cursorOwners: prepare('SELECT DISTINCT lease_owner FROM lanes WHERE lease_owner IS NOT NULL'),
    disownCursors: command(`UPDATE lanes SET due = ?, lease_owner = NULL, fence = fence + 1 WHERE lease_owner = ?`),

    insertDeadLetter: command(`INSERT INTO dead_letters (scope, task, config, seq, attempts, error, time_ms)
      VALUES (?, ?, ?, ?, ?, ?, ?)`),
    deadLetters: prepare(`SELECT ${deadLetter} WHERE d.id > ?1
        AND (?2 IS NULL OR a.name IN (SELECT value FROM json_each(?2)))
        AND (?3 IS NULL OR s.tenant = ?3) AND (?4 IS NULL OR s.owner = ?4) AND (?5 IS NULL OR t.task_id = ?5)
      ORDER BY d.id LIMIT ?6`),
    deadLetter: prepare(`SELECT ${deadLetter} WHERE d.id = ?`),
    deleteDeadLetter: command('DELETE FROM dead_letters WHERE id = ?'),
    deleteDeadLetters: command('DELETE FROM dead_letters WHERE task = ? AND config = ?'),

    expiredKeys:
      prepare(`SELECT k.scope, k.key, t.id, t.visibility, t.scope, t.counted FROM keys k LEFT JOIN tasks t ON t.id = k.task
      WHERE k.until_ms <= ? LIMIT ?`),
    deleteKey: command('DELETE FROM keys WHERE scope = ? AND key = ?'),
    endedTasks: prepare(`SELECT id, scope, state, status_ms, counted FROM tasks
      WHERE agent = ? AND visibility = 1 AND state IN (2, 3, 4, 6) AND status_ms >= ? AND status_ms < ?
      ORDER BY status_ms LIMIT ?`),
    endedCount: prepare(`SELECT coalesce(sum(c.n), 0) FROM counts c JOIN scopes s ON s.id = c.scope
      WHERE s.agent = ? AND c.state IN (2, 3, 4, 6)`),
    newestEvent: prepare('SELECT id, task FROM events ORDER BY id DESC LIMIT 1'),
    deleteTask: command('DELETE FROM tasks WHERE id = ?'),
    deleteEvents: command('DELETE FROM events WHERE task = ?'),
    trimEvents: command(`DELETE FROM events WHERE task = ?1
      AND EXISTS (SELECT 1 FROM snapshots WHERE task = ?1 AND in_log = 0)`),
    deleteSnapshot: command('DELETE FROM snapshots WHERE task = ?'),
    deleteKeysOf: command('DELETE FROM keys WHERE task = ?'),
    deleteCursorsOf: command('DELETE FROM lanes WHERE task = ?'),
    deleteDeadLettersOf: command('DELETE FROM dead_letters WHERE task = ?'),

    // Free tasks first, then those whose lease ends first.
    runnableLeases: prepare(`SELECT lease_end FROM tasks WHERE agent = ? AND runnable = 1
      ORDER BY lease_end LIMIT ?`),
    pendingCursors: prepare(`SELECT count(*), min(due) FROM
      (SELECT due FROM lanes WHERE agent = ? AND due IS NOT NULL ORDER BY due LIMIT ?)`),
    countDeadLetters: prepare(`SELECT s.agent, count(*) FROM (SELECT scope FROM dead_letters LIMIT ?) d
      JOIN scopes s ON s.id = d.scope GROUP BY s.agent`),

    changedTasks: prepare(`SELECT a.name, t.task_id, max(e.id), max(e.last) FROM events e
      JOIN tasks t ON t.id = e.task JOIN agents a ON a.id = t.agent WHERE e.id > ? GROUP BY e.task`),
    probe: command('INSERT INTO probe VALUES (zeroblob(65536))'),
    endProbe: command('DELETE FROM probe'),
    epoch: prepare('SELECT epoch FROM clock'),
    dataVersion: prepare('PRAGMA data_version'),
  }
}

export type Statements = ReturnType<typeof prepareStatements>
