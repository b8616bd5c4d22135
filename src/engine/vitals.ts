/** How an engine is doing in this process; counted when somebody asks, and only then. */
import type { Vitals } from '../telemetry/vitals.js'
import type { Internals } from './internals.js'

export function vitalsOf(internals: Internals): Vitals {
  const { runs, running, streaming, topics, counts, settings } = internals
  let waitingMessages = 0
  for (const { writer } of runs.values()) waitingMessages += writer.fold.waiting.length
  let streamLag = 0
  for (const topic of topics) streamLag = Math.max(streamLag, topic.lag)
  return {
    runningTasks: running.total,
    waitingMessages,
    openStreams: streaming.total,
    streamLag,
    ...counts,
    leaseMs: settings.leaseMs,
  }
}
