/** The document of one task: the steps that made it, the changes of its webhooks, and how far these have been told. */
import { eventJson, type TaskEvent } from '../../model/event.js'
import { sizeOf } from '../../model/size-of.js'
import { isTerminal } from '../../model/task.js'
import type { Append, BuriedDelivery, NewPushConfig, TaskKey, TaskRecord } from '../store.js'

/** `at`: when it was written, in milliseconds since 1970. */
export type Entry = { readonly at: number } & (
  | { readonly append: Append }
  | { readonly putConfig: NewPushConfig }
  | { readonly deleteConfig: string }
)

/** The progress of one webhook. */
export interface Progress {
  readonly seq: number
  readonly attempts: number
  readonly dead: readonly (BuriedDelivery & { readonly at: number })[]
}

export interface TaskDocument {
  readonly key: TaskKey
  readonly entries: readonly Entry[]
  /** By the id of the config. */
  readonly progress: Readonly<Record<string, Progress>>
}

/** A document under construction: its entries are texts, so that none is spelled twice. */
export interface Draft {
  readonly key: TaskKey
  readonly entries: readonly string[]
  readonly progress: TaskDocument['progress']
}

const version = 1

/** Larger ones are not written a second time: their content is in the events. */
const maxSnapshotBytes = 1024 * 1024

export function spellDocument({ key, entries, progress }: Draft): string {
  return `{"version":${version},"key":${JSON.stringify(key)},"progress":${JSON.stringify(progress)},"entries":[\n${entries.join(',\n')}\n]}\n`
}

export function spellEntry(entry: Entry): string {
  if (!('append' in entry)) return JSON.stringify(entry)
  // Leases end with the process: a later one claims the task anew.
  const { events, lease: _lease, fence: _fence, snapshot, ...rest } = entry.append
  const isLarge = sizeOf(snapshot, maxSnapshotBytes) > maxSnapshotBytes
  const step = JSON.stringify({ ...rest, ...(snapshot && !isLarge && { snapshot }), events: [] }).slice(0, -']}'.length)
  return `{"at":${entry.at},"append":${step}${events.map(spellEvent).join(',')}]}}`
}

function spellEvent(event: TaskEvent): string {
  return `{"seq":${event.seq},"time":${event.time},"body":${eventJson(event)}}`
}

/** Throws when the text is no document of this version. */
export function readDocument(text: string): TaskDocument {
  const read = JSON.parse(text) as Partial<TaskDocument> & { readonly version?: number }
  if (read.version !== version) throw new Error(`version ${read.version} is not supported`)
  const { key, entries, progress } = read
  if (!key || !Array.isArray(entries) || !progress) throw new Error('members are missing')
  return { key, entries, progress }
}

/** Config ids come from strangers: `constructor` is one like any other. */
export function progressOf({ progress }: Pick<TaskDocument, 'progress'>, id: string): Progress | undefined {
  return Object.hasOwn(progress, id) ? progress[id] : undefined
}

export function draftOf({ key, entries, progress }: TaskDocument): Draft {
  return { key, entries: entries.map(spellEntry), progress }
}

/** Whether a task has ended, or the exchange that made none. */
export function isOver({ state, visibility }: TaskRecord): boolean {
  return visibility === 'message' || (state !== undefined && isTerminal(state))
}
