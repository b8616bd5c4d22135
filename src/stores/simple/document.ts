/** The document of one task: its steps, the changes of its webhooks, and their delivery progress. */
import { createHash } from 'node:crypto'
import type { TaskEvent } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import { sizeOf } from '../../model/size-of.js'
import { isTerminal } from '../../model/task.js'
import type { MemoryTasks } from '../memory.js'
import type { DeliveryProgress } from '../memory-deliveries.js'
import type { Append, NewPushConfig, TaskKey, TaskRecord } from '../store.js'

/** `at`: the time of the change, in milliseconds since 1970. */
export type Entry = { readonly at: number } & (
  | { readonly append: Append }
  | { readonly putConfig: NewPushConfig }
  | { readonly deleteConfig: string }
)

interface TaskDocument {
  readonly key: TaskKey
  readonly entries: readonly Entry[]
  /** By the id of the config. */
  readonly progress: Readonly<Record<string, DeliveryProgress>>
}

/** A document whose entries are serialized already, so that a change serializes only its own entry. */
export interface SerializedDocument {
  readonly key: TaskKey
  readonly entries: readonly string[]
  readonly progress: TaskDocument['progress']
}

const version = 1

/** Larger snapshots are not saved: the events have their content. */
const maxSnapshotBytes = 1024 * 1024

export function serializeDocument({ key, entries, progress }: SerializedDocument): string {
  return `{"version":${version},"key":${JSON.stringify(key)},"progress":${JSON.stringify(progress)},"entries":[\n${entries.join(',\n')}\n]}\n`
}

/** The approximate length of the text. */
export function textLength({ entries }: SerializedDocument): number {
  return entries.reduce((length, entry) => length + entry.length, 0)
}

export function serializeEntry(entry: Entry): string {
  if ('putConfig' in entry) return JSON.stringify({ ...entry, putConfig: storedConfig(entry.putConfig) })
  if (!('append' in entry)) return JSON.stringify(entry)
  // Leases end with the process: a later process claims the task again.
  const { events, lease: _lease, fencingToken: _token, snapshot, pushConfig, ...rest } = entry.append
  const isLarge = sizeOf(snapshot, maxSnapshotBytes) > maxSnapshotBytes
  const saved = {
    ...rest,
    ...(pushConfig && { pushConfig: storedConfig(pushConfig) }),
    ...(snapshot && !isLarge && { snapshot }),
    events: [],
  }
  const step = JSON.stringify(saved).slice(0, -']}'.length)
  return `{"at":${entry.at},"append":${step}${events.map(serializeEvent).join(',')}]}}`
}

/** Documents call the limit of configs `most`. */
function storedConfig({ maxConfigs, ...config }: NewPushConfig): object {
  return { ...config, most: maxConfigs }
}

function readConfig(stored: NewPushConfig & { readonly most?: number }): NewPushConfig {
  const { most = Number.POSITIVE_INFINITY, ...config } = stored
  return { ...config, maxConfigs: most }
}

function readEntry(entry: Entry): Entry {
  if ('putConfig' in entry) return { ...entry, putConfig: readConfig(entry.putConfig) }
  if (!('append' in entry) || !entry.append.pushConfig) return entry
  return { ...entry, append: { ...entry.append, pushConfig: readConfig(entry.append.pushConfig) } }
}

function serializeEvent({ seq, time, body, json }: TaskEvent): string {
  // Not `EventJson`, which keeps the text with the event: it can be six times as long as the content.
  return `{"seq":${seq},"time":${time},"body":${json ?? JSON.stringify(body)}}`
}

export function serializeEntries({ key, entries, progress }: TaskDocument): SerializedDocument {
  return { key, entries: entries.map(serializeEntry), progress }
}

/** Throws if the text is not a document of this version. */
export function readDocument(text: string): TaskDocument {
  const read: unknown = JSON.parse(text)
  if (!isObject(read)) throw new Error('it is not an object')
  if (read.version !== version) throw new Error(`version ${JSON.stringify(read.version)} is not supported`)
  const { key, entries, progress } = read
  if (!isKey(key) || !Array.isArray(entries) || !isObject(progress)) throw new Error('members are missing')
  const [creation] = entries
  if (!isEntry(creation) || !('append' in creation) || !creation.append.create)
    throw new Error('the task is not created')
  const wrong = entries.findIndex((entry) => !isEntry(entry))
  if (wrong !== -1) throw new Error(`entry ${wrong} is invalid`)
  return { key, entries: entries.map(readEntry), progress: progress as TaskDocument['progress'] }
}

function isKey(value: unknown): value is TaskKey {
  return isObject(value) && typeof value.agent === 'string' && typeof value.id === 'string'
}

