/**
 * Publishes, renews and withdraws agents. The agent record is written before the instance record and deleted after it. A
 * crash in between leaves a name without instances, which its owner can use or withdraw.
 */
import { invalid, notFound, RegistryError } from '../registry-client/registry-error.js'
import type { AgentKey, InstanceKey, ProbeMessage } from '../registry-client/registry-messages.js'
import type { RecordStore } from '../stores/records.js'
import { type AcceptedCard, acceptCard, type CardRules } from './accept-card.js'
import { type Catalog, instancesOf, type Usage } from './catalog.js'
import {
  type AgentDocument,
  agentId,
  collection,
  type InstanceDocument,
  instanceId,
  quotaBytes,
  versionIn,
} from './documents.js'
import type { FollowedLog } from './follow-log.js'
import type { RegistryLimits } from './registry-limits.js'

/** The caller of an operation that changes the registry. */
export interface Publisher {
  readonly id: string
  /** May change agents of other owners. */
  readonly isAdmin: boolean
  /** The caller is authenticated, so quotas per owner apply. */
  readonly isKnown: boolean
}

/** A request to publish an instance of an agent. */
export interface Publication extends AgentKey {
  /** The card, in any supported version. */
  readonly card: unknown
  /** Distinguishes instances of one version. Default: the URL of the card's first interface. */
  readonly instance?: string
  /** Tags in addition to those of the skills. */
  readonly tags?: readonly string[]
  /** Lease duration in milliseconds. Default: until it is withdrawn. */
  readonly ttlMs?: number
  /** Whether this version becomes the latest. Default: only if it is new. */
  readonly latest?: boolean
  /** Message that health checks send. Default: none. */
  readonly probe?: ProbeMessage
  /** Rejects the publication if the agent exists (`absent`) or does not exist (`present`). */
  readonly expect?: 'absent' | 'present'
}

interface PublicationsDeps {
  readonly records: RecordStore
  readonly catalog: Catalog
  readonly log: FollowedLog
  readonly rules: CardRules
  now(): number
}

export type Publications = ReturnType<typeof createPublications>

/** Maximum number of attempts to write a contended agent record. */
const maxAttempts = 10

