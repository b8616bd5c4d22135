/**
 * Metrics as Prometheus reads them, for servers whose application collects none itself. Loaded on use: whoever does
 * not ask for `/metrics` loads no SDK.
 */
import type { Meter } from '@opentelemetry/api'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { measureProcess } from './metrics.js'

export interface Prometheus {
  readonly meter: Meter
  /** What is so now. A store that does not answer in time is left out. */
  text(): Promise<string>
  close(): Promise<void>
}

/** Prometheus itself waits for ten seconds. */
const patienceMs = 3_000

export function createPrometheus(): Prometheus {
  const reader = new Pulled()
  const provider = new MeterProvider({ readers: [reader] })
  const meter = provider.getMeter('dragoman')
  measureProcess(meter)
  // Neither timestamps nor words about the SDK: whoever scrapes knows when and whom.
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
  return {
    meter,
    async text() {
      const { resourceMetrics } = await reader.collect({ timeoutMillis: patienceMs })
      return serializer.serialize(resourceMetrics)
    },
    close: () => provider.shutdown(),
  }
}

/** Read when somebody asks. */
class Pulled extends MetricReader {
  protected override async onForceFlush(): Promise<void> {
    // Nothing is held back.
  }

  protected override async onShutdown(): Promise<void> {
    // Nothing is open.
  }
}
