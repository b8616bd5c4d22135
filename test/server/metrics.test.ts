/** Metrics reach a meter that the application registered, and cost nothing where it has not. */
import { type Attributes, type Meter, type MeterProvider, metrics } from '@opentelemetry/api'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider as SdkMeterProvider } from '@opentelemetry/sdk-metrics'
import { agent, apiKey, serve } from 'dragoman'
import { gate, until } from 'dragoman/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { echoAgent } from '../../src/cli/echo-agent.js'
import { v1Grpc } from '../matrix/grpc-speakers.js'
import { type Fetch, told } from '../matrix/speaker.js'
import { v1JsonRpc } from '../matrix/v1-speaker.js'

interface Point {
  readonly name: string
  readonly value: number
  readonly attributes: Attributes | undefined
}

/** The smallest meter there is: it remembers. */
class Recorder implements MeterProvider {
  readonly points: Point[] = []
  readonly #observers = new Set<
    (result: { observe(gauge: { name: string }, value: number, of: Attributes): void }) => void
  >()

  getMeter(): Meter {
    const instrument = (name: string) => {
      const note = (value: number, attributes?: Attributes) => void this.points.push({ name, value, attributes })
      return { name, add: note, record: note }
    }
    return {
      createCounter: instrument,
      createHistogram: instrument,
      createObservableGauge: instrument,
      addBatchObservableCallback: (observe: never) => void this.#observers.add(observe),
      removeBatchObservableCallback: (observe: never) => void this.#observers.delete(observe),
    } as unknown as Meter
  }

  /** What gauges say now. */
  observed(): Record<string, number> {
    const seen: Record<string, number> = {}
    const observe = ({ name }: { name: string }, value: number, { agent: of }: Attributes) => {
      seen[`${of} ${name}`] = value
    }
    for (const ask of this.#observers) ask({ observe })
    return seen
  }
}

function record(): Recorder {
  const recorder = new Recorder()
  metrics.setGlobalMeterProvider(recorder)
  return recorder
}

afterEach(() => metrics.disable())

describe('metrics', () => {
  it('reach a real SDK, and are shown as Prometheus reads them', async () => {
    const exporter = new PrometheusExporter({ preventServerStart: true })
    metrics.setGlobalMeterProvider(new SdkMeterProvider({ readers: [exporter] }))
    const shown = async () => new PrometheusSerializer().serialize((await exporter.collect()).resourceMetrics)
    {
      await using served = await serve(echoAgent)
      const over: Fetch = (path, init) => fetch(new URL(path, served.url), init)
      told(await v1JsonRpc(over).send('hello'))
      const text = await shown()
      expect(text).toMatch(/^dragoman_calls_total\{.*agent="Echo".*operation="sendMessage".*outcome="ok".*\} 1$/m)
      expect(text).toMatch(/^dragoman_call_duration_count\{.*\} 1$/m)
      expect(text).toMatch(/^dragoman_tasks_running\{.*agent="Echo".*\} 0$/m)
      expect(text).toMatch(/^dragoman_streams_open\{.*\} 0$/m)
    }
    await exporter.shutdown()
  })

  it('count calls by agent, dialect, binding, operation and outcome, and time them', async () => {
    const { points } = record()
    await using served = await serve(echoAgent)
    const over: Fetch = (path, init) => fetch(new URL(path, served.url), init)
    told(await v1JsonRpc(over).send('hello'))
    await v1Grpc(new URL(served.url).host).get('nobody')
    await until(() => points.length === 4)
    const common = { agent: 'Echo', dialect: 'v1' }
    expect(points.filter(({ name }) => name === 'dragoman.calls')).toEqual([
      {
        name: 'dragoman.calls',
        value: 1,
        attributes: { ...common, binding: 'JSONRPC', operation: 'sendMessage', outcome: 'ok' },
      },
      {
        name: 'dragoman.calls',
        value: 1,
        attributes: { ...common, binding: 'GRPC', operation: 'getTask', outcome: 'TASK_NOT_FOUND' },
      },
    ])
    expect(points.filter(({ name, value }) => name === 'dragoman.call.duration' && value > 0)).toHaveLength(2)
  })

  it('count refusals by the limit that was in the way', async () => {
    const { points } = record()
    const limits = { rate: { perSecond: 0.01, burst: 1 } }
    await using served = await serve(echoAgent, { auth: [apiKey({ 'key-a': 'alice' })], limits })
    const over: Fetch = (path, init) =>
      fetch(new URL(path, served.url), {
        ...init,
        headers: { ...(init.headers as Record<string, string>), 'x-api-key': 'key-a' },
      })
    for (let i = 0; i < 3; i++) await v1JsonRpc(over).send('hello')
    expect(points.filter(({ name }) => name === 'dragoman.limit.refusals')).toEqual([
      { name: 'dragoman.limit.refusals', value: 1, attributes: { agent: 'Echo', limit: 'rate' } },
      { name: 'dragoman.limit.refusals', value: 1, attributes: { agent: 'Echo', limit: 'rate' } },
    ])
  })

  it('tell how many tasks run and how many streams are open', async () => {
    const recorder = record()
    const { opened, open } = gate()
    const slow = agent('Slow', async function* () {
      yield 'begun'
      await opened
    })
    {
      await using served = await serve(slow)
      const over: Fetch = (path, init) => fetch(new URL(path, served.url), init)
      const stream = v1JsonRpc(over).stream('go')[Symbol.asyncIterator]()
      await stream.next()
      expect(recorder.observed()).toEqual({ 'Slow dragoman.tasks.running': 1, 'Slow dragoman.streams.open': 1 })
      open()
      for (let next = await stream.next(); !next.done; next = await stream.next());
      await until(() => recorder.observed()['Slow dragoman.tasks.running'] === 0)
      expect(recorder.observed()).toEqual({ 'Slow dragoman.tasks.running': 0, 'Slow dragoman.streams.open': 0 })
    }
    // A server that is closed is not asked any more.
    expect(recorder.observed()).toEqual({})
  })
})