export function createPublications({ records, catalog, log, rules, now }: PublicationsDeps) {
  const { limits } = rules
  const quotas = new Quotas(catalog, limits)

  /** Updates the agent record with optimistic concurrency control. */
  async function change(
    key: AgentKey,
    publisher: Publisher,
    next: (before: AgentDocument | undefined) => AgentDocument,
  ): Promise<number> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const found = await records.get(collection, agentId(key))
      const before = found?.value as AgentDocument | undefined // written below
      if (before) assertOwner(key, before, publisher)
      const document = next(before)
      if (before && JSON.stringify(before) === JSON.stringify(document)) {
        if (!before.isLeased || (await records.renew(collection, agentId(key), limits.nameKeptMs)))
          return found?.revision ?? 0
        continue
      }
      const outcome = await records.put(collection, agentId(key), document, {
        expect: found?.revision ?? 0,
        ...(document.isLeased && { ttlMs: limits.nameKeptMs }),
      })
      if (outcome.result === 'ok') return outcome.revision
    }
    throw new RegistryError('UNAVAILABLE', `${key.name} is being changed by another caller; try again`)
  }

  async function publish(publication: Publication, publisher: Publisher): Promise<InstanceKey> {
    const { namespace, name, tags = [], ttlMs } = publication
    assertName('namespace', namespace)
    assertName('name', name)
    assertTags(tags, limits.maxTags)
    assertLease(ttlMs)
    const accepted = await acceptCard(publication.card, rules)
    const { version } = accepted.card
    const instance = publication.instance ?? accepted.url
    assertName('card.version', version)
    assertName('instance', instance, 512)
    const key: InstanceKey = { namespace, name, version, instance }
    await log.caughtUp()
    const known = catalog.get(key)
    if (known) assertOwner(key, known.document, publisher)
    const release = quotas.reserve(key, quotaBytes(accepted.published), publisher)
    try {
      await write(key, accepted, publication, publisher)
    } finally {
      release()
    }
    return key
  }

  async function write(
    key: InstanceKey,
    { card, published, url, signature }: AcceptedCard,
    { tags = [], ttlMs, probe, latest, expect }: Publication,
    publisher: Publisher,
  ): Promise<void> {
    const { name, version, instance } = key
    const known = catalog.get(key)
    const siblings = known ? instancesOf(known, version) : []
    const isLeased =
      ttlMs !== undefined &&
      !known?.instances.some(({ key: each, document }) => document.ttlMs === undefined && each.instance !== instance)

    let owner = publisher.id
    const named = (before: AgentDocument | undefined): AgentDocument => {
      owner = before?.owner ?? publisher.id
      return withVersion(before, { version, owner, latest, isLeased })
    }
    await change(key, publisher, (before) => {
      if (expect === 'absent' && before) throw new RegistryError('CONFLICT', `${name} already exists`)
      if (expect === 'present' && !before) throw notFound(key)
      return named(before)
    })
    const cardText = JSON.stringify(card)
    const document: InstanceDocument = {
      ...(cardText !== published && { card: cardText }),
      published,
      url,
      tags,
      publishedMs: now(),
      signature,
      ...(ttlMs !== undefined && { ttlMs }),
      ...(probe && { probe }),
    }
    // A publication resets the health.
    if (siblings.find((each) => each.key.instance === instance)?.health?.state === 'unhealthy')
      await records.delete(collection, instanceId(key, 'health'))
    const put = () => records.put(collection, instanceId(key), document, ttlMs === undefined ? {} : { ttlMs })
    let { revision } = await put()
    if ((await ownerOf(key)) !== owner) {
      // The agent was withdrawn in between: write the record again, unless another owner has the name now.
      await change(key, publisher, named).catch(async (error: unknown) => {
        await remove([key])
        throw error
      })
      revision = (await put()).revision
    }
    await log.caughtUp(revision)
  }

  async function ownerOf(key: AgentKey): Promise<string | undefined> {
    return ((await records.get(collection, agentId(key)))?.value as AgentDocument | undefined)?.owner
  }

  function withVersion(
    before: AgentDocument | undefined,
    given: { version: string; owner: string; latest: boolean | undefined; isLeased: boolean },
  ): AgentDocument {
    const { version, owner, latest, isLeased } = given
    const time = now()
    const known = before && versionIn(before, version)
    const isNew = known === undefined
    if (before && isNew && Object.keys(before.versions).length >= limits.maxVersions)
      throw new RegistryError('QUOTA', `An agent may have at most ${limits.maxVersions} versions`)
    const isLatest = latest ?? isNew
    return {
      owner: before?.owner ?? owner,
      createdMs: before?.createdMs ?? time,
      latest: isLatest || !before ? version : before.latest,
      versions: {
        ...before?.versions,
        [version]: { createdMs: known?.createdMs ?? time, updatedMs: time },
      },
      isLeased,
    }
  }

  /** Returns undefined if the instance does not exist; then it has to be published again. */
  async function renew(key: InstanceKey, publisher: Publisher): Promise<{ readonly ttlMs: number } | undefined> {
    const agent = catalog.get(key) ?? (await fresh(key))
    const instance = agent?.instances.find(
      ({ key: each }) => each.version === key.version && each.instance === key.instance,
    )
    if (!agent || !instance) return undefined
    assertOwner(key, agent.document, publisher)
    const { ttlMs } = instance.document
    if (ttlMs === undefined) throw invalid('ttlSeconds', 'the instance was published without a lease')
    const isThere = await records.renew(collection, instanceId(key), ttlMs)
    if (isThere && agent.document.isLeased) await records.renew(collection, agentId(key), limits.nameKeptMs)
    return isThere ? { ttlMs } : undefined
  }

  async function fresh(key: AgentKey) {
    await log.caughtUp()
    return catalog.get(key)
  }

  /** Withdraws one instance, one version or the whole agent. Returns the number of removed instances. */
  async function withdraw(
    key: AgentKey & { readonly version?: string; readonly instance?: string },
    publisher: Publisher,
  ): Promise<number> {
    const agent = await fresh(key)
    if (!agent) throw notFound(key)
    assertOwner(key, agent.document, publisher)
    const leaving = agent.instances
      .map((instance) => instance.key)
      .filter(({ version }) => key.version === undefined || version === key.version)
      .filter(({ instance }) => key.instance === undefined || instance === key.instance)
    await remove(leaving)
    // Withdrawing an instance keeps the name; withdrawing a version or the agent may release it.
    if (key.instance === undefined && !(await releaseName(key, agent.document.owner)) && key.version !== undefined)
      await deleteVersion(key, key.version, publisher)
    await log.caughtUp()
    return leaving.length
  }

  async function remove(keys: readonly InstanceKey[]): Promise<void> {
    for (const each of keys) {
      await records.delete(collection, instanceId(each))
      await records.delete(collection, instanceId(each, 'health'))
    }
  }

  /**
   * Deletes the agent record unless it has instances; returns whether the name is free. A concurrent publication either
   * changes the record first and keeps the name, or finds it deleted and writes it again, or is withdrawn too.
   */
  async function releaseName(key: AgentKey, owner: string): Promise<boolean> {
    const found = await records.get(collection, agentId(key))
    await log.caughtUp()
    if (!found || (found.value as AgentDocument | undefined)?.owner !== owner) return true
    if (catalog.instancesUnder(key).length > 0) return false
    const { result } = await records.delete(collection, agentId(key), { expect: found.revision })
    if (result !== 'ok') return false
    await log.caughtUp()
    if (!catalog.get(key)) await remove(catalog.instancesUnder(key))
    return true
  }

  async function deleteVersion(key: AgentKey, version: string, publisher: Publisher): Promise<void> {
    await change(key, publisher, (before) => {
      if (!before) throw notFound(key)
      const { [version]: _gone, ...versions } = before.versions
      const newest = Object.entries(versions).reduce<string>(
        (best, [each, { createdMs }]) => (createdMs >= (versions[best]?.createdMs ?? 0) ? each : best),
        '',
      )
      return { ...before, versions, latest: before.latest === version ? newest : before.latest }
    })
  }

  function assertLease(ttlMs: number | undefined): void {
    if (ttlMs === undefined || (ttlMs >= limits.minTtlMs && ttlMs <= limits.maxTtlMs)) return
    throw invalid('ttlSeconds', `must be between ${limits.minTtlMs / 1000} and ${limits.maxTtlMs / 1000}`)
  }

  return { publish, renew, withdraw }
}

