/** One task in the memory store. */
import type { EventBody, TaskEvent } from '../model/event.js'
import type { Task, TaskState } from '../model/task.js'
import type { LoadedTask, StoredPushConfig, TaskKey, TaskRecord, Visibility } from './store.js'

interface Lease {
  readonly owner: string
  readonly untilMs: number
}

/** One task. `serial` orders tasks of equal status time. */
export interface Row {
  readonly key: TaskKey
  readonly tenant: string
  readonly owner: string
  readonly contextId: string
  readonly dialect: string
  readonly serial: number
  idempotencyKeys: string[] | undefined
  visibility: Visibility
  events: TaskEvent[]
  seq: number
  fence: number
  lease: Lease | undefined
  isRunnable: boolean
  state: TaskState | undefined
  statusTimeMs: number
  endedMs: number | undefined
  sealed: Sealed | undefined
  pushConfigs: Map<string, StoredPushConfig> | undefined
}

/** An ended task: its snapshot and what its events were, which share most of their parts. */
interface Sealed {
  readonly snapshot: Task
  readonly bodies: readonly EventBody[]
  readonly firstSeq: number
  readonly timeMs: number
}

export function heldBy({ lease }: Row, now: number): string | undefined {
  return lease && lease.untilMs > now ? lease.owner : undefined
}

export function loadRow(row: Row, now: number, includeArtifacts: boolean): LoadedTask {
  const { key, tenant, owner, contextId, dialect, visibility, seq, fence, sealed } = row
  const leaseOwner = heldBy(row, now)
  const record: TaskRecord = {
    key,
    tenant,
    owner,
    contextId,
    dialect,
    visibility,
    seq,
    fence,
    ...(leaseOwner !== undefined && { leaseOwner }),
  }
  if (!sealed) {
    return { record, events: includeArtifacts ? row.events.slice() : row.events.filter(isNotArtifact) }
  }
  const { snapshot } = sealed
  if (includeArtifacts) return { record, snapshot, events: [] }
  const { artifacts: _artifacts, ...rest } = snapshot
  return { record, snapshot: rest, events: [] }
}

export function eventsOf({ events, sealed }: Row): readonly TaskEvent[] {
  if (!sealed) return events
  return sealed.bodies.map((body, place) => ({ seq: sealed.firstSeq + place, time: sealed.timeMs, body }))
}

function isNotArtifact({ body }: TaskEvent): boolean {
  return !('artifactUpdate' in body)
}
