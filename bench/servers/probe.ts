/**
 * Loaded into a measured server with `--import` and `--expose-gc`: reports over IPC the memory that the process uses
 * after garbage collection, and the bytes it has allocated. Only the questions about memory load it; it is absent when
 * speed is measured.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { GCProfiler } from 'node:v8'

export interface MemoryReport {
  readonly rssBeforeGc: number
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
}

export interface AllocationReport {
  /** Bytes that were allocated on the JS heap since the last report. Memory of buffers outside of the heap is not counted. */
  readonly allocated: number
}

let profiler = new GCProfiler()
let usedAtStart = process.memoryUsage().heapUsed
profiler.start()

/** Every collection reports the heap before and after it. The growth between two collections is what was allocated. */
function reportAllocation(): AllocationReport {
  const { statistics } = profiler.stop()
  let allocated = 0
  let used = usedAtStart
  for (const { beforeGC, afterGC } of statistics) {
    allocated += beforeGC.heapStatistics.usedHeapSize - used
    used = afterGC.heapStatistics.usedHeapSize
  }
  usedAtStart = process.memoryUsage().heapUsed
  allocated += usedAtStart - used
  profiler = new GCProfiler()
  profiler.start()
  return { allocated }
}

process.on('message', async (message) => {
  if (message === 'allocation') process.send?.(reportAllocation())
  if (message !== 'memory') return
  const rssBeforeGc = process.memoryUsage.rss()
  // The second collection frees the objects that the finalizers of the first one release.
  globalThis.gc?.()
  await sleep(200)
  globalThis.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  process.send?.({ rssBeforeGc, rss, heapUsed, external } satisfies MemoryReport)
})

// The probe must not keep a server alive that wants to exit.
process.channel?.unref()
