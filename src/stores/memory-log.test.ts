import { describe, expect, it } from 'vitest'
import type { EventBody, TaskArtifactUpdateEvent, TaskEvent } from '../model/event.js'
import type { Task } from '../model/task.js'
import { foldEvents } from '../model/task-fold.js'
import { packLog, unpackLog } from './memory-log.js'

const place = { taskId: 't', contextId: 'c' }
const born: EventBody = { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } }
const ended: EventBody = { statusUpdate: { ...place, status: { state: 'TASK_STATE_COMPLETED' } } }

function chunk(artifactId: string, text: string, more: Partial<TaskArtifactUpdateEvent> = {}): EventBody {
  return { artifactUpdate: { ...place, artifact: { artifactId, name: 'answer', parts: [{ text }] }, ...more } }
}

function chunks(artifactId: string, count: number): EventBody[] {
  return Array.from({ length: count }, (_, index) => chunk(artifactId, `${index}`, index > 0 ? { append: true } : {}))
}

function logOf(...bodies: readonly EventBody[]): { readonly events: readonly TaskEvent[]; readonly snapshot: Task } {
  const events = [born, ...bodies, ended].map((body, index) => ({ seq: index + 1, time: 7, body }))
  return { events, snapshot: foldEvents(events).snapshot() as Task } // the first event makes a task
}

describe('a packed log', () => {
  it.each<[string, readonly EventBody[], number]>([
    ['chunks of one artifact', [...chunks('a', 50), chunk('a', 'end', { append: true, lastChunk: true })], 5],
    ['chunks of two, one after the other', [...chunks('a', 20), ...chunks('b', 20)], 6],
    ['an artifact that is replaced', [...chunks('a', 20), ...chunks('a', 20)], 24],
    ['an empty last chunk', [...chunks('a', 20), chunk('a', '', { append: true, lastChunk: true })], 5],
    [
      'chunks after an empty last one',
      [...chunks('a', 9), chunk('a', '', { append: true, lastChunk: true }), chunk('a', 'x', { append: true })],
      6,
    ],
    ['chunks with metadata', [...chunks('a', 10), chunk('a', 'x', { append: true, metadata: { by: 'me' } })], 5],
  ])('restores %s', (_what, bodies, rows) => {
    const { events, snapshot } = logOf(...bodies)
    const packed = packLog(events, snapshot)
    expect(unpackLog(packed)).toEqual(events)
    expect(packed.rows).toHaveLength(rows)
    for (let from = 0; from <= events.length; from++)
      for (const to of [from, from + 1, from + 7, events.length])
        expect(unpackLog(packed, from, to)).toEqual(events.slice(from, to))
  })

  it('creates only the events of a range', () => {
    const { events, snapshot } = logOf(...chunks('a', 10_000))
    const packed = packLog(events, snapshot)
    let copies = 0
    const rows = packed.rows.map((row) =>
      'like' in row
        ? {
            ...row,
            get like() {
              copies += 1
              return row.like
            },
          }
        : row,
    )
    expect(unpackLog({ ...packed, rows }, 5_000, 5_010)).toEqual(events.slice(5_000, 5_010))
    expect(copies).toBe(10)
  })
})
