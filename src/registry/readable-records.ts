/**
 * Records as this version of the registry writes them. What an older one left in the store is read in its form; what
 * nobody here can read counts as absent, and the first of it is told of: one record never stands in the way of all.
 */
import { isObject } from '../model/is-object.js'
import { RegistryError } from '../registry-client/registry-error.js'
import type { RecordStore } from '../stores/records.js'
import {
  type AgentDocument,
  cardTextOf,
  collection,
  type HealthDocument,
  type InstanceDocument,
  probeCollection,
  readId,
} from './documents.js'

export function readableRecords(records: RecordStore, onUnreadable: (error: Error) => void): RecordStore {
  let isTold = false
  const told = (id: string, readable: unknown): unknown => {
    if (readable === undefined && !isTold) {
      isTold = true
      onUnreadable(new Error(`The record ${id} is of an unknown form: it, and others like it, are passed over`))
    }
    return readable
  }
  return {
    ...bound(records),
    async get(of, id) {
      const found = await records.get(of, id)
      return found && { ...found, value: told(id, documentOf(of, id, found.value)) }
    },
    async readAfter(of, revision, limit) {
      const page = await records.readAfter(of, revision, limit)
      const changes = page.changes.map((change) => {
        const { id, value } = change
        return value === undefined ? change : { ...change, value: told(id, withCard(documentOf(of, id, value))) }
      })
      return { ...page, changes }
    },
  }
}

/** What is only passed on. A store's records may be an instance of a class. */
function bound(records: RecordStore): Omit<RecordStore, 'get' | 'readAfter'> {
  return {
    put: (...given) => records.put(...given),
    delete: (...given) => records.delete(...given),
    renew: (...given) => records.renew(...given),
    expire: (...given) => records.expire(...given),
    watch: (...given) => records.watch(...given),
  }
}

function documentOf(of: string, id: string, value: unknown): unknown {
  if (of === probeCollection) return Array.isArray(value) ? value : undefined
  // The lease of whoever probes, and what else lies beside the agents.
  const about = of === collection ? readId(id) : undefined
  if (!about) return value
  if (about.kind === 'agent') return agentIn(value)
  return about.kind === 'health' ? healthIn(value) : instanceIn(value)
}

function agentIn(value: unknown): AgentDocument | undefined {
  const isIt =
    isObject(value) && typeof value.owner === 'string' && typeof value.latest === 'string' && isObject(value.versions)
  return isIt ? (value as unknown as AgentDocument) : undefined // what matters of it was looked at
}

function healthIn(value: unknown): HealthDocument | undefined {
  const isIt = isObject(value) && typeof value.state === 'string' && isObject(value.levels)
  return isIt ? (value as unknown as HealthDocument) : undefined // likewise
}

/** Cards were objects once; now they are texts. */
function instanceIn(value: unknown): InstanceDocument | undefined {
  if (!isObject(value) || typeof value.url !== 'string' || !Array.isArray(value.tags)) return undefined
  const [card, published] = [textOf(value.card), textOf(value.published)]
  if (published === undefined || !isObject(value.signature)) return undefined
  const { card: _card, ...rest } = value
  return { ...rest, published, ...(card !== undefined && { card }) } as unknown as InstanceDocument // likewise
}

function textOf(value: unknown): string | undefined {
  return isObject(value) ? JSON.stringify(value) : typeof value === 'string' ? value : undefined
}

/** Cards are understood where the log is followed, and only passed on elsewhere: there they are not looked into. */
function withCard(document: unknown): unknown {
  if (!isObject(document) || typeof document.published !== 'string') return document
  return isCard(cardTextOf(document as unknown as InstanceDocument)) ? document : undefined
}

function isCard(text: string): boolean {
  try {
    const card: unknown = JSON.parse(text)
    const isSkill = (each: unknown) => isObject(each) && Array.isArray(each.tags)
    return isObject(card) && typeof card.name === 'string' && Array.isArray(card.skills) && card.skills.every(isSkill)
  } catch {
    return false
  }
}

export function reachableRecords(records: RecordStore): RecordStore {
  const guard = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work
    } catch (cause) {
      throw new RegistryError('UNAVAILABLE', 'The store is not available, try again', { cause, retryAfterSeconds: 1 })
    }
  }
  return {
    get: (...args) => guard(records.get(...args)),
    put: (...args) => guard(records.put(...args)),
    delete: (...args) => guard(records.delete(...args)),
    renew: (...args) => guard(records.renew(...args)),
    readAfter: (...args) => guard(records.readAfter(...args)),
    expire: (...args) => guard(records.expire(...args)),
    watch: (...args) => records.watch(...args),
  }
}

/** For the log: what went wrong, not what callers are told of it. */
export function reasonOf(error: unknown): unknown {
  return error instanceof RegistryError && error.cause !== undefined ? error.cause : error
}
