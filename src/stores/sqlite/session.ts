/** What the parts of the SQLite store share: the statements, the clock, and numbers for names. */
import { toStorable } from '../storable-text.js'
import type { Scope, TaskKey } from '../store.js'
import type { Statements } from './statements.js'

export interface Session {
  readonly sql: Statements
  /** Milliseconds since 1970. */
  now(): number
  /** The time of leases and of webhook retries; see `lease-clock.ts`. */
  leaseNow(): number
  /** The same clock, some milliseconds from now. */
  leaseAfter(ms: number): number
  /** Of `leaseNow`. */
  readonly epoch: string
  /** Changes of `counts`, gathered over a transaction and written once at its end. */
  readonly counts: CountChanges
  readonly touched: Touched
  readonly names: Names
}

/** Whom to wake when the transaction is committed. */
export interface Touched {
  /** Tasks, with their last sequence. */
  readonly tasks: Map<string, number>
  /** Agents with work that nobody holds. */
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

const largestCache = 10_000

/** Agents and scopes by number. Reading never makes one; writing does. */
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
      if (this.#scopes.size >= largestCache) this.#scopes.clear()
      this.#scopes.set(id, row[0])
    }
    return row?.[0]
  }

  /** Agents that somebody here has asked for. */
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

  /** Numbers made in a transaction that was rolled back do not exist. */
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

  /** `n` tasks more or fewer in a state, with their size. */
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
