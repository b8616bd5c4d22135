/** The room that tasks take in the heap of this process, and who they belong to. */
import type { TaskEvent } from '../model/event.js'

/** A quarter of the heap that V8 may use. Where V8 cannot be asked: of 1 GB. */
export function defaultMaxBytes(): number {
  const process = globalThis.process as NodeJS.Process | undefined
  const limit = process?.getBuiltinModule?.('node:v8')?.getHeapStatistics().heap_size_limit
  return (limit || 1024 ** 3) / 4
}

/** An estimate of the heap that events take. Strings are counted wherever they occur, also where they are shared. */
export function heapSizeOf(events: readonly TaskEvent[]): number {
  let size = 0
  const open: unknown[] = []
  for (const event of events) {
    size += 64
    open.push(event.body)
    while (open.length > 0) {
      const next = open.pop()
      if (typeof next === 'string') size += 24 + next.length
      else if (typeof next !== 'object' || next === null) size += 8
      else {
        size += 40
        if (Array.isArray(next)) for (const element of next) open.push(element)
        else for (const name of Object.keys(next)) open.push((next as Record<string, unknown>)[name])
      }
    }
  }
  return size
}

/** Sizes of tasks by owner. An owner without tasks takes no room. */
export class OwnerBytes {
  readonly #bytes = new Map<string, number>()

  of(agent: string, owner: string): number {
    return this.#bytes.get(`${agent}\n${owner}`) ?? 0
  }

  add(agent: string, owner: string, bytes: number): void {
    if (bytes === 0) return
    const sum = this.of(agent, owner) + bytes
    if (sum > 0) this.#bytes.set(`${agent}\n${owner}`, sum)
    else this.#bytes.delete(`${agent}\n${owner}`)
  }
}
