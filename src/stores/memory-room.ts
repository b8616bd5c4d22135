/** The room that tasks take in the heap of this process, and who they belong to. */
/** A quarter of the heap that V8 may use. Where V8 cannot be asked: of 1 GB. */
export function defaultMaxBytes(): number {
  const process = globalThis.process as NodeJS.Process | undefined
  const limit = process?.getBuiltinModule?.('node:v8')?.getHeapStatistics().heap_size_limit
  return (limit || 1024 ** 3) / 4
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
