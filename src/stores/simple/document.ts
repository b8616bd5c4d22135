/** The document of one task: its steps, the changes of its webhooks, and their delivery progress. */
import { eventJson, type TaskEvent } from '../../model/event.js'
import { sizeOf } from '../../model/size-of.js'
import { isTerminal } from '../../model/task.js'
import type { DeliveryProgress } from '../memory-lanes.js'
import type { Append, NewPushConfig, TaskKey, TaskRecord } from '../store.js'

/** `at`: the time of the change, in milliseconds since 1970. */
export type Entry = { readonly at: number } & (
  | { readonly append: Append }
  | { readonly putConfig: NewPushConfig }
  | { readonly deleteConfig: string }
)

export interface TaskDocument {
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

export function serializeEntry(entry: Entry): string {
  if (!('append' in entry)) return JSON.stringify(entry)
  // Leases end with the process: a later process claims the task again.
  const { events, lease: _lease, fence: _fence, snapshot, ...rest } = entry.append
  const isLarge = sizeOf(snapshot, maxSnapshotBytes) > maxSnapshotBytes
  const step = JSON.stringify({ ...rest, ...(snapshot && !isLarge && { snapshot }), events: [] }).slice(0, -']}'.length)
  return `{"at":${entry.at},"append":${step}${events.map(serializeEvent).join(',')}]}}`
}

function serializeEvent(event: TaskEvent): string {
  return `{"seq":${event.seq},"time":${event.time},"body":${eventJson(event)}}`
}

export function serializeEntries({ key, entries, progress }: TaskDocument): SerializedDocument {
  return { key, entries: entries.map(serializeEntry), progress }
}

/** Throws if the text is not a document of this version. */
export function readDocument(text: string): TaskDocument {
  const read = JSON.parse(text) as Partial<TaskDocument> & { readonly version?: number }
  if (read.version !== version) throw new Error(`version ${read.version} is not supported`)
  const { key, entries, progress } = read
  if (!key || !Array.isArray(entries) || !progress) throw new Error('members are missing')
  return { key, entries, progress }
}

/** Clients choose config ids: `constructor` is a valid one. */
export function progressOf({ progress }: Pick<TaskDocument, 'progress'>, id: string): DeliveryProgress | undefined {
  return Object.hasOwn(progress, id) ? progress[id] : undefined
}

/** True for an ended task, and for an exchange that ended with a message instead of a task. */
export function hasEnded({ state, visibility }: TaskRecord): boolean {
  return visibility === 'message' || (state !== undefined && isTerminal(state))
}
