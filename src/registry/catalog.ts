/**
 * All agents of a registry, in memory: the fold of the log of records. Reads are answered from here; the store is
 * the truth, and every process that follows its log holds the same catalog.
 */
import type { AgentKey, InstanceKey } from '../registry-client/registry-words.js'
import type { RecordChange } from '../stores/records.js'
import {
  type AgentDocument,
  agentId,
  type HealthDocument,
  type InstanceDocument,
  instanceId,
  readId,
  versionIn,
} from './documents.js'
import { SearchIndex } from './search-index.js'

export interface CatalogInstance {
  readonly key: InstanceKey
  readonly document: InstanceDocument
  readonly health: HealthDocument | undefined
}

export interface CatalogAgent {
  readonly key: AgentKey
  readonly document: AgentDocument
  /** Of all versions, in the order in which they were published. */
  readonly instances: readonly CatalogInstance[]
  /** Of its newest record. */
  readonly revision: number
  /** Answers that were put together from it, by what was asked; gone with the next change. */
  readonly answers: Map<string, string>
}

/** Parts may come in any order: the log says what is, not what came first. */
interface Parts {
  readonly key: AgentKey
  document: AgentDocument | undefined
  readonly instances: Map<string, { readonly key: InstanceKey; readonly document: InstanceDocument }>
  readonly health: Map<string, HealthDocument>
  revision: number
  agent: CatalogAgent | undefined
}

export class Catalog {
  readonly index = new SearchIndex()
  readonly #parts = new Map<string, Parts>()
  readonly #owned = new Map<string, number>()
  #sorted: readonly string[] | undefined
  #agents = 0
  readonly #onInstance: (key: InstanceKey, document: InstanceDocument | undefined) => void

  constructor(onInstance: (key: InstanceKey, document: InstanceDocument | undefined) => void = () => undefined) {
    this.#onInstance = onInstance
  }

  get size(): number {
    return this.#agents
  }

  get(key: AgentKey): CatalogAgent | undefined {
    return this.byId(agentId(key))
  }

  byId(id: string): CatalogAgent | undefined {
    const parts = this.#parts.get(id)
    if (!parts?.document) return undefined
    parts.agent ??= assemble(parts, parts.document)
    return parts.agent
  }

  /** Whether or not there still is an agent of that name. */
  instancesUnder(key: AgentKey): readonly InstanceKey[] {
    return [...(this.#parts.get(agentId(key))?.instances.values() ?? [])].map((instance) => instance.key)
  }

  /** How many agents somebody owns. */
  ownedBy(owner: string): number {
    return this.#owned.get(owner) ?? 0
  }

  /** The ids of all agents, by namespace and name. */
  ids(): readonly string[] {
    this.#sorted ??= [...this.#parts].flatMap(([id, { document }]) => (document ? [id] : [])).sort()
    return this.#sorted
  }

  instances(): readonly CatalogInstance[] {
    return this.ids().flatMap((id) => this.byId(id)?.instances ?? [])
  }

  clear(): void {
    for (const { instances } of this.#parts.values())
      for (const { key } of instances.values()) this.#onInstance(key, undefined)
    this.#parts.clear()
    this.#owned.clear()
    this.index.clear()
    this.#sorted = undefined
    this.#agents = 0
  }

  apply({ id, revision, value }: RecordChange): void {
    const about = readId(id)
    if (!about) return
    const partsId = agentId(about.key)
    const parts = this.#partsOf(partsId, about.key)
    parts.revision = revision
    parts.agent = undefined
    // What is in the store was put there by this code.
    if (about.kind === 'agent') this.#setDocument(parts, value as AgentDocument | undefined)
    else if (about.kind === 'health') set(parts.health, instanceId(about.key), value as HealthDocument | undefined)
    else {
      const document = value as InstanceDocument | undefined
      set(parts.instances, instanceId(about.key), document && { key: about.key, document })
      this.#onInstance(about.key, document)
    }
    if (!parts.document && parts.instances.size === 0 && parts.health.size === 0) this.#parts.delete(partsId)
    if (about.kind !== 'health') this.#reindex(partsId)
  }

  #partsOf(id: string, { namespace, name }: AgentKey): Parts {
    let parts = this.#parts.get(id)
    if (!parts) {
      const key = { namespace, name }
      parts = { key, document: undefined, instances: new Map(), health: new Map(), revision: 0, agent: undefined }
      this.#parts.set(id, parts)
    }
    return parts
  }

  #setDocument(parts: Parts, document: AgentDocument | undefined): void {
    const before = parts.document
    if (before) this.#owned.set(before.owner, this.ownedBy(before.owner) - 1)
    if (document) this.#owned.set(document.owner, this.ownedBy(document.owner) + 1)
    if (!before !== !document) {
      this.#sorted = undefined
      this.#agents += document ? 1 : -1
    }
    parts.document = document
  }

  /** Agents are found by the words of their latest version. */
  #reindex(id: string): void {
    const agent = this.byId(id)
    const shown = agent && instancesOf(agent, latestOf(agent))[0]
    if (agent && shown) this.index.set(id, agent.key.name, shown.document.card, tagsOf(shown.document))
    else this.index.remove(id)
  }
}

function assemble(parts: Parts, document: AgentDocument): CatalogAgent {
  const { key, instances, health, revision } = parts
  const all = [...instances].map(([id, instance]) => ({ ...instance, health: health.get(id) }))
  all.sort((a, b) => a.document.publishedMs - b.document.publishedMs || (a.key.instance < b.key.instance ? -1 : 1))
  return { key, document, instances: all, revision, answers: new Map() }
}

function set<Value>(map: Map<string, Value>, id: string, value: Value | undefined): void {
  if (value === undefined) map.delete(id)
  else map.set(id, value)
}

/** The version its owner made the latest; when nothing of it runs, the newest of those that do. */
export function latestOf({ document, instances }: CatalogAgent): string {
  if (instances.length === 0 || instances.some(({ key }) => key.version === document.latest)) return document.latest
  const created = (version: string) => versionIn(document, version)?.createdMs ?? 0
  return instances.map(({ key }) => key.version).reduce((a, b) => (created(b) > created(a) ? b : a))
}

export function instancesOf({ instances }: CatalogAgent, version: string): readonly CatalogInstance[] {
  return instances.filter(({ key }) => key.version === version)
}

/** One that nobody has looked at yet is offered: it has just said that it is there. */
export function isOffered({ health }: CatalogInstance): boolean {
  return health?.state !== 'unhealthy'
}

/** Those of the publisher and those of the skills. */
export function tagsOf({ tags, card }: InstanceDocument): readonly string[] {
  return [...new Set([...tags, ...card.skills.flatMap((skill) => skill.tags)])]
}
