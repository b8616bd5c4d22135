/**
 * Makes tasks as callers see them. A running task has no snapshot: SQL stores read its status, its newest messages and
 * its artifacts from the batches of the log that contain them.
 */

import type { Artifact } from '../model/artifact.js'
import type { TaskEvent } from '../model/event.js'
import { type HistoryWindow, historyMessage, newestMessages } from '../model/history-window.js'
import type { Message } from '../model/message.js'
import { sizeOf } from '../model/size-of.js'
import type { Task } from '../model/task.js'
import { TaskFold } from '../model/task-fold.js'
import type { LoadedTask, TaskRecord, ViewedTask, ViewOptions } from './store.js'

/**
 * The kinds of batches, by content. The index of events begins with them, so that each reader finds the batches it needs.
 * Rows of older versions have kind 0 or 4 for every content.
 */
export const batchKinds = {
  artifacts: 0,
  other: 1,
  history: 2,
  otherAndArtifacts: 3,
  historyAndArtifacts: 4,
} as const

/** SQL lists of the kinds. */
export const kindsWithHistory = '(2, 4)'
export const kindsWithArtifacts = '(0, 3, 4)'
export const kindsWithOthers = '(1, 2, 3, 4)'

export function kindOf(events: readonly TaskEvent[]): number {
  let hasArtifacts = false
  let hasOthers = false
  let hasHistory = false
  for (const { body } of events) {
    if ('artifactUpdate' in body) hasArtifacts = true
    else {
      hasOthers = true
      hasHistory ||= historyMessage(body) !== undefined
    }
  }
  if (!hasOthers) return batchKinds.artifacts
  if (hasHistory) return hasArtifacts ? batchKinds.historyAndArtifacts : batchKinds.history
  return hasArtifacts ? batchKinds.otherAndArtifacts : batchKinds.other
}

/** Larger histories are not copied into the snapshot: callers want the newest messages, which the log has. */
const maxSnapshotHistory = 64 * 1024
/** Larger artifacts are not copied into the snapshot, so that the end of a task is fast in any case. */
const maxSnapshotArtifacts = 16 * 1024 * 1024

/** The parts that a snapshot lacks, as the number that is stored. */
export const inLog = { nothing: 0, history: 1, artifacts: 2 } as const

export interface SnapshotRow {
  readonly head: string
  readonly artifacts: string | null
  readonly inLog: number
}

export function snapshotRow({ artifacts, history, ...head }: Task): SnapshotRow {
  const isLongHistory = sizeOf(history, maxSnapshotHistory) > maxSnapshotHistory
  const isLarge = sizeOf(artifacts, maxSnapshotArtifacts) > maxSnapshotArtifacts
  return {
    head: JSON.stringify(isLongHistory || !history ? head : { ...head, history }),
    artifacts: artifacts && !isLarge ? JSON.stringify(artifacts) : null,
    inLog: (isLongHistory ? inLog.history : 0) + (isLarge ? inLog.artifacts : 0),
  }
}

/** The size of a batch with history. */
export interface BatchSize {
  readonly last: number
  readonly bytes: number
}

/** The number of newest batches to read at once for the window. */
export function tailLength(batches: readonly BatchSize[], { messages, characters }: HistoryWindow): number {
  let bytes = 0
  const end = batches.findIndex((batch, place) => {
    bytes += batch.bytes
    return place >= messages || (place > 0 && bytes > characters)
  })
  return end < 0 ? batches.length : end
}

/** Collects the newest messages, from the newest batch to older ones. */
export class HistoryTail {
  readonly #window: HistoryWindow
  /** Oldest first. */
  #messages: readonly Message[] = []

  constructor(window: HistoryWindow) {
    this.#window = window
  }

  /** Adds events before all others, oldest first. True if the window has room for more. */
  addOlder(events: readonly TaskEvent[]): boolean {
    const messages = events.flatMap(({ body }) => historyMessage(body) ?? [])
    const all = [...messages, ...this.#messages]
    this.#messages = newestMessages(all, this.#window)
    return this.#messages.length === all.length && all.length < this.#window.messages
  }

  get messages(): readonly Message[] {
    return this.#messages
  }
}

/** The status and the metadata of a task. */
export type TaskHead = Pick<Task, 'status' | 'metadata'>

/** The newest status among events. Its event has the whole metadata of the task, see `TaskStatusUpdateEvent`. */
export function headIn(events: readonly TaskEvent[]): TaskHead | undefined {
  for (let place = events.length - 1; place >= 0; place--) {
    const { body } = events[place] as TaskEvent // place is within the events
    if ('statusUpdate' in body) return body.statusUpdate
    if ('task' in body) return body.task
  }
  return undefined
}

/** The artifacts that events make. Other events are skipped. */
export function artifactsIn(events: readonly TaskEvent[]): readonly Artifact[] | undefined {
  const fold = TaskFold.from({ id: '', contextId: '', status: { state: 'TASK_STATE_WORKING' } }, 0)
  for (const event of events) {
    if (!('artifactUpdate' in event.body)) continue
    fold.seq = event.seq - 1
    fold.apply(event)
  }
  return fold.snapshot()?.artifacts
}

/** A task as callers see it, made from its log or snapshot. Undefined if there is no task to see. */
export function viewTask(
  loaded: LoadedTask | undefined,
  { history, includeArtifacts }: ViewOptions,
): ViewedTask | undefined {
  if (!loaded) return undefined
  const { record, snapshot, events } = loaded
  const head = snapshot ?? headIn(events)
  if (!head) return undefined
  const messages = snapshot ? (snapshot.history ?? []) : events.flatMap(({ body }) => historyMessage(body) ?? [])
  const artifacts = includeArtifacts ? (snapshot ? snapshot.artifacts : artifactsIn(events)) : undefined
  return viewOf(record, head, newestMessages(messages, history), artifacts)
}

/** Assembles a view from its parts. */
export function viewOf(
  record: TaskRecord,
  head: TaskHead,
  history: readonly Message[],
  artifacts: readonly Artifact[] | undefined,
): ViewedTask {
  const { status, metadata } = head
  const task: Task = {
    id: record.key.id,
    contextId: record.contextId,
    status,
    ...(artifacts && { artifacts }),
    ...(history.length > 0 && { history }),
    ...(metadata && { metadata }),
  }
  return { record, task }
}

/** As many items as fit into a size, and the first one in any case. */
export function withinBudget<Item>(
  items: readonly Item[],
  budget: number | undefined,
  sizeOf: (item: Item) => number,
): readonly Item[] {
  if (budget === undefined) return items
  let size = 0
  const end = items.findIndex((item, place) => {
    size += sizeOf(item)
    return place > 0 && size > budget
  })
  return end < 0 ? items : items.slice(0, end)
}
