/**
 * Agents by name, wherever they are: looked up and connected to when they are first called, and again when the
 * connection has failed, because they may have moved. Connections are shared; of those that nobody uses just now only
 * the last ones are kept.
 */
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import { assertOptions } from '../model/option-names.js'
import type { AgentService } from '../model/service.js'
import { TransportError } from '../model/transport-error.js'
import type { AgentClient } from './agent-client.js'
import { connect } from './connect.js'
import { type ConnectOptions, connectOptionNames } from './connect-options.js'
import { assertResolvers } from './resolve-name.js'

/** A reference to an agent: its name, an object that has one, or a skill. */
export type AgentName = string | { readonly card: { readonly name: string } } | { readonly skill: string }

/** An address, a name that a registry knows, or a card. */
export type AgentAddress = string | object

/** Places that are remembered. Names and addresses may come from strangers: there is no end to them. */
const mostPlaces = 256

/** Which try this is: where an agent has several addresses, a further one goes to the next. Default 1. */
export interface AttemptHint {
  readonly attempt: number
}

/** Finds agents by name, for the option `resolve` of `serve` and `workflow`. */
export interface ConnectedAgents {
  /** Absent when nobody of that name can be known here. */
  (name: Exclude<AgentName, { readonly skill: string }>, hint?: AttemptHint): AgentService | undefined
  /** Who has a skill is known when they have been looked at. */
  (name: AgentName, hint?: AttemptHint): AgentService | undefined | Promise<AgentService | undefined>
  /** The agent at one place. */
  to(address: AgentAddress): AgentService
  /** Closes all connections, and aborts those that are being opened. Agents may be asked for again later. */
  close(): Promise<void>
}

/**
 * Finds agents in a table of addresses, and else asks `options.resolvers`, such as a registry's. Several addresses are
 * instances of one agent.
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
  const places = new Map<string, ConnectedOnUse>()
  const hasResolvers = (options.resolvers?.length ?? 0) > 0
  const settled: ConnectOptions = {
    // Callers have patience of their own: an agent that comes back is to be asked at once.
    breaker: { failures: 0 },
    ...options,
    ...(hasResolvers && { resolvers: [...(options.resolvers ?? []), nobody] }),
  }
  const placeAt = (address: AgentAddress): ConnectedOnUse => {
    // A card that is written inline is another object each time.
    const key = typeof address === 'string' ? address : JSON.stringify(address)
    const place =
      places.get(key) ??
      new ConnectedOnUse((opening) => connect(address, { ...settled, signal: eitherOf(opening, options.signal) }))
    // The one used last is the last.
    places.delete(key)
    places.set(key, place)
    if (places.size > mostPlaces) retireOne()
    return place
  }
  const retireOne = () => {
    for (const [key, place] of places) {
      if (place.isInUse) continue
      places.delete(key)
      void place.retire()
      return
    }
  }
  const instances = (name: string): readonly AgentAddress[] => {
    if (!Object.hasOwn(table, name)) return isPlace(name) || hasResolvers ? [name] : []
    const known = table[name] as AgentAddress | readonly AgentAddress[] // it is there
    return Array.isArray(known) ? (known as readonly AgentAddress[]) : [known as AgentAddress]
  }
  const called = (name: string, { attempt }: AttemptHint): AgentService | undefined => {
    const addresses = instances(name)
    const address = addresses[(attempt - 1) % addresses.length]
    return address === undefined ? undefined : placeAt(address).service
  }
  const withSkill = async (skill: string): Promise<string | undefined> => {
    for (const name of Object.keys(table)) {
      for (const address of instances(name)) {
        const card = await placeAt(address)
          .card()
          .catch(() => undefined) // who is not there now cannot be asked
        if (card?.skills.some(({ id }) => id === skill)) return name
      }
    }
    return undefined
  }
  const resolve = (ref: AgentName, hint: AttemptHint = { attempt: 1 }) => {
    if (typeof ref === 'string') return called(ref, hint)
    if ('card' in ref) return called(ref.card.name, hint)
    return withSkill(ref.skill).then((name) => (name === undefined ? undefined : called(name, hint)))
  }
  return Object.assign(resolve as ConnectedAgents, {
    to: (address: AgentAddress) => placeAt(address).service,
    async close() {
      const all = [...places.values()]
      places.clear()
      await Promise.all(all.map((each) => each.close()))
    },
  })
}

function eitherOf(one: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other ? AbortSignal.any([one, other]) : one
}

/** A bare word is a name; whatever has a scheme, a port, a path or a dot is a place. */
function isPlace(name: string): boolean {
  return /[.:/]/.test(name) || name === 'localhost'
}

