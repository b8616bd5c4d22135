/** Metrics for Prometheus, for applications that register no SDK. Loaded only by servers that enable `/metrics`. */
import type { Meter } from '@opentelemetry/api'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { measureProcess } from './metrics.js'

export interface Prometheus {
  readonly meter: Meter
  /** The current metrics. Metrics of a store that does not answer in time are missing. */
  text(): Promise<string>
  close(): Promise<void>
}

/** Prometheus waits for ten seconds. */
const collectTimeoutMs = 3_000

export function createPrometheus(): Prometheus {
  const reader = new PullReader()
  const provider = new MeterProvider({ readers: [reader] })
  const meter = provider.getMeter('dragoman')
  measureProcess(meter)
  // Without timestamps and without metrics about the SDK.
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
  return {
    meter,
    async text() {
      const { resourceMetrics } = await reader.collect({ timeoutMillis: collectTimeoutMs })
      return serializer.serialize(resourceMetrics)
    },
    close: () => provider.shutdown(),
  }
}

/** A reader that collects on request. */
class PullReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {
    // There is no buffer.
  }

  protected override async onShutdown(): Promise<void> {
    // There is nothing to close.
  }
}
