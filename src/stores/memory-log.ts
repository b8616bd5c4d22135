/** The packed log of an ended task in the memory store. */
import type { EventBody, TaskArtifactUpdateEvent, TaskEvent } from '../model/event.js'
import type { Part } from '../model/part.js'
import type { Task } from '../model/task.js'

export interface PackedLog {
  readonly firstSeq: number
  readonly timeMs: number
  readonly rows: readonly (EventBody | Chunks)[]
}

/** Successive events that each only add one part to the same artifact. */
interface Chunks {
  readonly like: TaskArtifactUpdateEvent
  /** The parts of the artifact in the snapshot. */
  readonly parts: readonly Part[]
  readonly from: number
  to: number
}

/** Shorter logs are not packed: that would save nothing. */
const shortLog = 8

export function packLog(events: readonly TaskEvent[], snapshot: Task): PackedLog {
  const rows = events.length > shortLog ? rowsOf(events, snapshot) : events.map(({ body }) => body)
  return { firstSeq: events[0]?.seq ?? 1, timeMs: events.at(-1)?.time ?? 0, rows }
}

function rowsOf(events: readonly TaskEvent[], snapshot: Task): readonly (EventBody | Chunks)[] {
  const rows: (EventBody | Chunks)[] = []
  /** The number of parts of each artifact so far. */
  const places = new Map<string, number>()
  let chunks: Chunks | undefined
  for (const { body } of events) {
    const update = 'artifactUpdate' in body ? body.artifactUpdate : undefined
    const place = update?.append ? (places.get(update.artifact.artifactId) ?? 0) : 0
    if (update) places.set(update.artifact.artifactId, place + update.artifact.parts.length)
    if (!update || !isChunk(update)) {
      chunks = undefined
      rows.push(body)
    } else if (chunks && chunks.to === place && isSame(chunks, update)) chunks.to += 1
    else {
      const { artifactId } = update.artifact
      const parts = snapshot.artifacts?.find((artifact) => artifact.artifactId === artifactId)?.parts ?? []
      // An artifact that was replaced later has other parts in the snapshot.
      chunks =
        parts[place] === update.artifact.parts[0] ? { like: update, parts, from: place, to: place + 1 } : undefined
      rows.push(chunks ?? body)
    }
  }
  return rows
}

/** Returns a range of the events. Only these are created, because long logs are read in many small ranges. */
export function unpackLog(
  { rows, firstSeq, timeMs }: PackedLog,
  from = 0,
  to = Number.POSITIVE_INFINITY,
): readonly TaskEvent[] {
  const events: TaskEvent[] = []
  let place = 0
  for (const row of rows) {
    if (place >= to) break
    const end = place + ('like' in row ? row.to - row.from : 1)
    for (let each = Math.max(from, place); each < Math.min(end, to); each++)
      events.push({ seq: firstSeq + each, time: timeMs, body: bodyAt(row, each - place) })
    place = end
  }
  return events
}

function isChunk({ append, lastChunk, metadata, artifact }: TaskArtifactUpdateEvent): boolean {
  if (!append || lastChunk || metadata || artifact.parts.length !== 1) return false
  return !artifact.description && !artifact.metadata && !artifact.extensions
}

function isSame({ like, parts, to }: Chunks, { artifact }: TaskArtifactUpdateEvent): boolean {
  const { artifactId, name } = like.artifact
  return artifact.artifactId === artifactId && artifact.name === name && artifact.parts[0] === parts[to]
}

function bodyAt(row: EventBody | Chunks, index: number): EventBody {
  if (!('like' in row)) return row
  const { like, parts, from } = row
  const part = parts[from + index] as Part // the index is within the chunks
  return { artifactUpdate: { ...like, artifact: { ...like.artifact, parts: [part] } } }
}
