/**
 * A store on functions that save, load and list texts. All tasks are in memory; each change of a task saves its document
 * before anyone sees the change (E-2). Opening the store loads all documents.
 *
 * Limits: one process uses the documents at a time. Leases are not saved, so no other process can take a task over while
 * this one lives. A change saves the whole document of its task. Records are not kept.
 */
import { createHash } from 'node:crypto'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { CommitWatchers } from '../commit-watchers.js'
import { MemoryStore } from '../memory.js'
import type { MemoryStoreOptions } from '../memory-options.js'
import type { Records } from '../records.js'
import {
  type Append,
  type AppendOutcome,
  isSameConfig,
  type LaneSettlement,
  type Store,
  type TaskKey,
} from '../store.js'
import {
  type Draft,
  draftOf,
  type Entry,
  isOver,
  type Progress,
  progressOf,
  readDocument,
  spellDocument,
  spellEntry,
} from './document.js'
import { InOrder } from './in-order.js'
import { replay } from './replay.js'

/** Where documents are kept. Names have 64 characters, `0` to `9` and `a` to `f`. */
export interface SimpleStorage {
  /** Keeps the document in place of the former one, whole or not at all. Resolves when it is kept. */
  save(name: string, document: string): Promise<void>
  /** Undefined when there is no such document. */
  load(name: string): Promise<string | undefined>
  /** The names of all documents. */
  list(): Promise<readonly string[]>
  /** Default: `save` with an empty document. */
  remove?(name: string): Promise<void>
  /** Called once, after the last call of the others. */
  close?(): Promise<void>
}