function isEntry(value: unknown): value is Entry {
  if (!isObject(value) || typeof value.at !== 'number') return false
  const { append, putConfig, deleteConfig } = value
  if (append !== undefined)
    return isObject(append) && isKey(append.key) && Array.isArray(append.events) && append.events.every(isEvent)
  if (putConfig !== undefined) return isObject(putConfig) && isObject(putConfig.config)
  return typeof deleteConfig === 'string'
}

function isEvent(value: unknown): boolean {
  return isObject(value) && typeof value.seq === 'number' && typeof value.time === 'number' && isObject(value.body)
}

/** Clients choose config ids: `constructor` is a valid one. */
export function progressOf({ progress }: Pick<TaskDocument, 'progress'>, id: string): DeliveryProgress | undefined {
  return Object.hasOwn(progress, id) ? progress[id] : undefined
}

/** True for an ended task, and for an exchange that ended with a message instead of a task. */
export function hasEnded({ state, visibility }: TaskRecord): boolean {
  return visibility === 'message' || (state !== undefined && isTerminal(state))
}

/** Clients choose task ids, and names become paths: a digest is a valid name in every storage. */
export function nameOf({ agent, id }: TaskKey): string {
  return createHash('sha256').update(`${agent}\n${id}`).digest('hex')
}

/** The documents of open tasks that changed last, by name. Their texts can be much longer than the tasks in memory. */
export class DocumentCache {
  readonly #maxLength: number
  readonly #documents = new Map<string, SerializedDocument>()
  #length = 0

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  get(name: string): SerializedDocument | undefined {
    return this.#documents.get(name)
  }

  set(document: SerializedDocument): void {
    const name = nameOf(document.key)
    this.delete(name)
    this.#documents.set(name, document)
    this.#length += textLength(document)
    for (const oldest of this.#documents.keys()) {
      if (this.#length <= this.#maxLength) return
      this.delete(oldest)
    }
  }

  delete(name: string): void {
    const document = this.#documents.get(name)
    if (!document) return
    this.#documents.delete(name)
    this.#length -= textLength(document)
  }
}

interface ReplayDeps {
  readonly onNotice: (text: string, level?: 'warn' | 'error') => void
  /** Sets the clock of the memory; undefined is now. */
  readonly at: (ms: number | undefined) => void
  /** Called with each task that has not ended. */
  readonly running: (document: TaskDocument) => void
}

interface Documents {
  list(): Promise<readonly string[]>
  load(name: string): Promise<string | undefined>
}

const loadedAtOnce = 16

export async function replay(documents: Documents, memory: MemoryTasks, deps: ReplayDeps): Promise<void> {
  const read = await readAll(documents, deps)
  // Oldest first: memory evicts in the order in which tasks ended.
  read.sort((a, b) => lastChangeMs(a) - lastChangeMs(b))
  for (const document of read) {
    try {
      await replayTask(document, memory, deps)
    } catch (error) {
      deps.onNotice(`The document ${nameOf(document.key)} is restored in part: ${reasonOf(error)}`, 'error')
    }
  }
  deps.at(undefined)
}

async function readAll(documents: Documents, { onNotice }: ReplayDeps): Promise<TaskDocument[]> {
  const names = await documents.list()
  const read: TaskDocument[] = []
  for (let place = 0; place < names.length; place += loadedAtOnce) {
    const some = names.slice(place, place + loadedAtOnce)
    const loaded = await Promise.allSettled(some.map(async (name) => readNamed(name, await documents.load(name))))
    for (const [index, result] of loaded.entries()) {
      if (result.status === 'fulfilled') read.push(...result.value)
      else onNotice(`The document ${some[index]} cannot be read and is left out: ${reasonOf(result.reason)}`, 'error')
    }
  }
  return read
}

/** Returns nothing for an empty document, which was removed. */
function readNamed(name: string, text: string | undefined): readonly TaskDocument[] {
  if (!text) return []
  const document = readDocument(text)
  if (nameOf(document.key) !== name) throw new Error('it has the name of another task')
  return [document]
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function lastChangeMs({ entries }: TaskDocument): number {
  return entries.at(-1)?.at ?? 0
}

async function replayTask(document: TaskDocument, memory: MemoryTasks, deps: ReplayDeps): Promise<void> {
  for (const entry of document.entries) {
    deps.at(entry.at)
    await replayEntry(document, entry, memory)
  }
  deps.at(undefined)
  memory.restoreProgress(document.key, (configId) => progressOf(document, configId))
  const record = await memory.find(document.key)
  if (record && !hasEnded(record)) deps.running(document)
}

async function replayEntry({ key }: TaskDocument, entry: Entry, memory: MemoryTasks): Promise<void> {
  if ('append' in entry) memory.apply(entry.append)
  else if ('putConfig' in entry) await memory.deliveries.putConfig(key, entry.putConfig)
  else await memory.deliveries.deleteConfig(key, entry.deleteConfig)
}
