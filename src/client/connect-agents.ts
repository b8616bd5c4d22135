/**
 * Agents by name. `connectAgents` connects to an agent with its first call, and again after the connection failed, because
 * the agent may have moved. Calls share connections; of the unused ones, only the latest are kept.
 */
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import { assertOptions } from '../model/option-names.js'
import type { AgentService } from '../model/service.js'
import { TransportError } from '../model/transport-error.js'
import type { AgentClient } from './agent-client.js'
import { connect } from './connect.js'
import { type CardDocument, type ConnectOptions, connectOptionNames } from './connect-options.js'
import { assertResolvers } from './resolve-name.js'

/** Names an agent: by name, by an object with a card (such as an agent), or by a skill that it has. */
export type AgentName = string | { readonly card: { readonly name: string } } | { readonly skill: string }

/** An address, a name that a resolver knows, or a card. */
export type AgentAddress = string | CardDocument

/** Maximum number of connections. Names and addresses may come from callers, so they are limited. */
const maxConnections = 256

/** The number of the attempt, from 1. If an agent has several addresses, each attempt uses the next one. */
export interface AttemptHint {
  readonly attempt: number
}

/** The result of `connectAgents`: a function from names to services, for the option `resolve` of `serve` and `workflow`. */
export interface ConnectedAgents {
  /** Returns the agent, or undefined if the name cannot be known. */
  (name: Exclude<AgentName, { readonly skill: string }>, hint?: AttemptHint): AgentService | undefined
  /** To find an agent by skill, the cards of the table are read first. */
  (name: AgentName, hint?: AttemptHint): AgentService | undefined | Promise<AgentService | undefined>
  /** Returns the agent at an address. */
  to(address: AgentAddress): AgentService
  /** Closes all connections and aborts those that are being opened. Agents can be called again later. */
  close(): Promise<void>
}

/**
 * Finds agents in a table of addresses, and otherwise with `options.resolvers`. Several addresses are instances of one agent.
 * A call to an unknown name throws `TransportError`.
 *
 * ```ts
 * const resolve = connectAgents({ DocAgent: ['http://doc-1:8002', 'http://doc-2:8002'] }, { resolvers: [registryResolver(url)] })
 * await serve(chat, { resolve }) // turn.call('DocAgent', …)
 * ```
 */
export function connectAgents(
  table: Readonly<Record<string, AgentAddress | readonly AgentAddress[]>> = {},
  options: ConnectOptions = {},
): ConnectedAgents {
  assertOptions('connectAgents', options, connectOptionNames)
  assertResolvers(options.resolvers)
  const connections = new Map<string, ConnectionOnUse>()
  const hasResolvers = (options.resolvers?.length ?? 0) > 0
  const connectOptions: ConnectOptions = {
    // Callers have a retry budget of their own, and an agent that is back must be called at once.
    breaker: { failures: 0 },
    ...options,
    ...(hasResolvers && { resolvers: [...(options.resolvers ?? []), rejectUnknownName] }),
  }
  const connectionTo = (address: AgentAddress): ConnectionOnUse => {
    // An inline card is a new object each time.
    const key = typeof address === 'string' ? address : JSON.stringify(address)
    const open = (signal: AbortSignal) =>
      connect(address, {
        ...connectOptions,
        signal: options.signal ? AbortSignal.any([signal, options.signal]) : signal,
      })
    const connection = connections.get(key) ?? new ConnectionOnUse(open)
    // Keep the map in order of use.
    connections.delete(key)
    connections.set(key, connection)
    if (connections.size > maxConnections) retireOldest()
    return connection
  }
  const retireOldest = () => {
    for (const [key, connection] of connections) {
      if (connection.isInUse) continue
      connections.delete(key)
      void connection.retire()
      return
    }
  }
  const addressesOf = (name: string): readonly AgentAddress[] => {
    if (!Object.hasOwn(table, name)) return isAddressLike(name) || hasResolvers ? [name] : []
    const known = table[name] as AgentAddress | readonly AgentAddress[] // it is in the table
    return Array.isArray(known) ? (known as readonly AgentAddress[]) : [known as AgentAddress]
  }
  const byName = (name: string, { attempt }: AttemptHint): AgentService | undefined => {
    const addresses = addressesOf(name)
    const address = addresses[(attempt - 1) % addresses.length]
    return address === undefined ? undefined : connectionTo(address).service
  }
  const nameWithSkill = async (skill: string): Promise<string | undefined> => {
    for (const name of Object.keys(table)) {
      for (const address of addressesOf(name)) {
        const card = await connectionTo(address)
          .card()
          .catch(() => undefined) // skip agents that cannot be reached
        if (card?.skills.some(({ id }) => id === skill)) return name
      }
    }
    return undefined
  }
  const resolve = (ref: AgentName, hint: AttemptHint = { attempt: 1 }) => {
    if (typeof ref === 'string') return byName(ref, hint)
    if ('card' in ref) return byName(ref.card.name, hint)
    return nameWithSkill(ref.skill).then((name) => (name === undefined ? undefined : byName(name, hint)))
  }
  return Object.assign(resolve as ConnectedAgents, {
    to: (address: AgentAddress) => connectionTo(address).service,
    async close() {
      const all = [...connections.values()]
      connections.clear()
      await Promise.all(all.map((each) => each.close()))
    },
  })
}

