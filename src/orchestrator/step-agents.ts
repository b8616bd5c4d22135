/** Finds the services of the agents that steps name. */
import { connectAgents } from '../client/connect-agents.js'
import { isAgent, type Turn } from '../engine/agent.js'
import type { AgentService } from '../model/service.js'
import type { StepAgent } from './flow.js'

/** The serializable name of an agent: its name or URL, or a skill. */
export type StepAgentName = string | { readonly skill: string }

/**
 * Finds the agent of a step; returns undefined if it is unknown. `attempt` is the number of the attempt: of an agent with
 * several instances, the same attempt must get the same instance, and another attempt may get another one.
 */
export interface AgentResolver {
  (
    name: StepAgentName,
    hint: { readonly attempt: number },
  ): AgentService | undefined | Promise<AgentService | undefined>
  /** Closes connections. Called when the workflow's server has drained; the resolver may be used again later. */
  close?(): Promise<void>
}

/** The agent is unknown; a retry does not help. */
export class UnknownAgentError extends Error {}

export class StepAgents {
  readonly #resolve: AgentResolver | undefined
  /** For cards; for names and URLs too, if no resolver was given. */
  readonly #connections = connectAgents()

  constructor(resolve: AgentResolver | undefined) {
    this.#resolve = resolve
  }

  /** Prefers agents that are served with the workflow. */
  async find(target: StepAgent, attempt: number, from: Pick<Turn, 'service'>): Promise<AgentService> {
    if (isService(target)) return target
    if (isAgent(target)) return from.service(target) ?? unknown(`${nameOf(target)} is not served with this workflow`)
    if (typeof target === 'object' && !('skill' in target)) return this.#connections.to(target)
    const local = typeof target === 'string' ? from.service(target) : undefined
    // A given resolver replaces the default.
    const resolve = this.#resolve ?? this.#connections
    const found = local ?? (await resolve(target, { attempt }))
    return found ?? unknown(`Agent not found: ${nameOf(target)}`)
  }

  async close(): Promise<void> {
    await this.#connections.close()
    await this.#resolve?.close?.()
  }
}

/** The serializable name; undefined for a card or a service. */
export function placeOf(target: StepAgent): StepAgentName | undefined {
  if (typeof target === 'string') return target
  if (isAgent(target)) return target.card.name
  return 'skill' in target ? { skill: target.skill } : undefined
}

/** The display name. */
export function nameOf(target: StepAgent): string {
  if (typeof target === 'string') return target
  if (isAgent(target)) return target.card.name
  if ('skill' in target) return `skill ${target.skill}`
  if ('name' in target) return target.name
  const { card } = target as { readonly card?: { readonly name?: unknown } } // clients have a card
  return typeof card?.name === 'string' ? card.name : 'agent'
}

function isService(target: StepAgent): target is AgentService {
  return typeof target === 'object' && 'sendMessage' in target
}

function unknown(message: string): never {
  throw new UnknownAgentError(message)
}
