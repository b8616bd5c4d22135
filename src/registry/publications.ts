/**
 * Everything that changes a registry: publishing, renewing, withdrawing. The record of the agent is written before
 * that of an instance and removed after it; killed in between, a name is held that nothing runs under, which its
 * owner can publish to or withdraw at any time.
 */
import { invalid, notFound, RegistryError } from '../registry-client/registry-error.js'
import type { AgentKey, InstanceKey, ProbeMessage } from '../registry-client/registry-words.js'
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

/** Who asks. */
export interface Publisher {
  readonly id: string
  /** May change what others have published. */
  readonly isAdmin: boolean
  /** Callers are told apart, so there are quotas for each. */
  readonly isKnown: boolean
}

export interface Publication extends AgentKey {
  /** Of any age. */
  readonly card: unknown
  readonly instance?: string
  readonly tags?: readonly string[]
  /** How long it lives without being renewed. Default: until it is withdrawn. */
  readonly ttlMs?: number
  /** Make this version the latest, or leave the latest as it is. Default: a version that is new becomes the latest. */
  readonly latest?: boolean
  readonly probe?: ProbeMessage
  /** What must be true of the agent before. */
  readonly expect?: 'absent' | 'present'
}

export interface PublicationsDeps {
  readonly records: RecordStore
  readonly catalog: Catalog
  readonly log: FollowedLog
  readonly rules: CardRules
  now(): number
}

export type Publications = ReturnType<typeof createPublications>

/** A name that changes hands more often than this in the middle of one call is somebody's game. */
const maxAttempts = 10

