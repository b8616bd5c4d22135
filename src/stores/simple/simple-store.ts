/**
 * A store on functions that save, load and list texts. All tasks are in memory; each change of a task saves its document
 * before readers see the change (E-2). Opening the store loads all documents.
 *
 * Limits: one process uses the documents at a time. Leases are not saved, so no other process can take a task over while
 * this one lives. A change saves the whole document of its task. It has no records, so a registry refuses it.
 */
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { noRecords, type PartlyDefault } from '../complete-store.js'
import type { MemoryStoreOptions } from '../memory.js'
import { MemoryTasks } from '../memory.js'
import type { DeliveryProgress } from '../memory-deliveries.js'
import { isAlwaysTaken } from '../memory-row.js'
import { SerialQueue } from '../serial-queue.js'
import {
  type Append,
  type AppendOutcome,
  type CompleteStore,
  type CursorSettlement,
  type DeliveryStore,
  isSameConfig,
  type TaskKey,
} from '../store.js'
import { CommitWatchers } from '../watchers.js'
import {
  DocumentCache,
  hasEnded,
  nameOf,
  progressOf,
  readDocument,
  replay,
  type SerializedDocument,
  serializeDocument,
  serializeEntries,
  serializeEntry,
  textLength,
} from './document.js'

/** Functions that keep documents. Names have 64 characters, `0` to `9` and `a` to `f`. */
export interface SimpleStorage {
  /** Replaces the document, whole or not at all. Resolves when the new document is durable. */
  save(name: string, document: string): Promise<void>
  /** Resolves to undefined if the document does not exist. */
  load(name: string): Promise<string | undefined>
  /** The names of all documents. */
  list(): Promise<readonly string[]>
  /**
   * Removes the document of a task that expired or was evicted. Default: `save` with an empty document. The empty documents
   * then accumulate, and each start loads them.
   */
  remove?(name: string): Promise<void>
  /** Rejects if documents cannot be saved; `/readyz` is 503 then. Default: resolves. */
  ping?(): Promise<void>
  /** Called once, after all other calls have ended. */
  close?(): Promise<void>
}

/** Options of `simpleStore`. */
export interface SimpleStoreOptions extends Pick<MemoryStoreOptions, 'now' | 'maxEndedTasks' | 'maxBytes'> {
  /** Called with documents that cannot be read or removed, and when tasks with pending webhooks are evicted. */
  readonly onNotice?: (text: string, level?: 'warn' | 'error') => void
}

const storageNames = {
  save: 'function',
  load: 'function',
  list: 'function',
  remove: 'function',
  ping: 'function',
  close: 'function',
} satisfies NamesOf<SimpleStorage>

export const simpleStoreOptions = {
  now: true,
  maxEndedTasks: true,
  maxBytes: true,
  onNotice: true,
} satisfies NamesOf<SimpleStoreOptions>

/**
 * Opens a store that keeps its tasks with the given functions, for one process at a time.
 *
 * ```ts
 * const texts = new Map<string, string>()
 * const store = await simpleStore({
 *   save: async (name, document) => void texts.set(name, document),
 *   load: async (name) => texts.get(name),
 *   list: async () => [...texts.keys()],
 * })
 * ```
 */
export async function simpleStore(storage: SimpleStorage, options: SimpleStoreOptions = {}): Promise<CompleteStore> {
  assertOptions('simpleStore', options, simpleStoreOptions)
  assertStorage(storage)
  return await openDocuments(storage, options, 'simple store')
}

/** Refuses unknown functions, such as `delete`, except in instances of classes. Other members may be data of the storage. */
function assertStorage(storage: SimpleStorage): void {
  const isPlain = typeof storage !== 'object' || storage === null || Object.getPrototypeOf(storage) === Object.prototype
  if (isPlain) assertOptions('simpleStore', functionsOf(storage), storageNames)
  const missing = (['save', 'load', 'list'] as const).find((name) => typeof storage[name] !== 'function')
  if (missing)
    throw new TypeError(`simpleStore needs the functions \`save\`, \`load\` and \`list\`; \`${missing}\` is missing`)
}

