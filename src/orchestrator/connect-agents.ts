/** Finds agents by name at addresses that are known, or through registries; connections are kept and shared. */
import type { AgentClient } from '../client/agent-client.js'
import { connect } from '../client/connect.js'
import type { ConnectOptions } from '../client/connect-options.js'
import type { AgentService } from '../model/service.js'

/** What a resolver is asked for. */
export type AgentName = string | { readonly skill: string }

/**
 * Finds the agent of a step. `attempt` counts the attempts of the step: where an agent has several instances, a
 * further attempt may go to another one, and the same attempt has to go to the same.
 */
export interface AgentResolver {
  (name: AgentName, hint: { readonly attempt: number }): AgentService | undefined | Promise<AgentService | undefined>
  /** Called when the workflow's server has drained; agents may be asked for again later. */
  close?(): Promise<void>
}

/** A resolver that keeps its connections until it is closed. */
export interface ConnectedAgents extends AgentResolver {
  /** The agent at one place. */
  to(address: AgentAddress): Promise<AgentService>
  close(): Promise<void>
}

/** An address, a name that a registry knows, or a card. */
export type AgentAddress = string | object

/**
 * A resolver on `connect`: names are looked up in the table, and else taken for addresses or asked of
 * `options.resolvers`. Several addresses are instances of one agent.
 *
 * ```ts
 * const resolve = connectAgents({ OutlineAgent: 'http://localhost:8001', DocAgent: ['http://doc-1:8002', 'http://doc-2:8002'] })
 * ```
 */
export function connectAgents(
  table: Readonly<Record<string, AgentAddress | readonly AgentAddress[]>> = {},
  options: ConnectOptions = {},
): ConnectedAgents {
  const open = new Map<AgentAddress, Promise<AgentClient>>()
  const connected = (address: AgentAddress): Promise<AgentClient> => {
    const known = open.get(address)
    if (known) return known
    // Steps have patience of their own: an agent that comes back is to be asked at once.
    const made = connect(address, { breaker: { failures: 0 }, ...options })
    open.set(address, made)
    // What could not be reached is tried anew the next time.
    made.catch(() => open.get(address) === made && open.delete(address))
    return made
  }
  const instances = (name: string): readonly AgentAddress[] => {
    if (!Object.hasOwn(table, name)) return isAddress(name) || options.resolvers?.length ? [name] : []
    const known = table[name] as AgentAddress | readonly AgentAddress[] // it is there
    return Array.isArray(known) ? (known as readonly AgentAddress[]) : [known as AgentAddress]
  }
  const withSkill = async (skill: string): Promise<string | undefined> => {
    for (const name of Object.keys(table)) {
      for (const address of instances(name)) {
        const client = await connected(address).catch(() => undefined)
        if (client?.card.skills.some(({ id }) => id === skill)) return name
      }
    }
    return undefined
  }
  const resolve = async (ref: AgentName, { attempt }: { readonly attempt: number }) => {
    const name = typeof ref === 'string' ? ref : await withSkill(ref.skill)
    const places = name === undefined ? [] : instances(name)
    const place = places[(attempt - 1) % places.length]
    return place === undefined ? undefined : await connected(place)
  }
  return Object.assign(resolve, {
    to: connected,
    async close() {
      const all = [...open.values()]
      open.clear()
      await Promise.all(all.map((each) => each.then((client) => client.close()).catch(() => undefined))) // never opened
    },
  })
}

/** A bare word is a name; whatever has a scheme, a port, a path or a dot is a place. */
function isAddress(name: string): boolean {
  return /[.:/]/.test(name) || name === 'localhost'
}
