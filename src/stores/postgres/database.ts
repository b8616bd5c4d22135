/** Connections to Postgres: a pool, retries while the database is unreachable, the schema, and the numbers of names. */
import { hash } from 'node:crypto'
import pg from 'pg'
import { toStorable } from '../rows.js'
import type { Scope } from '../store.js'
import { migrations } from './migrations.js'

export interface DatabaseOptions {
  /** Connections of this process, beside the one that listens. Default 10. */
  readonly connections?: number
  /** Time for which a call is retried while the database is unreachable. Default 5 s. */
  readonly retryBudgetMs?: number
  /** Time limit of a statement; then its connection counts as dead. Default 30 s. */
  readonly statementMs?: number
}

export type Row = readonly unknown[]

export class Database {
  readonly address: string
  readonly #pool: pg.Pool
  readonly #retryBudgetMs: number
  readonly #statementMs: number
  /** Names of prepared statements by text: the database plans each once per connection, not per call. */
  readonly #statementNames = new Map<string, string>()
  #isNaming = true

  constructor(address: string, options: DatabaseOptions) {
    const { connections = 10, retryBudgetMs = 5_000, statementMs = 30_000 } = options
    this.address = address
    this.#retryBudgetMs = retryBudgetMs
    this.#statementMs = statementMs
    this.#pool = new pg.Pool({
      ...clientConfig(address),
      max: connections,
      connectionTimeoutMillis: retryBudgetMs,
      idleTimeoutMillis: 30_000,
    })
    // Idle connections end when the database does; the next query opens another one.
    this.#pool.on('error', () => undefined)
  }

  /** Runs one statement, and retries it while the database is unreachable. For statements that may run twice. */
  async query<R extends Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return await this.patiently(() => this.queryOnce<R>(text, values))
  }

  async queryOnce<R extends Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    if (!this.#isNaming) return await this.#send<R>(text, values)
    try {
      return await this.#send<R>(text, values, this.#nameOf(text))
    } catch (error) {
      if (!isOfNames(error)) throw error
      // Nothing was done: a pooler may use a connection without this prepared statement.
      this.#isNaming = false
      return await this.#send<R>(text, values)
    }
  }

  async #send<R extends Row>(text: string, values: readonly unknown[], name?: string): Promise<R[]> {
    const statement = {
      text,
      values: values as unknown[],
      rowMode: 'array' as const,
      ...(name && { name }),
      // A dead peer sends nothing, and neither a call nor a drain may hang.
      query_timeout: this.#statementMs,
    }
    const { rows } = await this.#pool.query(statement)
    return rows as unknown as R[] // as arrays: `rowMode`
  }

  /** A hash of the text, so that a name means the same statement on every connection of a pooler. */
  #nameOf(text: string): string {
    const known = this.#statementNames.get(text)
    if (known !== undefined) return known
    const name = `dragoman_${hash('sha1', text).slice(0, 16)}`
    this.#statementNames.set(text, name)
    return name
  }

  /** Retries while the database restarts, fails over or has no connection left, within the retry budget. */
  async patiently<T>(work: (attempt: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#retryBudgetMs
    for (let attempt = 0; ; attempt++) {
      try {
        return await work(attempt)
      } catch (error) {
        if (!isPassing(error) || performance.now() > deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, Math.min(25 * 2 ** attempt, 500) * (0.5 + Math.random())))
      }
    }
  }

  /** Updates the schema. Several processes may try at once. */
  async migrate(): Promise<void> {
    await this.patiently(async () => {
      const client = await this.#pool.connect()
      try {
        await client.query('BEGIN')
        // Held until the transaction ends: one process migrates, the others find the schema done.
        await client.query('SELECT pg_advisory_xact_lock(7102026, 1)')
        await client.query('CREATE SCHEMA IF NOT EXISTS dragoman')
        await client.query('CREATE TABLE IF NOT EXISTS dragoman.migrations (step int PRIMARY KEY)')
        const { rows } = await client.query('SELECT coalesce(max(step), 0) AS done FROM dragoman.migrations')
        const { done } = rows[0] as { done: number }
        assertNotNewer(done)
        for (let step = done; step < migrations.length; step++) {
          await client.query(migrations[step] ?? '')
          await client.query('INSERT INTO dragoman.migrations VALUES ($1)', [step + 1])
        }
        await client.query('COMMIT')
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined)
        throw error
      } finally {
        client.release()
      }
    })
  }

  /** Throws unless the schema is of this version; changes nothing, because other processes may use an older one. */
  async assertMigrated(): Promise<void> {
    const [there] = await this.query<[boolean]>("SELECT to_regclass('dragoman.migrations') IS NOT NULL")
    if (!there?.[0]) throw new Error('There is no store in this database: it has no schema dragoman')
    const [row] = await this.query<[number]>('SELECT coalesce(max(step), 0) FROM dragoman.migrations')
    const done = row?.[0] ?? 0
    assertNotNewer(done)
    if (done < migrations.length)
      throw new Error(
        `The database was written by an older version of this software (schema ${done}): start a server of this version on it first`,
      )
  }

  /** Throws if a table cannot grow by 64 KB. */
  async probe(): Promise<void> {
    await this.queryOnce(probe).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === probeDone)) throw error
    })
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

