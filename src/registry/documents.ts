/**
 * The documents of a registry. Agents (owner and versions of a name), instances (a published card and its URL) and the
 * health of instances are records of one collection, so that one sequence of revisions orders all changes.
 */
import type { Verification } from '../client/verification.js'
import type { AgentCard } from '../model/agent-card.js'
import type { AgentKey, HealthState, InstanceKey, ProbeMessage } from '../registry-client/registry-messages.js'
import type { RecordStore } from '../stores/records.js'

export const collection = 'registry'
/** The last probe results of each instance; a separate collection, because watchers do not need them. */
export const probeCollection = 'registry-probes'

export interface AgentDocument {
  /** Id of the caller that published it first. Only the owner and admins may change it. */
  readonly owner: string
  readonly latest: string
  readonly versions: Readonly<Record<string, { readonly createdMs: number; readonly updatedMs: number }>>
  readonly createdMs: number
  /** All instances have leases, so the name has a lease too, a longer one. */
  readonly isLeased: boolean
}

/** Looks up own properties only: a version may have the name `constructor`. */
export function versionIn(
  { versions }: Pick<AgentDocument, 'versions'>,
  version: string,
): AgentDocument['versions'][string] | undefined {
  return Object.hasOwn(versions, version) ? versions[version] : undefined
}

/** A published card and its metadata. Cards are stored as JSON text, so that most readers need not parse them. */
export interface InstanceDocument {
  /** The card in the form of v1.0; absent if it was published in that form. */
  readonly card?: string
  /** The card as it was published, in its own version, with its signatures. */
  readonly published: string
  /** URL of the card's first interface. */
  readonly url: string
  readonly tags: readonly string[]
  readonly publishedMs: number
  /** Lease duration; absent: until it is withdrawn. */
  readonly ttlMs?: number
  readonly signature: Pick<Verification, 'state' | 'keyId'>
  readonly probe?: ProbeMessage
}

/** The card in the form of v1.0, as JSON. */
export function cardTextOf({ card, published }: Pick<InstanceDocument, 'card' | 'published'>): string {
  return card ?? published
}

/** Reads an instance from the store, because the catalog holds no whole cards. */
export async function readInstance(records: RecordStore, key: InstanceKey): Promise<InstanceDocument | undefined> {
  return (await records.get(collection, instanceId(key)))?.value as InstanceDocument | undefined // written by publish
}

/** The result of each level of a probe: `ok`, or the error; absent if the level was not probed. */
export interface ProbeLevels {
  /** The card can be read at its URL. */
  readonly card: string
  /** The interface answers a cheap call. */
  readonly binding?: string
  /** The agent answers the probe message. */
  readonly call?: string
}

/** The result of one probe of an instance. */
export interface ProbeReport extends ProbeLevels {
  readonly time: string
  readonly ms: number
  readonly isHealthy: boolean
}

export interface HealthDocument {
  readonly state: HealthState
  readonly sinceMs: number
  readonly levels: ProbeLevels
}

type RecordKey =
  | { readonly kind: 'agent'; readonly key: AgentKey }
  | { readonly kind: 'instance' | 'health'; readonly key: InstanceKey }

const letters = { agent: 'a', instance: 'i', health: 'h' } as const

/** Percent-encodes the segments, because names may contain slashes. */
export function agentId({ namespace, name }: AgentKey): string {
  return [letters.agent, namespace, name].map(encodeURIComponent).join('/')
}

export function instanceId(key: InstanceKey, kind: 'instance' | 'health' = 'instance'): string {
  return [letters[kind], key.namespace, key.name, key.version, key.instance].map(encodeURIComponent).join('/')
}

/** Parses the id of a record. Tombstones have no value, so the id must identify the record. */
export function readId(id: string): RecordKey | undefined {
  const [letter, namespace, name, version, instance] = id.split('/').map(decodeURIComponent)
  if (namespace === undefined || name === undefined) return undefined
  if (letter === letters.agent) return { kind: 'agent', key: { namespace, name } }
  if (version === undefined || instance === undefined) return undefined
  const kind = letter === letters.instance ? 'instance' : letter === letters.health ? 'health' : undefined
  return kind && { kind, key: { namespace, name, version, instance } }
}

/** The part of an instance that the catalog holds in memory, for lists, filters and searches. */
export interface InstanceSummary extends Omit<InstanceDocument, 'card' | 'published' | 'probe'> {
  readonly card: CardSummary
  /** Size that counts towards the quotas. */
  readonly bytes: number
}

export interface CardSummary extends Pick<AgentCard, 'name' | 'description'> {
  readonly skills: readonly Pick<AgentCard['skills'][number], 'id' | 'name' | 'description' | 'tags' | 'examples'>[]
}

/** Approximate memory for keys, health and index entries of an instance. */
const overheadBytes = 1024

export function quotaBytes(published: string): number {
  return Buffer.byteLength(published) + overheadBytes
}

export function summarize(document: InstanceDocument): InstanceSummary {
  const { card: _card, published, probe: _probe, ...rest } = document
  const { name, description, skills } = JSON.parse(cardTextOf(document)) as AgentCard // written by publish
  return { ...rest, bytes: quotaBytes(published), card: { name, description, skills: skills.map(skillSummary) } }
}

function skillSummary({
  id,
  name,
  description,
  tags,
  examples,
}: CardSummary['skills'][number]): CardSummary['skills'][number] {
  return { id, name, description, tags, ...(examples && { examples }) }
}

/** Tags of the publication and of the skills, without duplicates. */
export function tagsOf({ tags, card }: InstanceSummary): readonly string[] {
  return [...new Set([...tags, ...card.skills.flatMap((skill) => skill.tags)])]
}
