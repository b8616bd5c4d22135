/** Conversion between rows of the SQL stores and the model. A state is stored as its index in `taskStates`; do not reorder them. */
import type { EventBody, TaskEvent } from '../model/event.js'
import { EventJson } from '../model/event-json.js'
import { type TaskState, taskStates } from '../model/task.js'
import type { DeadLetter, NewPushConfig, StoredPushConfig, TaskRecord, Visibility } from './store.js'

export const noState = -1

const visibilities: readonly Visibility[] = ['provisional', 'task', 'message']

export function stateNumber(state: TaskState): number {
  return taskStates.indexOf(state)
}

export function visibilityNumber(visibility: Visibility): number {
  return visibilities.indexOf(visibility)
}

/** The counts of a scope are updated when a task has grown by this much, and at every change of state. */
export const countStep = 64 * 1024

/** The state that a task is counted under: its own if it is visible, `noState` for Message answers, else none. */
export function countedAs(visibility: number, state: number): number | undefined {
  if (visibility === 1 && state !== noState) return state
  return visibility === 2 ? noState : undefined
}

export type RecordRow = [
  rowId: number,
  agent: string,
  taskId: string,
  tenant: string,
  owner: string,
  contextId: string,
  dialect: string,
  visibility: number,
  seq: number,
  fencingToken: number,
  leaseOwner: string | null,
  leaseUntil: number,
  state: number,
  /** The last sequence of the batch with the newest status; 0 if unknown. */
  statusLast: number,
  bytes: number,
]

export function readRecord(row: RecordRow, now: number): TaskRecord {
  const [
    ,
    agent,
    id,
    tenant,
    owner,
    contextId,
    dialect,
    visibility,
    seq,
    fencingToken,
    leaseOwner,
    leaseUntil,
    stateAt,
    ,
    bytes,
  ] = row
  const state = taskStates[stateAt]
  return {
    key: { agent: fromStorable(agent), id: fromStorable(id) },
    tenant: fromStorable(tenant),
    owner: fromStorable(owner),
    contextId: fromStorable(contextId),
    dialect,
    visibility: visibilities[visibility] ?? 'provisional',
    seq,
    fencingToken,
    ...(leaseOwner !== null && leaseUntil > now && { leaseOwner }),
    ...(state && { state }),
    bytes,
  }
}

export type EventRow = [first: number, last: number, timeMs: number, body: string]

/** Serialises a batch. Events that are serialised for the wire already are reused. */
export function batchBody(events: readonly TaskEvent[]): string {
  const json = new EventJson()
  let body = '['
  for (const event of events) body += body === '[' ? json.of(event) : `,${json.of(event)}`
  return `${body}]`
}

export function readBatch([first, , timeMs, body]: EventRow): TaskEvent[] {
  const bodies = JSON.parse(body) as EventBody[] // written by `batchBody`
  return bodies.map((each, place) => ({ seq: first + place, time: timeMs, body: each }))
}

/** Serialises a push config without its limit. */
export function configBody({ maxConfigs: _most, ...push }: NewPushConfig): string {
  return JSON.stringify(push)
}

export function readConfig(row: unknown): StoredPushConfig {
  const [body] = row as [string] // written by `configBody`
  return JSON.parse(body) as StoredPushConfig
}

export type DeadLetterRow = [
  id: number,
  agent: string,
  taskId: string,
  tenant: string,
  owner: string,
  config: string,
  seq: number,
  attempts: number,
  error: string,
  timeMs: number,
]

export function readDeadLetter(row: unknown): DeadLetter {
  const [id, agent, taskId, tenant, owner, config, seq, attempts, error, timeMs] = row as DeadLetterRow // the columns of a dead letter
  return {
    id: String(id),
    key: { agent: fromStorable(agent), id: fromStorable(taskId) },
    tenant: fromStorable(tenant),
    owner: fromStorable(owner),
    configId: fromStorable(config),
    seq,
    attempts,
    error: fromStorable(error),
    timeMs,
  }
}

/**
 * Makes text of callers storable. NUL and lone surrogates are valid in JSON strings but not in a text column; such text
 * is stored escaped, with a mark before it. Other text is stored as it is.
 */
const mark = '\u001f'
const isUnusual = /[\0\ud800-\udfff]/

export function toStorable(text: string): string {
  if (!isUnusual.test(text) && !text.startsWith(mark)) return text
  return isUsual(text) ? text : mark + JSON.stringify(text)
}

export function fromStorable(stored: string): string {
  return stored.startsWith(mark) ? (JSON.parse(stored.slice(1)) as string) : stored
}

/** Whole surrogate pairs are ordinary characters. */
function isUsual(text: string): boolean {
  return !text.startsWith(mark) && !text.includes('\0') && text.isWellFormed()
}