function assertOwner({ name }: AgentKey, { owner }: AgentDocument, { id, isAdmin }: Publisher): void {
  if (owner === id || isAdmin) return
  throw new RegistryError('FORBIDDEN', `${name} belongs to another owner`)
}

/** Accepts printable text without surrounding blanks: names are displayed, compared and used in URLs. */
function assertName(field: string, value: unknown, maxLength = 128): asserts value is string {
  if (typeof value !== 'string' || value === '') throw invalid(field, 'is missing')
  if (value.length > maxLength) throw invalid(field, `is longer than ${maxLength} characters`)
  const isPrintable = value.isWellFormed() && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(value) && value.trim() === value
  if (!isPrintable) throw invalid(field, 'contains characters that are not printable')
}

function assertTags(tags: unknown, max: number): asserts tags is readonly string[] {
  if (!Array.isArray(tags)) throw invalid('tags', 'must be a list of strings')
  if (tags.length > max) throw new RegistryError('INVALID', `tags: must have at most ${max} items`)
  for (const [index, tag] of tags.entries()) assertName(`tags[${index}]`, tag, 64)
}

const nothing: Usage = { agents: 0, bytes: 0 }

/** Checks quotas against the catalog plus all reservations, so that concurrent publications cannot exceed them. */
class Quotas {
  readonly #catalog: Catalog
  readonly #limits: RegistryLimits
  /** Reservations by owner. */
  readonly #reserved = new Map<string, Usage>()
  #allReserved = nothing

  constructor(catalog: Catalog, limits: RegistryLimits) {
    this.#catalog = catalog
    this.#limits = limits
  }

  /** Reserves room and returns a function that releases it. Throws `QUOTA`. */
  reserve(key: InstanceKey, bytes: number, publisher: Publisher): () => void {
    const { maxAgents, maxBytes, maxAgentsPerOwner, maxBytesPerOwner, maxInstances } = this.#limits
    const known = this.#catalog.get(key)
    const siblings = known ? instancesOf(known, key.version) : []
    const replaced = siblings.find((each) => each.key.instance === key.instance)
    if (siblings.length >= maxInstances && !replaced)
      throw quotaExceeded(`A version may have at most ${maxInstances} instances`)
    const more = { agents: known ? 0 : 1, bytes: Math.max(0, bytes - (replaced?.document.bytes ?? 0)) }
    const all = sum(sum({ agents: this.#catalog.size, bytes: this.#catalog.bytes }, this.#allReserved), more)
    if (isOver(all, more, { agents: maxAgents, bytes: maxBytes })) throw quotaExceeded('The registry is full')
    const owner = known?.document.owner ?? publisher.id
    if (publisher.isKnown && !publisher.isAdmin) {
      const owned = sum(sum(this.#catalog.usageOf(owner), this.#reserved.get(owner) ?? nothing), more)
      if (isOver(owned, more, { agents: maxAgentsPerOwner, bytes: Number.POSITIVE_INFINITY }))
        throw quotaExceeded(`An owner may have at most ${maxAgentsPerOwner} agents`)
      if (isOver(owned, more, { agents: Number.POSITIVE_INFINITY, bytes: maxBytesPerOwner }))
        throw quotaExceeded(`The cards of an owner may have at most ${maxBytesPerOwner} bytes`)
    }
    this.#add(owner, more)
    return () => this.#add(owner, { agents: -more.agents, bytes: -more.bytes })
  }

  #add(owner: string, more: Usage): void {
    this.#allReserved = sum(this.#allReserved, more)
    const next = sum(this.#reserved.get(owner) ?? nothing, more)
    if (next.agents === 0 && next.bytes === 0) this.#reserved.delete(owner)
    else this.#reserved.set(owner, next)
  }
}

function sum(one: Usage, other: Usage): Usage {
  return { agents: one.agents + other.agents, bytes: one.bytes + other.bytes }
}

/** Publications that add nothing are always accepted, also if the limits were lowered. */
function isOver(all: Usage, more: Usage, max: Usage): boolean {
  return (more.agents > 0 && all.agents > max.agents) || (more.bytes > 0 && all.bytes > max.bytes)
}

function quotaExceeded(message: string): RegistryError {
  return new RegistryError('QUOTA', message)
}
