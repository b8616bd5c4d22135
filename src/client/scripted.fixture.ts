/** Scripted services for tests of the client's layers. */
import type { StreamResponse } from '../model/event.js'
import { type AgentService, anonymous, type CallContext, type StreamItem } from '../model/service.js'
import type { Task, TaskState } from '../model/task.js'
import type { Timing } from './retry.js'

export const context: CallContext = { caller: anonymous, dialect: 'v1' }

export function taskIn(state: TaskState, more: Partial<Task> = {}): Task {
  return { id: 't1', contextId: 'c1', status: { state }, ...more }
}

export function status(state: TaskState): StreamResponse {
  return { statusUpdate: { taskId: 't1', contextId: 'c1', status: { state } } }
}

export function chunk(text: string): StreamResponse {
  const artifact = { artifactId: 'a1', parts: [{ text }] }
  return { artifactUpdate: { taskId: 't1', contextId: 'c1', artifact, append: true } }
}

/** Yields the items, then throws the error if there is one. */
export async function* play(events: readonly StreamItem[], error?: unknown): AsyncGenerator<StreamItem, void, void> {
  yield* events
  if (error !== undefined) throw error
}

export function numbered(first: number, ...events: readonly StreamResponse[]): StreamItem[] {
  return events.map((event, place) => ({ event, seq: first + place }))
}

/** A service with some operations. The others throw. */
export function peer(operations: Partial<AgentService>): AgentService {
  return new Proxy(operations as AgentService, {
    get: (target, name) =>
      Reflect.get(target, name) ??
      (() => {
        throw new Error(`Unexpected call of ${String(name)}`)
      }),
  })
}

/** Timing without delays, which records them. */
export function fakeTiming(): Timing & { readonly waits: number[] } {
  const waits: number[] = []
  return {
    waits,
    random: () => 1,
    async wait(ms, signal) {
      signal?.throwIfAborted()
      waits.push(ms)
    },
  }
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = []
  for await (const item of items) seen.push(item)
  return seen
}