/** Thrown after a successful probe, to roll it back. */
const probeDone = 'DGM02'
const probe = `DO $$ BEGIN
  INSERT INTO dragoman.records (collection, id, revision, body, until_ms, written_ms)
    SELECT '', 'probe', 0, string_agg(md5(random()::text), ''), 0, 0 FROM generate_series(1, 2048);
  RAISE EXCEPTION USING ERRCODE = '${probeDone}';
END $$`

function assertNotNewer(done: number): void {
  if (done > migrations.length)
    throw new Error(`The database was written by a newer version of this software (schema ${done})`)
}

/** The configuration of connections, for the pool and for the one that listens. */
export function clientConfig(address: string): pg.ClientConfig {
  return { connectionString: address, types: { getTypeParser }, keepAlive: true, application_name: 'dragoman' }
}

const int8 = 20

/** Sequences and times are far below 2⁵³. */
const getTypeParser = ((oid: number, format?: 'text' | 'binary') =>
  oid === int8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser

/** True if the prepared statement is unknown or taken, or its plan is for an older schema. */
function isOfNames(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(26000|42P05|0A000)$/.test(String(error.code))
}

/**
 * True for failures that pass: the database restarts, fails over (and is read-only meanwhile), has too many connections,
 * broke a deadlock, or gave a key to another writer (`DGM01`, our code). Classes of SQLSTATE and errors of sockets.
 */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  if (/^(08...|53...|57P0[1-5]|25006|40001|40P01|55P03|DGM01)$/.test(code)) return true
  if (/^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/.test(code)) return true
  return /^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
    error.message,
  )
}

const maxCacheSize = 10_000

export class Names {
  readonly #database: Database
  readonly #agents = new Map<string, number>()
  readonly #agentNames = new Map<number, string>()
  readonly #scopes = new Map<string, number>()

  constructor(database: Database) {
    this.#database = database
  }

  knownAgent(name: string): number | undefined {
    return this.#agents.get(name)
  }

  knownScope(scope: Scope): number | undefined {
    return this.#scopes.get(idOf(scope))
  }

  /** The name of an agent that this process has used. */
  agentName(number: number): string | undefined {
    return this.#agentNames.get(number)
  }

  async findAgent(name: string): Promise<number | undefined> {
    const known = this.#agents.get(name)
    if (known !== undefined) return known
    return this.#keepAgent(name, 'SELECT id FROM dragoman.agents WHERE name = $1')
  }

  async makeAgent(name: string): Promise<number> {
    const made = await this.#keepAgent(name, 'SELECT dragoman.agent_of($1)')
    if (made === undefined) throw new Error('The database made no agent')
    return made
  }

  async findScope(scope: Scope): Promise<number | undefined> {
    const known = this.knownScope(scope)
    if (known !== undefined) return known
    const agent = await this.findAgent(scope.agent)
    if (agent === undefined) return undefined
    return this.#keepScope(
      scope,
      'SELECT id FROM dragoman.scopes WHERE agent = $1 AND tenant = $2 AND owner = $3',
      agent,
    )
  }

  async makeScope(scope: Scope): Promise<number> {
    const agent = await this.makeAgent(scope.agent)
    const made = await this.#keepScope(scope, 'SELECT dragoman.scope_of($1, $2, $3)', agent)
    if (made === undefined) throw new Error('The database made no scope')
    return made
  }

  async #keepAgent(name: string, sql: string): Promise<number | undefined> {
    const [row] = await this.#database.query<[number]>(sql, [toStorable(name)])
    if (row) {
      this.#agents.set(name, row[0])
      this.#agentNames.set(row[0], name)
    }
    return row?.[0]
  }

  async #keepScope(scope: Scope, sql: string, agent: number): Promise<number | undefined> {
    const [row] = await this.#database.query<[number]>(sql, [agent, toStorable(scope.tenant), toStorable(scope.owner)])
    if (!row) return undefined
    if (this.#scopes.size >= maxCacheSize) this.#scopes.clear()
    this.#scopes.set(idOf(scope), row[0])
    return row[0]
  }
}

function idOf({ agent, tenant, owner }: Scope): string {
  return JSON.stringify([agent, tenant, owner])
}
