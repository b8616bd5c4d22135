/**
 * How much there may be of everything. Counted is what this process has seen, and what it is about to write: whoever
 * publishes much at once gets no more than whoever publishes one thing after the other.
 */
import { RegistryError } from '../registry-client/registry-error.js'
import type { InstanceKey } from '../registry-client/registry-words.js'
import { type Catalog, instancesOf, type Owned } from './catalog.js'
import type { RegistryLimits } from './limits.js'
import type { Publisher } from './publications.js'

const nothing: Owned = { agents: 0, bytes: 0 }

export class Quotas {
  readonly #catalog: Catalog
  readonly #limits: RegistryLimits
  /** What is being written, by owner. */
  readonly #underWay = new Map<string, Owned>()
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
      throw tooMuch(`${maxInstances} instances of one version are the most there may be`)
    const more = { agents: known ? 0 : 1, bytes: Math.max(0, bytes - (replaced?.document.bytes ?? 0)) }
    const all = sum(sum({ agents: this.#catalog.size, bytes: this.#catalog.bytes }, this.#allUnderWay), more)
    if (isOver(all, more, { agents: maxAgents, bytes: maxBytes })) throw tooMuch('The registry is full')
    const owner = known?.document.owner ?? publisher.id
    if (publisher.isKnown && !publisher.isAdmin) {
      const owned = sum(sum(this.#catalog.ownedBy(owner), this.#underWay.get(owner) ?? nothing), more)
      if (isOver(owned, more, { agents: maxAgentsPerOwner, bytes: Number.POSITIVE_INFINITY }))
        throw tooMuch(`${maxAgentsPerOwner} agents of one owner are the most there may be`)
      if (isOver(owned, more, { agents: Number.POSITIVE_INFINITY, bytes: maxBytesPerOwner }))
        throw tooMuch(`${maxBytesPerOwner} bytes of cards of one owner are the most there may be`)
    }
    this.#add(owner, more)
    return () => this.#add(owner, { agents: -more.agents, bytes: -more.bytes })
  }

  #add(owner: string, more: Owned): void {
    this.#allUnderWay = sum(this.#allUnderWay, more)
    const next = sum(this.#underWay.get(owner) ?? nothing, more)
    if (next.agents === 0 && next.bytes === 0) this.#underWay.delete(owner)
    else this.#underWay.set(owner, next)
  }
}

function sum(one: Owned, other: Owned): Owned {
  return { agents: one.agents + other.agents, bytes: one.bytes + other.bytes }
}

/** Who adds nothing is never refused: limits may be lower than they were. */
function isOver(all: Owned, more: Owned, most: Owned): boolean {
  return (more.agents > 0 && all.agents > most.agents) || (more.bytes > 0 && all.bytes > most.bytes)
}

function tooMuch(message: string): RegistryError {
  return new RegistryError('QUOTA', message)
}
