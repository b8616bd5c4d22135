/** What goes over the wire between a registry and those who use it; `docs/registry.md` describes it. */
import type { AgentCard } from '../model/agent-card.js'

export const usualNamespace = 'public'

/** Namespace and name of an agent in a registry. */
export interface AgentKey {
  readonly namespace: string
  readonly name: string
}

/** The key of one instance of an agent in a registry. */
export interface InstanceKey extends AgentKey {
  readonly version: string
  /** Tells the instances of one version apart; the address of the first interface unless the publisher chose one. */
  readonly instance: string
}

/** The health of an instance, as the registry's probes found it. */
export type HealthState = 'unknown' | 'healthy' | 'unhealthy'

/** A message that the publisher allows the registry to send, to see that a real call succeeds. */
export interface ProbeMessage {
  readonly text: string
}

/** An instance of an agent in a registry. */
export interface RegisteredInstance {
  readonly instance: string
  readonly version: string
  readonly url: string
  readonly health: { readonly state: HealthState; readonly since?: string }
  /** As it was published. */
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
  /** In the words of v1.0; absent when nothing runs. */
  readonly card?: AgentCard
  readonly instances: readonly RegisteredInstance[]
  readonly score?: number
}

/** A page of agents in a registry. */
export interface RegisteredPage {
  readonly agents: readonly RegisteredAgent[]
  readonly total: number
  readonly cursor?: string
}

/** The card and the place of an instance to publish. */
export interface PublishRequest {
  readonly card: object
  readonly instance?: string
  readonly tags?: readonly string[]
  readonly ttlSeconds?: number
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
  /** The first event: from here on nothing is missed. */
  | { readonly type: 'ready' }
  /** What was known before is too old to go on from: everything there is follows. */
  | { readonly type: 'reset' }
  | (AgentKey & { readonly type: 'agent'; readonly latest: string })
  | (AgentKey & { readonly type: 'removed' })
  | (InstanceKey & { readonly type: 'published'; readonly url: string; readonly tags: readonly string[] })
  | (InstanceKey & { readonly type: 'withdrawn' })
  | (InstanceKey & { readonly type: 'health'; readonly state: string })
