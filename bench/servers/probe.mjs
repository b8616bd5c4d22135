// Loaded into a measured server with `--import`, next to `--expose-gc`: answers, over IPC, what the
// process keeps after its garbage is gone. Used by the questions about memory only; it is never
// present when speed is measured.
import { setTimeout as sleep } from 'node:timers/promises'

process.on('message', async (question) => {
  if (question !== 'memory') return
  const rssBeforeGc = process.memoryUsage.rss()
  // Twice with a pause: what the first round frees through finalizers goes in the second.
  globalThis.gc()
  await sleep(200)
  globalThis.gc()
  const { rss, heapUsed, external } = process.memoryUsage()
  process.send({ rssBeforeGc, rss, heapUsed, external })
})

// A server that wants to end by itself must not be held by the probe.
process.channel.unref()
