/** Agents and scopes by number. Numbers are for ever, so they are remembered; reading never makes one. */
import { toStorable } from '../storable-text.js'
import type { Scope } from '../store.js'
import type { Database } from './database.js'

const largestCache = 10_000

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

  /** The name of an agent that this process has met. */
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
    if (this.#scopes.size >= largestCache) this.#scopes.clear()
    this.#scopes.set(idOf(scope), row[0])
    return row[0]
  }
}

function idOf({ agent, tenant, owner }: Scope): string {
  return JSON.stringify([agent, tenant, owner])
}
