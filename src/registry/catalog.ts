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
  /** Of all versions, in the order in which they were published. */
  readonly instances: readonly CatalogInstance[]
  /** The version its owner made the latest; if no instance of it runs, the newest version with a running instance. */
  readonly latest: string
  /** Healthy instances of the latest version. */
  readonly offered: readonly CatalogInstance[]
  /** Of its newest record. */
  readonly revision: number
}

/** Parts may come in any order: the log says what is, not what came first. */
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
  readonly #parts = new Map<string, AgentRecords>()
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

  /** What all instances weigh. */
  get bytes(): number {
    return this.#bytes
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

  /** How many agents somebody owns, and what their instances weigh. */
  ownedBy(owner: string): Usage {
    return this.#owned.get(owner) ?? { agents: 0, bytes: 0 }
  }

  /** The ids of all agents, by namespace and name. */
  ids(): readonly string[] {
    this.#sorted ??= [...this.#parts].flatMap(([id, { document }]) => (document ? [id] : [])).sort()
    return this.#sorted
  }

  /** Readers may be in the middle of the list, so it is replaced and not changed. */
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
    for (const { instances } of this.#parts.values())
      for (const { key } of instances.values()) this.#onInstance(key, false)
    this.#parts.clear()
    this.#owned.clear()
    this.index.clear()
    this.#sorted = undefined
    this.#agents = 0
    this.#bytes = 0
  }

  apply({ id, revision, value }: RecordChange): void {
    const about = readId(id)
    if (!about) return
    const partsId = agentId(about.key)
    const parts = this.#partsOf(partsId, about.key)
    parts.revision = revision
    parts.agent = undefined
    this.#count(parts, -1)
    // What is in the store was put there by this code.
    if (about.kind === 'agent') this.#setDocument(partsId, parts, value as AgentDocument | undefined)
    else if (about.kind === 'health') set(parts.health, instanceId(about.key), value as HealthDocument | undefined)
    else {
      const document = value as InstanceDocument | undefined
      set(parts.instances, instanceId(about.key), document && { key: about.key, document: summarize(document) })
      this.#onInstance(about.key, document !== undefined)
    }
    this.#count(parts, 1)
    if (!parts.document && parts.instances.size === 0 && parts.health.size === 0) this.#parts.delete(partsId)
    if (about.kind !== 'health') this.#reindex(partsId)
  }

  #partsOf(id: string, { namespace, name }: AgentKey): AgentRecords {
    let parts = this.#parts.get(id)
    if (!parts) {
      const key = { namespace, name }
      parts = { key, document: undefined, instances: new Map(), health: new Map(), revision: 0, agent: undefined }
      this.#parts.set(id, parts)
    }
    return parts
  }

  #setDocument(id: string, parts: AgentRecords, document: AgentDocument | undefined): void {
    if (!parts.document !== !document) this.#list(id, document !== undefined)
    parts.document = document
  }

  #count({ document, instances }: AgentRecords, sign: 1 | -1): void {
    let bytes = 0
    for (const instance of instances.values()) bytes += instance.document.bytes
    this.#bytes += sign * bytes
    if (!document) return
    this.#agents += sign
    const owned = this.ownedBy(document.owner)
    const next = { agents: owned.agents + sign, bytes: owned.bytes + sign * bytes }
    if (next.agents === 0) this.#owned.delete(document.owner)
    else this.#owned.set(document.owner, next)
  }

  /** Agents are found by the words of their latest version. */
  #reindex(id: string): void {
    const agent = this.byId(id)
    const shown = agent && instancesOf(agent, agent.latest)[0]
    if (agent && shown) this.index.set(id, agent.key.name, shown.document.card, tagsOf(shown.document))
    else this.index.remove(id)
  }
}

function assemble(parts: AgentRecords, document: AgentDocument): CatalogAgent {
  const { key, instances, health, revision } = parts
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

/** One that nobody has looked at yet is offered: it has just said that it is there. */
export function isOffered({ health }: CatalogInstance): boolean {
  return health?.state !== 'unhealthy'
}
