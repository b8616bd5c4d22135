/** Push configs, their delivery cursors, and dead letters. */
import { configBody, type DeadLetterRow, fromStorable, readConfig, readDeadLetter, toStorable } from '../rows.js'
import {
  type ClaimedCursor,
  type ClaimRequest,
  type CursorClaim,
  type CursorSettlement,
  type DeadLetter,
  type DeadLetterQuery,
  type DeliveryStore,
  type NewPushConfig,
  type StoredPushConfig,
  serializeIdentity,
  type TaskKey,
} from '../store.js'
import type { ChangeListener } from './change-listener.js'
import type { Database, Names } from './database.js'

export class PostgresDeliveries implements DeliveryStore {
  readonly #database: Database
  readonly #names: Names
  readonly #changes: ChangeListener

  constructor(database: Database, names: Names, changes: ChangeListener) {
    this.#database = database
    this.#names = names
    this.#changes = changes
  }

  async putConfig(key: TaskKey, config: NewPushConfig): Promise<'ok' | 'full' | 'no-task'> {
    const agent = await this.#names.findAgent(key.agent)
    const [row] = await this.#database.query<['ok' | 'full']>(
      `WITH t AS (SELECT id, seq FROM dragoman.tasks WHERE agent = $1 AND task_id = $2 FOR NO KEY UPDATE)
        SELECT dragoman.put_lane(t.id, $1, $3, $4, $5, $6, t.seq, t.seq) FROM t`,
      [
        agent ?? 0,
        toStorable(key.id),
        toStorable(config.config.id),
        configBody(config),
        serializeIdentity(config),
        config.maxConfigs,
      ],
    )
    const outcome = row?.[0] ?? 'no-task'
    // A replaced config is due at once, in whichever process delivers it.
    if (outcome === 'ok' && agent !== undefined) this.#changes.notifyDeliveries(key.agent, agent)
    return outcome
  }

  async listConfigs(
    key: TaskKey,
    { limit, afterId = '' }: { readonly limit?: number; readonly afterId?: string } = {},
  ): Promise<readonly StoredPushConfig[]> {
    const rows = await this.#database.query<[string]>(
      `SELECT l.body FROM ${ofTask} AND l.config > $3 ORDER BY l.config LIMIT $4`,
      [...(await this.#task(key)), toStorable(afterId), limit ?? null],
    )
    return rows.map(readConfig)
  }

  async getConfig(key: TaskKey, id: string): Promise<StoredPushConfig | undefined> {
    const [row] = await this.#database.query<[string]>(`SELECT l.body FROM ${ofTask} AND l.config = $3`, [
      ...(await this.#task(key)),
      toStorable(id),
    ])
    return row && readConfig(row)
  }

  async deleteConfig(key: TaskKey, id: string): Promise<void> {
    await this.#database.query(
      `WITH t AS (SELECT id FROM dragoman.tasks WHERE agent = $1 AND task_id = $2 FOR NO KEY UPDATE),
        letters AS (DELETE FROM dragoman.dead_letters WHERE task IN (SELECT id FROM t) AND config = $3),
        gone AS (DELETE FROM dragoman.lanes WHERE task IN (SELECT id FROM t) AND config = $3 RETURNING task)
        UPDATE dragoman.tasks SET lanes = lanes - 1 WHERE id IN (SELECT task FROM gone)`,
      [...(await this.#task(key)), toStorable(id)],
    )
  }

  async claim({ agents, lease, limit }: ClaimRequest): Promise<CursorClaim> {
    // Most hints lead to nothing: looking first saves a write.
    const nextInMs = await this.#nextInMs(agents)
    if (nextInMs !== 0) return { cursors: [], ...(nextInMs !== undefined && { nextInMs }) }
    const rows = await this.#database.query<
      [agent: string, taskId: string, body: string, seq: number, attempts: number, fencingToken: number, dueMs: number]
    >(
      `WITH due AS (
          SELECT task, config, due_ms FROM dragoman.lanes
          WHERE agent = ANY(SELECT id FROM dragoman.agents WHERE name = ANY($1::text[]))
            AND due_ms <= (SELECT dragoman.now_ms())
          ORDER BY due_ms LIMIT $4 FOR UPDATE SKIP LOCKED)
        UPDATE dragoman.lanes l SET fence = l.fence + 1, due_ms = dragoman.now_ms() + $3, lease_owner = $2
        FROM due JOIN dragoman.tasks t ON t.id = due.task JOIN dragoman.agents a ON a.id = t.agent
        WHERE l.task = due.task AND l.config = due.config
        RETURNING a.name, t.task_id, l.body, l.seq, l.attempts, l.fence, due.due_ms`,
      [agents.map(toStorable), lease.owner, lease.ttlMs, limit],
    )
    rows.sort((a, b) => a[6] - b[6])
    const next = await this.#nextInMs(agents)
    const cursors = rows.map(
      ([agent, taskId, body, seq, attempts, fencingToken]): ClaimedCursor => ({
        key: { agent: fromStorable(agent), id: fromStorable(taskId) },
        push: readConfig([body]),
        seq,
        attempts,
        fencingToken,
      }),
    )
    return { cursors, ...(next !== undefined && { nextInMs: next }) }
  }

  async settle({ key, configId, fencingToken, seq, attempts, dead = [], next }: CursorSettlement): Promise<boolean> {
    const { holdMs = null, retryInMs = null } =
      next === 'release' ? {} : (next as { readonly holdMs?: number; readonly retryInMs?: number })
    const [row] = await this.#database.query<[boolean]>(
      'SELECT dragoman.settle_lane($1, $2, $3, $4, $5, $6, $7, $8, $9::bigint[], $10::int[], $11::text[])',
      [
        ...(await this.#task(key)),
        toStorable(configId),
        fencingToken,
        seq,
        attempts,
        holdMs,
        retryInMs,
        dead.map((each) => each.seq),
        dead.map((each) => each.attempts),
        dead.map((each) => toStorable(each.error)),
      ],
    )
    const isHeld = row?.[0] ?? false
    if (isHeld && next === 'release') this.#changes.wakeDeliveries(key.agent)
    return isHeld
  }

  async listDeadLetters({
    agents,
    tenant,
    owner,
    taskId,
    limit,
    afterId = '0',
  }: DeadLetterQuery): Promise<DeadLetter[]> {
    const given = (text: string | undefined) => (text === undefined ? null : toStorable(text))
    const rows = await this.#database.query<DeadLetterRow>(
      `SELECT ${deadLetter} WHERE d.id > $1 AND ($2::text[] IS NULL OR a.name = ANY($2)) AND ($3::text IS NULL OR s.tenant = $3)
          AND ($4::text IS NULL OR s.owner = $4) AND ($5::text IS NULL OR t.task_id = $5)
        ORDER BY d.id LIMIT $6`,
      [Number(afterId) || 0, agents?.map(toStorable) ?? null, given(tenant), given(owner), given(taskId), limit],
    )
    return rows.map(readDeadLetter)
  }

  async getDeadLetter(id: string): Promise<DeadLetter | undefined> {
    const [row] = await this.#database.query<DeadLetterRow>(`SELECT ${deadLetter} WHERE d.id = $1`, [Number(id) || 0])
    return row && readDeadLetter(row)
  }

  async deleteDeadLetter(id: string): Promise<void> {
    await this.#database.query('DELETE FROM dragoman.dead_letters WHERE id = $1', [Number(id) || 0])
  }

  async #nextInMs(agents: readonly string[]): Promise<number | undefined> {
    const [row] = await this.#database.query<[number | null]>(
      `SELECT greatest(0, min(first.due_ms) - dragoman.now_ms()) FROM dragoman.agents a CROSS JOIN LATERAL (
          SELECT min(due_ms) AS due_ms FROM dragoman.lanes WHERE agent = a.id AND due_ms IS NOT NULL) first
        WHERE a.name = ANY($1::text[]) HAVING min(first.due_ms) IS NOT NULL`,
      [agents.map(toStorable)],
    )
    return row?.[0] ?? undefined
  }

  async #task({ agent, id }: TaskKey): Promise<readonly [number, string]> {
    return [(await this.#names.findAgent(agent)) ?? 0, toStorable(id)]
  }
}

const ofTask = 'dragoman.lanes l JOIN dragoman.tasks t ON t.id = l.task WHERE t.agent = $1 AND t.task_id = $2'

const deadLetter = `d.id, a.name, t.task_id, s.tenant, s.owner, d.config, d.seq, d.attempts, d.error, d.time_ms
  FROM dragoman.dead_letters d JOIN dragoman.tasks t ON t.id = d.task JOIN dragoman.scopes s ON s.id = d.scope
  JOIN dragoman.agents a ON a.id = t.agent`
