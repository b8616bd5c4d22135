/**
 * All agents of a registry in memory, folded from the log of records. Reads use the catalog. Every process that follows
 * the log has the same catalog.
 */
import type { AgentKey, InstanceKey } from '../registry-client/registry-messages.js'
import type { RecordChange } from '../stores/records.js'
import {
  type AgentDocument,
  agentId,
  type HealthDocument,
  type InstanceDocument,
  type InstanceSummary,
  instanceId,
  readId,
  summarize,
  tagsOf,
  versionIn,
} from './documents.js'
import { SearchIndex } from './search-index.js'

export interface CatalogInstance {
  readonly key: InstanceKey
  readonly document: InstanceSummary
  readonly health: HealthDocument | undefined
}

export interface CatalogAgent {
  readonly key: AgentKey
  readonly document: AgentDocument
  /** Of all versions, in the order of publication. */
  readonly instances: readonly CatalogInstance[]
  /** The version that its owner marked as latest; if that has no instance, the newest version that has one. */
  readonly latest: string
  /** Healthy instances of the latest version. */
  readonly offered: readonly CatalogInstance[]
  /** Revision of its newest record. */
  readonly revision: number
}

/** The records of one agent, which may arrive in any order. */
interface AgentRecords {
  readonly key: AgentKey
  document: AgentDocument | undefined
  readonly instances: Map<string, Omit<CatalogInstance, 'health'>>
  readonly health: Map<string, HealthDocument>
  revision: number
  agent: CatalogAgent | undefined
}

export interface Usage {
  readonly agents: number
  readonly bytes: number
}

export class Catalog {
  readonly index = new SearchIndex()
  readonly #records = new Map<string, AgentRecords>()
  readonly #owned = new Map<string, Usage>()
  #sorted: readonly string[] | undefined
  #agents = 0
  #bytes = 0
  readonly #onInstance: (key: InstanceKey, isThere: boolean) => void

  constructor(onInstance: (key: InstanceKey, isThere: boolean) => void = () => undefined) {
    this.#onInstance = onInstance
  }

  get size(): number {
    return this.#agents
  }

  /** Quota bytes of all instances. */
  get bytes(): number {
    return this.#bytes
  }

  get(key: AgentKey): CatalogAgent | undefined {
    return this.byId(agentId(key))
  }

  byId(id: string): CatalogAgent | undefined {
    const records = this.#records.get(id)
    if (!records?.document) return undefined
    records.agent ??= assemble(records, records.document)
    return records.agent
  }

  /** Works also if the agent record was deleted. */
  instancesUnder(key: AgentKey): readonly InstanceKey[] {
    return [...(this.#records.get(agentId(key))?.instances.values() ?? [])].map((instance) => instance.key)
  }

  /** Number of agents of an owner, and quota bytes of their instances. */
  usageOf(owner: string): Usage {
    return this.#owned.get(owner) ?? { agents: 0, bytes: 0 }
  }

  /** Ids of all agents, sorted by namespace and name. */
  ids(): readonly string[] {
    this.#sorted ??= [...this.#records].flatMap(([id, { document }]) => (document ? [id] : [])).sort()
    return this.#sorted
  }

  /** Replaces the list, because readers may be iterating over it. */
  #list(id: string, isThere: boolean): void {
    if (!this.#sorted) return
    let [low, high] = [0, this.#sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#sorted[middle] ?? '') < id) low = middle + 1
      else high = middle
    }
    this.#sorted = isThere ? this.#sorted.toSpliced(low, 0, id) : this.#sorted.toSpliced(low, 1)
  }

  instances(): readonly CatalogInstance[] {
    return this.ids().flatMap((id) => this.byId(id)?.instances ?? [])
  }

  clear(): void {
    for (const { instances } of this.#records.values())
      for (const { key } of instances.values()) this.#onInstance(key, false)
    this.#records.clear()
    this.#owned.clear()
    this.index.clear()
    this.#sorted = undefined
    this.#agents = 0
    this.#bytes = 0
  }

  apply({ id, revision, value }: RecordChange): void {
    const about = readId(id)
    if (!about) return
    const recordsId = agentId(about.key)
    const records = this.#recordsOf(recordsId, about.key)
    records.revision = revision
    records.agent = undefined
    this.#count(records, -1)
    // `readableRecords` has checked the value.
    if (about.kind === 'agent') this.#setDocument(recordsId, records, value as AgentDocument | undefined)
    else if (about.kind === 'health') set(records.health, instanceId(about.key), value as HealthDocument | undefined)
    else {
      const document = value as InstanceDocument | undefined
      set(records.instances, instanceId(about.key), document && { key: about.key, document: summarize(document) })
      this.#onInstance(about.key, document !== undefined)
    }
    this.#count(records, 1)
    if (!records.document && records.instances.size === 0 && records.health.size === 0) this.#records.delete(recordsId)
    if (about.kind !== 'health') this.#reindex(recordsId)
  }

  #recordsOf(id: string, { namespace, name }: AgentKey): AgentRecords {
    let records = this.#records.get(id)
    if (!records) {
      const key = { namespace, name }
      records = { key, document: undefined, instances: new Map(), health: new Map(), revision: 0, agent: undefined }
      this.#records.set(id, records)
    }
    return records
  }

  #setDocument(id: string, records: AgentRecords, document: AgentDocument | undefined): void {
    if (!records.document !== !document) this.#list(id, document !== undefined)
    records.document = document
  }

  #count({ document, instances }: AgentRecords, sign: 1 | -1): void {
    let bytes = 0
    for (const instance of instances.values()) bytes += instance.document.bytes
    this.#bytes += sign * bytes
    if (!document) return
    this.#agents += sign
    const owned = this.usageOf(document.owner)
    const next = { agents: owned.agents + sign, bytes: owned.bytes + sign * bytes }
    if (next.agents === 0) this.#owned.delete(document.owner)
    else this.#owned.set(document.owner, next)
  }

  /** Searches use the texts of the latest version. */
  #reindex(id: string): void {
    const agent = this.byId(id)
    const shown = agent && instancesOf(agent, agent.latest)[0]
    if (agent && shown) this.index.set(id, agent.key.name, shown.document.card, tagsOf(shown.document))
    else this.index.remove(id)
  }
}

function assemble(records: AgentRecords, document: AgentDocument): CatalogAgent {
  const { key, instances, health, revision } = records
  const all = [...instances].map(([id, instance]) => ({ ...instance, health: health.get(id) }))
  all.sort((a, b) => a.document.publishedMs - b.document.publishedMs || (a.key.instance < b.key.instance ? -1 : 1))
  const latest = latestOf(document, all)
  const offered = all.filter((instance) => instance.key.version === latest && isOffered(instance))
  return { key, document, instances: all, latest, offered, revision }
}

function set<Value>(map: Map<string, Value>, id: string, value: Value | undefined): void {
  if (value === undefined) map.delete(id)
  else map.set(id, value)
}

function latestOf(document: AgentDocument, instances: readonly CatalogInstance[]): string {
  if (instances.length === 0 || instances.some(({ key }) => key.version === document.latest)) return document.latest
  const created = (version: string) => versionIn(document, version)?.createdMs ?? 0
  return instances.map(({ key }) => key.version).reduce((a, b) => (created(b) > created(a) ? b : a))
}

export function instancesOf({ instances }: CatalogAgent, version: string): readonly CatalogInstance[] {
  return instances.filter(({ key }) => key.version === version)
}

/** Instances that were not probed yet are offered too. */
export function isOffered({ health }: CatalogInstance): boolean {
  return health?.state !== 'unhealthy'
}
