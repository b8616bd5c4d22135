/**
 * Counts calls with OpenTelemetry, if the application has registered an SDK by the time it serves. Without one
 * there are no metrics, and nothing is done for them on the way of a call.
 */
import { type BatchObservableCallback, createNoopMeter, type Meter, metrics } from '@opentelemetry/api'
import type { CallRecord } from '../transports/call-record.js'

/** All names, in one place: dashboards depend on them. */
export const metricNames = {
  calls: 'dragoman.calls',
  duration: 'dragoman.call.duration',
  refusals: 'dragoman.limit.refusals',
  runningTasks: 'dragoman.tasks.running',
  openStreams: 'dragoman.streams.open',
} as const

/** In seconds: most calls take less than a millisecond, streams take minutes. */
const explicitBucketBoundaries = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600]

/** What is so at the moment, of one agent. */
export interface AgentGauges {
  readonly runningTasks: number
  readonly openStreams: number
}

export interface AgentMetrics {
  call(record: CallRecord): void
  /** The agent is served no longer. */
  close(): void
}

/** Metrics of one agent; absent when nobody collects any. */
export function agentMetrics(agent: string, gauges: AgentGauges): AgentMetrics | undefined {
  const meter = metrics.getMeter('dragoman')
  return meter === createNoopMeter() ? undefined : measure(meter, agent, gauges)
}

function measure(meter: Meter, agent: string, gauges: AgentGauges): AgentMetrics {
  const calls = meter.createCounter(metricNames.calls, { description: 'Calls that have ended' })
  const duration = meter.createHistogram(metricNames.duration, {
    description: 'From the arrival of a call to its answer, or to the end of its stream',
    unit: 's',
    advice: { explicitBucketBoundaries },
  })
  const refusals = meter.createCounter(metricNames.refusals, { description: 'Calls that a limit was in the way of' })
  const running = meter.createObservableGauge(metricNames.runningTasks, { description: 'Tasks that run here' })
  const streams = meter.createObservableGauge(metricNames.openStreams, { description: 'Streams that are read here' })
  const observe: BatchObservableCallback = (result) => {
    result.observe(running, gauges.runningTasks, { agent })
    result.observe(streams, gauges.openStreams, { agent })
  }
  meter.addBatchObservableCallback(observe, [running, streams])
  return {
    call({ dialect = 'none', binding = 'none', operation = 'none', outcome, durationMs, limit }) {
      const attributes = { agent, dialect, binding, operation, outcome }
      calls.add(1, attributes)
      duration.record(durationMs / 1000, attributes)
      if (limit !== undefined) refusals.add(1, { agent, limit })
    },
    close: () => meter.removeBatchObservableCallback(observe, [running, streams]),
  }
}