export interface SimpleStoreOptions extends Pick<MemoryStoreOptions, 'now' | 'maxEndedTasks' | 'maxBytes'> {
  /** Called with documents that cannot be read or removed, and with tasks that are evicted before their webhooks are told. */
  readonly onNotice?: (text: string, level?: 'warn' | 'error') => void
}

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
export async function simpleStore(storage: SimpleStorage, options: SimpleStoreOptions = {}): Promise<Store> {
  assertOptions('simpleStore', options, simpleStoreOptions)
  const { now = Date.now, onNotice = () => undefined } = options
  const tasks = new InOrder()
  const keys = new InOrder()
  const commits = new CommitWatchers()
  const removals = new Set<Promise<void>>()
  /** Documents of tasks that have not ended. Others are loaded when they change. */
  const drafts = new Map<string, Draft>()
  let replayedMs: number | undefined

  const memory = new MemoryStore({
    ...options,
    now: () => replayedMs ?? now(),
    onRemove: (key) => {
      const name = nameOf(key)
      const removal = tasks
        .run(name, async () => {
          drafts.delete(name)
          await (storage.remove ? storage.remove(name) : storage.save(name, ''))
        })
        .catch((error) => onNotice(`The document ${name} cannot be removed: ${String(error)}`, 'error'))
        .finally(() => removals.delete(removal))
      removals.add(removal)
    },
  })

  const draftFor = async (key: TaskKey): Promise<Draft> => {
    const name = nameOf(key)
    const text = drafts.has(name) ? undefined : await storage.load(name)
    return drafts.get(name) ?? (text ? draftOf(readDocument(text)) : { key, entries: [], progress: {} })
  }

  const save = async (draft: Draft): Promise<void> => {
    const begunMs = commits.begin()
    await storage.save(nameOf(draft.key), spellDocument(draft))
    commits.committed(1, begunMs)
    drafts.set(nameOf(draft.key), draft)
  }

  /** Runs a change of a task in order with its other changes, and drops its draft if the task has ended. */
  const change = <T>(key: TaskKey, work: () => Promise<T>): Promise<T> =>
    tasks.run(nameOf(key), async () => {
      const outcome = await work()
      const record = await memory.find(key)
      if (!record || isOver(record)) drafts.delete(nameOf(key))
      return outcome
    })

  const saveEntry = async (key: TaskKey, entry: Entry): Promise<void> => {
    const draft = await draftFor(key)
    await save({ ...draft, entries: [...draft.entries, spellEntry(entry)] })
  }

  const saveProgress = async (key: TaskKey, id: string, next: (before: Progress) => Progress): Promise<void> => {
    if (!(await memory.find(key))) return
    const draft = await draftFor(key)
    await save({ ...draft, progress: { ...draft.progress, [id]: next(progressOf(draft, id) ?? nothingTold) } })
  }

  const appendTask = (step: Append): Promise<AppendOutcome> =>
    change(step.key, async () => {
      const refusal = memory.check(step)
      if (refusal) return refusal
      if (changesTask(step)) await saveEntry(step.key, { at: now(), append: step })
      return memory.apply(step)
    })

  await replay(storage, memory, {
    onNotice,
    at: (ms) => {
      replayedMs = ms
    },
    running: (document) => drafts.set(nameOf(document.key), draftOf(document)),
  })

  return {
    records: noRecords,
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
    claim: (request) => memory.claim(request),
    renew: (held, lease) => memory.renew(held, lease),
    leaseOwners: () => memory.leaseOwners(),
    disown: (owner) => memory.disown(owner),
    putPushConfig: (key, config) =>
      change(key, async () => {
        const before = await memory.getPushConfig(key, config.config.id)
        const outcome = await memory.putPushConfig(key, config)
        const isNew = outcome === 'ok' && !(before && isSameConfig(before, config))
        if (isNew) await saveEntry(key, { at: now(), putConfig: config })
        return outcome
      }),
    listPushConfigs: (key, page) => memory.listPushConfigs(key, page),
    getPushConfig: (key, id) => memory.getPushConfig(key, id),
    deletePushConfig: (key, id) =>
      change(key, async () => {
        const before = await memory.getPushConfig(key, id)
        await memory.deletePushConfig(key, id)
        if (!before) return
        // Its dead letters go with it.
        const draft = await draftFor(key)
        const progress = Object.fromEntries(Object.entries(draft.progress).filter(([each]) => each !== id))
        await save({ ...draft, progress, entries: [...draft.entries, spellEntry({ at: now(), deleteConfig: id })] })
      }),
    claimLanes: (request) => memory.claimLanes(request),
    settleLane: (settlement) =>
      change(settlement.key, async () => {
        const isSettled = await memory.settleLane(settlement)
        if (isSettled && !isHeld(settlement))
          await saveProgress(settlement.key, settlement.configId, (before) => settled(before, settlement, now()))
        return isSettled
      }),
    listDeadLetters: (query) => memory.listDeadLetters(query),
    getDeadLetter: (id) => memory.getDeadLetter(id),
    async deleteDeadLetter(id) {
      const letter = await memory.getDeadLetter(id)
      if (!letter) return
      await change(letter.key, async () => {
        await memory.deleteDeadLetter(id)
        await saveProgress(letter.key, letter.configId, (before) => ({
          ...before,
          dead: before.dead.filter(({ seq }) => seq !== letter.seq),
        }))
      })
    },
    async expire(agent, expiry) {
      const expired = await memory.expire(agent, expiry)
      await Promise.all(removals)
      return expired
    },
    watch: (key, onChange) => memory.watch(key, onChange),
    watchRunnable: (agent, onChange) => memory.watchRunnable(agent, onChange),
    watchLanes: (agent, onChange) => memory.watchLanes(agent, onChange),
    stats: (agents) => memory.stats(agents),
    watchCommits: (onCommit) => commits.watch(onCommit),
    ping: () => memory.ping(),
    async close() {
      await tasks.idle()
      await memory.close()
      await storage.close?.()
    },
  }
}

/** Ids come from strangers, and names become paths: a digest is a name that every storage takes. */
function nameOf({ agent, id }: TaskKey): string {
  return createHash('sha256').update(`${agent}\n${id}`).digest('hex')
}

/** Other steps move a lease. */
function changesTask({ events, create, isRunnable, visibility, status, pushConfig }: Append): boolean {
  return (
    [create, isRunnable, visibility, status, pushConfig].some((member) => member !== undefined) || events.length > 0
  )
}

const nothingTold: Progress = { seq: 0, attempts: 0, dead: [] }

/** The worker tells more events at once. Those since its last release are told again after a crash. */
function isHeld({ next, dead = [] }: LaneSettlement): boolean {
  return typeof next === 'object' && 'holdMs' in next && dead.length === 0
}

function settled(before: Progress, { seq, attempts, dead = [] }: LaneSettlement, at: number): Progress {
  return { seq: Math.max(before.seq, seq), attempts, dead: [...before.dead, ...dead.map((each) => ({ ...each, at }))] }
}

const noRecords = new Proxy({} as Records, {
  get: () => {
    throw new Error('This store keeps tasks only: a registry needs sqlite:PATH or postgres://…')
  },
})