function functionsOf(storage: unknown): unknown {
  if (typeof storage !== 'object' || storage === null) return storage
  const isChecked = ([name, value]: [string, unknown]) =>
    typeof value === 'function' || Object.hasOwn(storageNames, name)
  return Object.fromEntries(Object.entries(storage).filter(isChecked))
}

/** A change loads the document of its task if it is not cached. */
const maxCachedLength = 32 * 1024 * 1024
/** A change writes the whole document as one text, in which a control character takes six characters. */
const maxDocumentLength = 128 * 1024 * 1024

/** `label`: the name of the store in notices. */
export async function openDocuments(
  storage: SimpleStorage,
  options: SimpleStoreOptions,
  label: string,
): Promise<PartlyDefault> {
  const { now = Date.now, onNotice = () => undefined } = options
  const tasks = new SerialQueue()
  const keys = new SerialQueue()
  const commits = new CommitWatchers()
  const removals = new Set<Promise<void>>()
  const documents = new DocumentCache(maxCachedLength)
  let replayedMs: number | undefined
  let closing: Promise<void> | undefined

  const removeDocument = async (key: TaskKey): Promise<void> => {
    // A task with the same id may have been created since.
    if (await memory.find(key)) return
    const name = nameOf(key)
    await (storage.remove ? storage.remove(name) : storage.save(name, ''))
  }

  const onRemove = (key: TaskKey): void => {
    const name = nameOf(key)
    documents.delete(name)
    const removal = tasks
      .run(name, () => removeDocument(key))
      .catch((error) => onNotice(`The document ${name} cannot be removed: ${String(error)}`, 'error'))
      .finally(() => removals.delete(removal))
    removals.add(removal)
  }

  const memory = new MemoryTasks({ ...options, now: () => replayedMs ?? now() }, { label, onRemove })

  const documentOf = async (key: TaskKey): Promise<SerializedDocument> => {
    const cached = documents.get(nameOf(key))
    if (cached) return cached
    const text = await storage.load(nameOf(key))
    return text ? serializeEntries(readDocument(text)) : emptyDocument(key)
  }

  const save = async (document: SerializedDocument): Promise<void> => {
    const begunMs = commits.begin()
    await storage.save(nameOf(document.key), serializeDocument(document))
    commits.committed(1, begunMs)
    documents.set(document)
  }

  const assertOpen = (): void => {
    if (closing) throw new Error('The store is closed')
  }

  /** Runs a change of a task in order with its other changes, and drops its document if the task has ended. */
  const change = async <T>(key: TaskKey, work: () => Promise<T>): Promise<T> => {
    assertOpen()
    return await tasks.run(nameOf(key), async () => {
      const outcome = await work()
      const record = await memory.find(key)
      if (!record || hasEnded(record)) documents.delete(nameOf(key))
      return outcome
    })
  }

  const saveEntry = async (document: SerializedDocument, entry: string): Promise<void> =>
    save({ ...document, entries: [...document.entries, entry] })

  const saveProgress = async (
    key: TaskKey,
    id: string,
    next: (before: DeliveryProgress) => DeliveryProgress,
  ): Promise<void> => {
    if (!(await memory.find(key))) return
    const document = await documentOf(key)
    const progress = { ...document.progress, [id]: next(progressOf(document, id) ?? noProgress) }
    await save({ ...document, progress })
  }

  const appendTask = (step: Append): Promise<AppendOutcome> =>
    change(step.key, async () => {
      if (!changesTask(step)) return await memory.append(step)
      const document = step.create ? emptyDocument(step.key) : await documentOf(step.key)
      const entry = serializeEntry({ at: now(), append: step })
      const isTooLarge = textLength(document) + entry.length > maxDocumentLength
      if (isTooLarge && !isAlwaysTaken(step)) return { result: 'too-large' }
      return await memory.appendSaved(step, () => saveEntry(document, entry))
    })

  const closeAll = async (): Promise<void> => {
    await tasks.idle()
    await memory.close()
    await storage.close?.()
  }

  await replay(storage, memory, {
    onNotice,
    at: (ms) => {
      replayedMs = ms
    },
    running: (document) => documents.set(serializeEntries(document)),
  })

  const deliveries: DeliveryStore = {
    ...memory.deliveries,
    putConfig: (key, config) =>
      change(key, async () => {
        const before = await memory.deliveries.getConfig(key, config.config.id)
        const isSame = before !== undefined && isSameConfig(before, config)
        const isFull = !before && (await memory.deliveries.listConfigs(key)).length >= config.maxConfigs
        if (!isSame && !isFull && (await memory.find(key)))
          await saveEntry(await documentOf(key), serializeEntry({ at: now(), putConfig: config }))
        return await memory.deliveries.putConfig(key, config)
      }),
    deleteConfig: (key, id) =>
      change(key, async () => {
        if (!(await memory.deliveries.getConfig(key, id))) return
        const document = await documentOf(key)
        // The dead letters of the config are deleted with it.
        const progress = Object.fromEntries(Object.entries(document.progress).filter(([each]) => each !== id))
        await saveEntry({ ...document, progress }, serializeEntry({ at: now(), deleteConfig: id }))
        await memory.deliveries.deleteConfig(key, id)
      }),
    settle: (settlement) =>
      change(settlement.key, async () => {
        if (memory.holdsCursor(settlement) && !isHeld(settlement))
          await saveProgress(settlement.key, settlement.configId, (before) => settled(before, settlement, now()))
        return await memory.deliveries.settle(settlement)
      }),
    async deleteDeadLetter(id) {
      const letter = await memory.deliveries.getDeadLetter(id)
      if (!letter) return
      await change(letter.key, async () => {
        await saveProgress(letter.key, letter.configId, (before) => ({
          ...before,
          dead: before.dead.filter(({ seq }) => seq !== letter.seq),
        }))
        await memory.deliveries.deleteDeadLetter(id)
      })
    },
  }

  return {
    leases: memory.leases,
    deliveries,
    records: noRecords,
    absent: ['records'],
    changes: memory.changes,
    append: (step) =>
      step.idempotency
        ? keys.run(`${step.key.agent}\n${step.idempotency.key}`, () => appendTask(step))
        : appendTask(step),
    find: (key) => memory.find(key),
    view: (key, view) => memory.view(key, view),
    load: (key, parts) => memory.load(key, parts),
    read: (key, afterSeq, limit) => memory.read(key, afterSeq, limit),
    list: (query) => memory.list(query),
    bytesOf: (agent, owner) => memory.bytesOf(agent, owner),
    findKey: (scope, key) => memory.findKey(scope, key),
    async expire(agent, expiry) {
      assertOpen()
      const expired = await memory.expire(agent, expiry)
      await Promise.all(removals)
      return expired
    },
    stats: (agents) => memory.stats(agents),
    watchCommits: (onCommit) => commits.watch(onCommit),
    async ping() {
      await memory.ping()
      await storage.ping?.()
    },
    close() {
      closing ??= closeAll()
      return closing
    },
  }
}

function emptyDocument(key: TaskKey): SerializedDocument {
  return { key, entries: [], progress: {} }
}

/** False for a step that changes only the lease. */
function changesTask({ events, create, isRunnable, visibility, status, pushConfig }: Append): boolean {
  return (
    [create, isRunnable, visibility, status, pushConfig].some((member) => member !== undefined) || events.length > 0
  )
}

const noProgress: DeliveryProgress = { seq: 0, attempts: 0, dead: [] }

/** The worker goes on with the next events. A crash repeats the deliveries since its last release. */
function isHeld({ next, dead = [] }: CursorSettlement): boolean {
  return typeof next === 'object' && 'holdMs' in next && dead.length === 0
}

function settled(
  before: DeliveryProgress,
  { seq, attempts, dead = [] }: CursorSettlement,
  at: number,
): DeliveryProgress {
  return { seq: Math.max(before.seq, seq), attempts, dead: [...before.dead, ...dead.map((each) => ({ ...each, at }))] }
}