/** A word without dot, colon and slash is a name. */
function isAddressLike(name: string): boolean {
  return /[.:/]/.test(name) || name === 'localhost'
}

/** The last resolver: a name that no resolver knows is not used as a host. It may be known later, so a retry makes sense. */
async function rejectUnknownName(name: string): Promise<undefined> {
  if (isAddressLike(name)) return undefined
  throw new TransportError('unreachable', `Agent not found: ${name} is not known to the resolvers`, { wasSent: false })
}

interface SharedClient {
  readonly client: Promise<AgentClient>
  /** Aborts the search for the card. */
  readonly opening: AbortController
  users: number
}

/** Opens a client with the first call. A client that failed is closed when its last call ends. */
class ConnectionOnUse {
  readonly service: AgentService
  readonly #open: (signal: AbortSignal) => Promise<AgentClient>
  #shared: SharedClient | undefined
  /** No longer in the map. Calls of those who still have the service open a client each time. */
  #isRetired = false

  constructor(open: (signal: AbortSignal) => Promise<AgentClient>) {
    this.#open = open
    const self = this
    this.service = fromGeneric({
      unary: (...call) => this.#use((client) => toGeneric(client).unary(...call)),
      async *streaming(...call) {
        const shared = self.#acquire()
        try {
          yield* toGeneric(await shared.client).streaming(...call)
        } catch (error) {
          self.#discardIfBroken(shared, error)
          throw error
        } finally {
          self.#release(shared)
        }
      },
    })
  }

  card(): Promise<AgentClient['card']> {
    return this.#use(async ({ card }) => card)
  }

  get isInUse(): boolean {
    return (this.#shared?.users ?? 0) > 0
  }

  async retire(): Promise<void> {
    this.#isRetired = true
    await this.close()
  }

  async close(): Promise<void> {
    const shared = this.#shared
    this.#shared = undefined
    shared?.opening.abort()
    if (shared && shared.users === 0) await closeClient(shared)
  }

  async #use<Result>(work: (client: AgentClient) => Promise<Result>): Promise<Result> {
    const shared = this.#acquire()
    try {
      return await work(await shared.client)
    } catch (error) {
      this.#discardIfBroken(shared, error)
      throw error
    } finally {
      this.#release(shared)
    }
  }

  #acquire(): SharedClient {
    const shared = this.#shared ?? this.#start()
    this.#shared = shared
    shared.users += 1
    shared.client.catch(() => this.#discard(shared))
    return shared
  }

  #start(): SharedClient {
    const opening = new AbortController()
    return { client: this.#open(opening.signal), opening, users: 0 }
  }

  /** If the agent does not answer, or shuts down, it may have moved. Its other errors are answers. */
  #discardIfBroken(shared: SharedClient, error: unknown): void {
    const hasNoAnswer = error instanceof TransportError && error.failure !== 'aborted'
    const isUnavailable = error instanceof A2AError && error.code === 'UNAVAILABLE'
    if (hasNoAnswer || isUnavailable) this.#discard(shared)
  }

  #discard(shared: SharedClient): void {
    if (this.#shared === shared) this.#shared = undefined
  }

  #release(shared: SharedClient): void {
    shared.users -= 1
    if (shared.users > 0) return
    if (this.#isRetired) this.#discard(shared)
    if (this.#shared !== shared) void closeClient(shared)
  }
}

async function closeClient({ client }: SharedClient): Promise<void> {
  await client.then((opened) => opened.close()).catch(() => undefined) // it failed to open
}