export function createPublications({ records, catalog, log, rules, now }: PublicationsDeps) {
  const { limits } = rules
  const quotas = new Quotas(catalog, limits)

  /** Reads, changes and writes the record of an agent until nobody was faster. */
  async function change(
    key: AgentKey,
    publisher: Publisher,
    next: (before: AgentDocument | undefined) => AgentDocument,
  ): Promise<number> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const found = await records.get(collection, agentId(key))
      const before = found?.value as AgentDocument | undefined // written below
      if (before) mustOwn(key, before, publisher)
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
    throw new RegistryError('UNAVAILABLE', `${key.name} is being changed by somebody else, try again`)
  }

  async function publish(publication: Publication, publisher: Publisher): Promise<InstanceKey> {
    const { namespace, name, tags = [], ttlMs } = publication
    mustBeName('namespace', namespace)
    mustBeName('name', name)
    mustBeTags(tags, limits.maxTags)
    mustBeLease(ttlMs)
    const accepted = await acceptCard(publication.card, rules)
    const { version } = accepted.card
    const instance = publication.instance ?? accepted.url
    mustBeName('card.version', version)
    mustBeName('instance', instance, 512)
    const key: InstanceKey = { namespace, name, version, instance }
    await log.caughtUp()
    const known = catalog.get(key)
    if (known) mustOwn(key, known.document, publisher)
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
      if (expect === 'absent' && before) throw new RegistryError('CONFLICT', `${name} is there already`)
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
    // Whatever was wrong with it before, it has just said that it is there.
    if (siblings.find((each) => each.key.instance === instance)?.health?.state === 'unhealthy')
      await records.delete(collection, instanceId(key, 'health'))
    const put = () => records.put(collection, instanceId(key), document, ttlMs === undefined ? {} : { ttlMs })
    let { revision } = await put()
    if ((await ownerOf(key)) !== owner) {
      // Withdrawn in between: the name is taken again, unless it is somebody else's by now.
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
      throw new RegistryError('QUOTA', `${limits.maxVersions} versions of one agent are the most there may be`)
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

  /** Absent when there is no such instance, or no longer: then it has to be published again. */
  async function renew(key: InstanceKey, publisher: Publisher): Promise<{ readonly ttlMs: number } | undefined> {
    const agent = catalog.get(key) ?? (await fresh(key))
    const instance = agent?.instances.find(
      ({ key: each }) => each.version === key.version && each.instance === key.instance,
    )
    if (!agent || !instance) return undefined
    mustOwn(key, agent.document, publisher)
    const { ttlMs } = instance.document
    if (ttlMs === undefined) throw invalid('ttlSeconds', 'this instance was published without a lease')
    const isThere = await records.renew(collection, instanceId(key), ttlMs)
    if (isThere && agent.document.isLeased) await records.renew(collection, agentId(key), limits.nameKeptMs)
    return isThere ? { ttlMs } : undefined
  }

  async function fresh(key: AgentKey) {
    await log.caughtUp()
    return catalog.get(key)
  }

  /** One instance, one version, or all of an agent. Answers how many instances went. */
  async function withdraw(
    key: AgentKey & { readonly version?: string; readonly instance?: string },
    publisher: Publisher,
  ): Promise<number> {
    const agent = await fresh(key)
    if (!agent) throw notFound(key)
    mustOwn(key, agent.document, publisher)
    const leaving = agent.instances
      .map((instance) => instance.key)
      .filter(({ version }) => key.version === undefined || version === key.version)
      .filter(({ instance }) => key.instance === undefined || instance === key.instance)
    await remove(leaving)
    // An instance that stops keeps its name for those that follow; who withdraws the agent gives it up.
    if (key.instance === undefined && !(await giveUp(key, agent.document.owner)) && key.version !== undefined)
      await forget(key, key.version, publisher)
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
   * False when something runs under the name. Who publishes meanwhile has either changed the record, and keeps the
   * name; or finds it gone, and takes it again; or is too late for the one and too early for the other, and goes too.
   */
  async function giveUp(key: AgentKey, owner: string): Promise<boolean> {
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

  async function forget(key: AgentKey, version: string, publisher: Publisher): Promise<void> {
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

  function mustBeLease(ttlMs: number | undefined): void {
    if (ttlMs === undefined || (ttlMs >= limits.minTtlMs && ttlMs <= limits.maxTtlMs)) return
    throw invalid('ttlSeconds', `must be between ${limits.minTtlMs / 1000} and ${limits.maxTtlMs / 1000}`)
  }

  return { publish, renew, withdraw }
}

function mustOwn({ name }: AgentKey, { owner }: AgentDocument, { id, isAdmin }: Publisher): void {
  if (owner === id || isAdmin) return
  throw new RegistryError('FORBIDDEN', `${name} was published by somebody else`)
}

/** Any printable text without a slash in front or around it; names are shown, compared and put into addresses. */
export function mustBeName(field: string, value: unknown, longest = 128): asserts value is string {
  if (typeof value !== 'string' || value === '') throw invalid(field, 'is missing')
  if (value.length > longest) throw invalid(field, `is longer than ${longest} characters`)
  const isPrintable = value.isWellFormed() && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(value) && value.trim() === value
  if (!isPrintable) throw invalid(field, 'holds characters that cannot be shown')
}

export function mustBeTags(tags: unknown, most: number): asserts tags is readonly string[] {
  if (!Array.isArray(tags)) throw invalid('tags', 'is a list of texts')
  if (tags.length > most) throw new RegistryError('INVALID', `tags: there may be ${most} at most`)
  for (const [place, tag] of tags.entries()) mustBeName(`tags[${place}]`, tag, 64)
}

const nothing: Usage = { agents: 0, bytes: 0 }

export class Quotas {
  readonly #catalog: Catalog
  readonly #limits: RegistryLimits
  /** What is being written, by owner. */
  readonly #underWay = new Map<string, Usage>()
  #allUnderWay = nothing

  constructor(catalog: Catalog, limits: RegistryLimits) {
    this.#catalog = catalog
    this.#limits = limits
  }

  /** Throws `QUOTA` when it is too much; else there is room for it until the function that is given back is called. */
  reserve(key: InstanceKey, bytes: number, publisher: Publisher): () => void {
    const { maxAgents, maxBytes, maxAgentsPerOwner, maxBytesPerOwner, maxInstances } = this.#limits
    const known = this.#catalog.get(key)
    const siblings = known ? instancesOf(known, key.version) : []
    const replaced = siblings.find((each) => each.key.instance === key.instance)
    if (siblings.length >= maxInstances && !replaced)
      throw quotaExceeded(`${maxInstances} instances of one version are the most there may be`)
    const more = { agents: known ? 0 : 1, bytes: Math.max(0, bytes - (replaced?.document.bytes ?? 0)) }
    const all = sum(sum({ agents: this.#catalog.size, bytes: this.#catalog.bytes }, this.#allUnderWay), more)
    if (isOver(all, more, { agents: maxAgents, bytes: maxBytes })) throw quotaExceeded('The registry is full')
    const owner = known?.document.owner ?? publisher.id
    if (publisher.isKnown && !publisher.isAdmin) {
      const owned = sum(sum(this.#catalog.ownedBy(owner), this.#underWay.get(owner) ?? nothing), more)
      if (isOver(owned, more, { agents: maxAgentsPerOwner, bytes: Number.POSITIVE_INFINITY }))
        throw quotaExceeded(`${maxAgentsPerOwner} agents of one owner are the most there may be`)
      if (isOver(owned, more, { agents: Number.POSITIVE_INFINITY, bytes: maxBytesPerOwner }))
        throw quotaExceeded(`${maxBytesPerOwner} bytes of cards of one owner are the most there may be`)
    }
    this.#add(owner, more)
    return () => this.#add(owner, { agents: -more.agents, bytes: -more.bytes })
  }

  #add(owner: string, more: Usage): void {
    this.#allUnderWay = sum(this.#allUnderWay, more)
    const next = sum(this.#underWay.get(owner) ?? nothing, more)
    if (next.agents === 0 && next.bytes === 0) this.#underWay.delete(owner)
    else this.#underWay.set(owner, next)
  }
}

function sum(one: Usage, other: Usage): Usage {
  return { agents: one.agents + other.agents, bytes: one.bytes + other.bytes }
}

/** Who adds nothing is never refused: limits may be lower than they were. */
function isOver(all: Usage, more: Usage, most: Usage): boolean {
  return (more.agents > 0 && all.agents > most.agents) || (more.bytes > 0 && all.bytes > most.bytes)
}

function quotaExceeded(message: string): RegistryError {
  return new RegistryError('QUOTA', message)
}
