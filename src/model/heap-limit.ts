/** A quarter of the heap that V8 may use, in bytes. Where V8 cannot be asked: of 1 GB. */
export function quarterOfHeap(): number {
  const process = globalThis.process as NodeJS.Process | undefined
  const limit = process?.getBuiltinModule?.('node:v8')?.getHeapStatistics().heap_size_limit
  return Math.floor((limit || 1024 ** 3) / 4)
}
