/** The messages of the registry's API, which `docs/registry.md` describes. */
import type { AgentCard } from '../model/agent-card.js'

export const defaultNamespace = 'public'

/** Namespace and name of an agent in a registry. */
export interface AgentKey {
  readonly namespace: string
  readonly name: string
}

/** The key of one instance of an agent in a registry. */
export interface InstanceKey extends AgentKey {
  readonly version: string
  /** Id of the instance within its version. Default: the address of its first interface. */
  readonly instance: string
}

/** The health of an instance, as the registry's probes found it. */
export type HealthState = 'unknown' | 'healthy' | 'unhealthy'

/** A message that the registry may send to the agent, to probe that a call succeeds. */
export interface ProbeMessage {
  readonly text: string
}

/** An instance of an agent in a registry. */
export interface RegisteredInstance {
  readonly instance: string
  readonly version: string
  readonly url: string
  readonly health: { readonly state: HealthState; readonly since?: string }
  /** The card as it was published. */
  readonly card: object
}

/** An agent in a registry, with its instances. */
export interface RegisteredAgent {
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly latest: string
  readonly owner: string
  readonly tags: readonly string[]
  /** The card of the first instance as version 1.0. Absent if no instance runs. */
  readonly card?: AgentCard
  readonly instances: readonly RegisteredInstance[]
  readonly score?: number
}

/** A page of agents in a registry. */
export interface RegisteredPage {
  readonly agents: readonly RegisteredAgent[]
  readonly total: number
  /** Pass it as `cursor` to get the next page. Absent on the last page. */
  readonly cursor?: string
}

/** The card and the place of an instance to publish. */
export interface PublishRequest {
  readonly card: object
  readonly instance?: string
  readonly tags?: readonly string[]
  /** Time to live. The instance is removed unless it is renewed in time. */
  readonly ttlSeconds?: number
  /** Makes this version the latest one. */
  readonly latest?: boolean
  readonly probe?: ProbeMessage
}

/** The filters and the page of a list of agents. */
export interface ListRequest {
  readonly namespace?: string
  readonly text?: string
  readonly skill?: string
  readonly tag?: string
  readonly includeUnhealthy?: boolean
  readonly limit?: number
  readonly cursor?: string
}

/** A change in a registry. */
export type RegistryEvent =
  /** The first event. No later change is missed. */
  | { readonly type: 'ready' }
  /** The requested revision is too old. All entries follow. */
  | { readonly type: 'reset' }
  | (AgentKey & { readonly type: 'agent'; readonly latest: string })
  | (AgentKey & { readonly type: 'removed' })
  | (InstanceKey & { readonly type: 'published'; readonly url: string; readonly tags: readonly string[] })
  | (InstanceKey & { readonly type: 'withdrawn' })
  | (InstanceKey & { readonly type: 'health'; readonly state: string })
