/**
 * Validates the records that are read from the store, and converts those of older versions. An unreadable record counts
 * as absent; the first one is reported. One bad record must not make the registry unusable.
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
  let isReported = false
  const report = (id: string, readable: unknown): unknown => {
    if (readable === undefined && !isReported) {
      isReported = true
      onUnreadable(new Error(`The record ${id} has an unknown form; it and others like it are ignored`))
    }
    return readable
  }
  return {
    ...passThrough(records),
    async get(of, id) {
      const found = await records.get(of, id)
      return found && { ...found, value: report(id, documentOf(of, id, found.value)) }
    },
    async readAfter(of, revision, limit) {
      const page = await records.readAfter(of, revision, limit)
      const changes = page.changes.map((change) => {
        const { id, value } = change
        return value === undefined ? change : { ...change, value: report(id, withCard(documentOf(of, id, value))) }
      })
      return { ...page, changes }
    },
  }
}

/** Wrapped, because `records` may be an instance of a class. */
function passThrough(records: RecordStore): Omit<RecordStore, 'get' | 'readAfter'> {
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
  // Other collections, such as the lease of the prober.
  const about = of === collection ? readId(id) : undefined
  if (!about) return value
  if (about.kind === 'agent') return agentIn(value)
  return about.kind === 'health' ? healthIn(value) : instanceIn(value)
}

function agentIn(value: unknown): AgentDocument | undefined {
  const isIt =
    isObject(value) && typeof value.owner === 'string' && typeof value.latest === 'string' && isObject(value.versions)
  return isIt ? (value as unknown as AgentDocument) : undefined // checked above
}

function healthIn(value: unknown): HealthDocument | undefined {
  const isIt = isObject(value) && typeof value.state === 'string' && isObject(value.levels)
  return isIt ? (value as unknown as HealthDocument) : undefined // checked above
}

/** Older versions stored cards as objects. */
function instanceIn(value: unknown): InstanceDocument | undefined {
  if (!isObject(value) || typeof value.url !== 'string' || !Array.isArray(value.tags)) return undefined
  const [card, published] = [textOf(value.card), textOf(value.published)]
  if (published === undefined || !isObject(value.signature)) return undefined
  const { card: _card, ...rest } = value
  return { ...rest, published, ...(card !== undefined && { card }) } as unknown as InstanceDocument // checked above
}

function textOf(value: unknown): string | undefined {
  return isObject(value) ? JSON.stringify(value) : typeof value === 'string' ? value : undefined
}

/** Only followers of the log parse cards, so only their reads check them. */
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

/** Converts errors of the store to `UNAVAILABLE`, with the original error as cause. */
export function reachableRecords(records: RecordStore): RecordStore {
  const guard = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work
    } catch (cause) {
      throw new RegistryError('UNAVAILABLE', 'The store is not available; try again', { cause, retryAfterSeconds: 1 })
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

/** The underlying error, for the log. */
export function reasonOf(error: unknown): unknown {
  return error instanceof RegistryError && error.cause !== undefined ? error.cause : error
}