/** A name that no resolver knows is not the name of a host. It may be known in a moment: agents come and go. */
async function nobody(name: string): Promise<undefined> {
  if (isPlace(name)) return undefined
  throw new TransportError('unreachable', `No agent called ${name} is known here`, { wasSent: false })
}

/** A connection, and who is using it: it is closed when it has failed and the last one has left. */
interface Line {
  readonly client: Promise<AgentClient>
  /** Aborts the search for the card, if that is not done. */
  readonly opening: AbortController
  users: number
}

class ConnectedOnUse {
  readonly service: AgentService
  readonly #open: (signal: AbortSignal) => Promise<AgentClient>
  #line: Line | undefined
  /** Nobody finds it any more; whoever still has it can use it, and it is closed after each use. */
  #isRetired = false

  constructor(open: (signal: AbortSignal) => Promise<AgentClient>) {
    this.#open = open
    const self = this
    this.service = fromGeneric({
      unary: (operation, request, context) =>
        this.#with((client) => toGeneric(client).unary(operation, request, context)),
      async *streaming(operation, request, context) {
        const line = self.#take()
        try {
          yield* toGeneric(await line.client).streaming(operation, request, context)
        } catch (error) {
          self.#doubt(line, error)
          throw error
        } finally {
          self.#leave(line)
        }
      },
    })
  }

  card(): Promise<AgentClient['card']> {
    return this.#with(async ({ card }) => card)
  }

  get isInUse(): boolean {
    return (this.#line?.users ?? 0) > 0
  }

  async retire(): Promise<void> {
    this.#isRetired = true
    await this.close()
  }

  async close(): Promise<void> {
    const line = this.#line
    this.#line = undefined
    line?.opening.abort()
    if (line && line.users === 0) await hangUp(line)
  }

  async #with<Result>(work: (client: AgentClient) => Promise<Result>): Promise<Result> {
    const line = this.#take()
    try {
      return await work(await line.client)
    } catch (error) {
      this.#doubt(line, error)
      throw error
    } finally {
      this.#leave(line)
    }
  }

  #take(): Line {
    const line = this.#line ?? this.#newLine()
    this.#line = line
    line.users += 1
    line.client.catch(() => this.#forget(line))
    return line
  }

  #newLine(): Line {
    const opening = new AbortController()
    return { client: this.#open(opening.signal), opening, users: 0 }
  }

  /** What an agent answers is no reason to look for it elsewhere; that it does not answer is. */
  #doubt(line: Line, error: unknown): void {
    const isSilent = error instanceof TransportError && error.failure !== 'aborted'
    const isClosing = error instanceof A2AError && error.code === 'UNAVAILABLE'
    if (isSilent || isClosing) this.#forget(line)
  }

  #forget(line: Line): void {
    if (this.#line === line) this.#line = undefined
  }

  #leave(line: Line): void {
    line.users -= 1
    if (line.users > 0) return
    if (this.#isRetired) this.#forget(line)
    if (this.#line !== line) void hangUp(line)
  }
}

async function hangUp({ client }: Line): Promise<void> {
  await client.then((opened) => opened.close()).catch(() => undefined) // what was never opened needs no closing
}
