/**
 * Loaded into a measured server with `--import` and `--expose-gc`: reports over IPC the memory that the process uses
 * after garbage collection. Only the questions about memory load it; it is absent when speed is measured.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export interface MemoryReport {
  readonly rssBeforeGc: number
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
}

process.on('message', async (message) => {
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
