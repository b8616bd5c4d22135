/** From what a step names to the operations of an agent. */
import { connectAgents } from '../client/connect-agents.js'
import { isAgent, type Turn } from '../engine/agent.js'
import type { AgentService } from '../model/service.js'
import type { StepAgent } from './flow.js'

/** What can be written down of an agent, to be found again. */
export type StepAgentName = string | { readonly skill: string }

/**
 * Finds the agent of a step. `attempt` counts the attempts of the step: where an agent has several instances, a
 * further attempt may go to another one, and the same attempt has to go to the same.
 */
export interface AgentResolver {
  (
    name: StepAgentName,
    hint: { readonly attempt: number },
  ): AgentService | undefined | Promise<AgentService | undefined>
  /** Called when the workflow's server has drained; agents may be asked for again later. */
  close?(): Promise<void>
}

/** Nobody of that name: no matter of the network, and asking again does not help. */
export class UnknownAgentError extends Error {}

export class StepAgents {
  readonly #resolve: AgentResolver | undefined
  /** For cards, and for names and addresses where no resolver was given. */
  readonly #connections = connectAgents()

  constructor(resolve: AgentResolver | undefined) {
    this.#resolve = resolve
  }

  /** Those served beside the workflow come first. */
  async find(target: StepAgent, attempt: number, from: Pick<Turn, 'service'>): Promise<AgentService> {
    if (isService(target)) return target
    if (isAgent(target)) return from.service(target) ?? unknown(`${nameOf(target)} is not served beside this workflow`)
    if (typeof target === 'object' && !('skill' in target)) return this.#connections.to(target)
    const beside = typeof target === 'string' ? from.service(target) : undefined
    // Who is given to look agents up decides who there is.
    const resolve = this.#resolve ?? this.#connections
    const found = beside ?? (await resolve(target, { attempt }))
    return found ?? unknown(`No agent called ${nameOf(target)} is known here`)
  }

  async close(): Promise<void> {
    await this.#connections.close()
    await this.#resolve?.close?.()
  }
}

/** What can be written down of it; absent when only this process can reach it. */
export function placeOf(target: StepAgent): StepAgentName | undefined {
  if (typeof target === 'string') return target
  if (isAgent(target)) return target.card.name
  return 'skill' in target ? { skill: target.skill } : undefined
}

/** What people call it. */
export function nameOf(target: StepAgent): string {
  if (typeof target === 'string') return target
  if (isAgent(target)) return target.card.name
  if ('skill' in target) return `skill ${target.skill}`
  if ('name' in target) return target.name
  const { card } = target as { readonly card?: { readonly name?: unknown } } // a client has one
  return typeof card?.name === 'string' ? card.name : 'agent'
}

function isService(target: StepAgent): target is AgentService {
  return typeof target === 'object' && 'sendMessage' in target
}

function unknown(message: string): never {
  throw new UnknownAgentError(message)
}
