/**
 * What a registry keeps, as records of one collection, so that one revision orders all of it: agents (who owns a
 * name, which versions there are), instances (a published card and where it runs) and the health of instances.
 */
import type { Verification } from '../client/verify-card.js'
import type { AgentCard } from '../model/agent-card.js'
import type { AgentKey, HealthState, InstanceKey, ProbeMessage } from '../registry-client/registry-words.js'
import type { RecordStore } from '../stores/records.js'

export const collection = 'registry'
/** Beside it, because nobody follows it: what the last probes of each instance saw. */
export const probeCollection = 'registry-probes'

export interface AgentDocument {
  /** The caller who published it first; nobody else may change it. */
  readonly owner: string
  readonly latest: string
  readonly versions: Readonly<Record<string, { readonly createdMs: number; readonly updatedMs: number }>>
  readonly createdMs: number
  /** All instances have leases, so the name has one too, a longer one. */
  readonly isLeased: boolean
}

/** Versions may be called like what every object has: `constructor` is one only when it was published. */
export function versionIn(
  { versions }: Pick<AgentDocument, 'versions'>,
  version: string,
): AgentDocument['versions'][string] | undefined {
  return Object.hasOwn(versions, version) ? versions[version] : undefined
}

/**
 * Cards are kept as JSON text: whoever passes them on does not have to understand them, and a text takes no more room
 * than it is long, whatever is in it.
 */
export interface InstanceDocument {
  /** The card in the words of v1.0; absent when it was published just so. */
  readonly card?: string
  /** The card as it was published: of any age, signatures included. */
  readonly published: string
  /** Where it runs: the address of its first interface. */
  readonly url: string
  readonly tags: readonly string[]
  readonly publishedMs: number
  /** How long it lives without being renewed; absent: until it is withdrawn. */
  readonly ttlMs?: number
  readonly signature: Pick<Verification, 'state' | 'keyId'>
  readonly probe?: ProbeMessage
}

/** The card in the words of v1.0, as JSON. */
export function cardTextOf({ card, published }: Pick<InstanceDocument, 'card' | 'published'>): string {
  return card ?? published
}

/** Of an instance that is there. Cards are not held in memory but read when somebody wants them. */
export async function readInstance(records: RecordStore, key: InstanceKey): Promise<InstanceDocument | undefined> {
  return (await records.get(collection, instanceId(key)))?.value as InstanceDocument | undefined // written by publish
}

/** `ok`, or what went wrong; absent where it was not tried. */
export interface ProbeLevels {
  /** The card is where it should be. */
  readonly card: string
  /** The binding answers in the words of the protocol. */
  readonly binding?: string
  /** A real call succeeds. */
  readonly call?: string
}

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

export type RecordKey =
  | { readonly kind: 'agent'; readonly key: AgentKey }
  | { readonly kind: 'instance' | 'health'; readonly key: InstanceKey }

const letters = { agent: 'a', instance: 'i', health: 'h' } as const

/** Segments are percent-encoded, so that names may hold anything and a slash still separates. */
export function agentId({ namespace, name }: AgentKey): string {
  return [letters.agent, namespace, name].map(encodeURIComponent).join('/')
}

export function instanceId(key: InstanceKey, kind: 'instance' | 'health' = 'instance'): string {
  return [letters[kind], key.namespace, key.name, key.version, key.instance].map(encodeURIComponent).join('/')
}

/** What a record is about, told by its id alone: tombstones have nothing else. */
export function readId(id: string): RecordKey | undefined {
  const [letter, namespace, name, version, instance] = id.split('/').map(decodeURIComponent)
  if (namespace === undefined || name === undefined) return undefined
  if (letter === letters.agent) return { kind: 'agent', key: { namespace, name } }
  if (version === undefined || instance === undefined) return undefined
  const kind = letter === letters.instance ? 'instance' : letter === letters.health ? 'health' : undefined
  return kind && { kind, key: { namespace, name, version, instance } }
}

export interface InstanceSummary extends Omit<InstanceDocument, 'card' | 'published' | 'probe'> {
  readonly card: CardSummary
  /** What counts towards the quotas. */
  readonly bytes: number
}

export interface CardSummary extends Pick<AgentCard, 'name' | 'description'> {
  readonly skills: readonly Pick<AgentCard['skills'][number], 'id' | 'name' | 'description' | 'tags' | 'examples'>[]
}

/** Keys, health and places in lists, which even the smallest card needs. */
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

/** Those of the publisher and those of the skills. */
export function tagsOf({ tags, card }: InstanceSummary): readonly string[] {
  return [...new Set([...tags, ...card.skills.flatMap((skill) => skill.tags)])]
}
