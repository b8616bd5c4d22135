/** Metrics reach a meter that the application registered, and cost nothing without one. */
import { type Attributes, type Meter, type MeterProvider, metrics } from '@opentelemetry/api'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider as SdkMeterProvider } from '@opentelemetry/sdk-metrics'
import { agent, apiKey, MemoryStore, serve } from 'dragoman'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import { gate, until } from 'dragoman/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { instruments } from '../../src/telemetry/metrics.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { v1Grpc } from '../matrix/grpc-clients.js'
import { v1JsonRpc } from '../matrix/v1-client.js'
import { type Fetch, resultOf } from '../matrix/wire-client.js'

interface Point {
  readonly name: string
  readonly value: number
  readonly attributes: Attributes | undefined
}

/** A minimal meter that records measurements. */
class Recorder implements MeterProvider {
  readonly points: Point[] = []
  readonly #observers = new Set<
    (result: { observe(gauge: { name: string }, value: number, of: Attributes): void }) => Promise<void> | undefined
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
      createObservableCounter: instrument,
      addBatchObservableCallback: (observe: never) => void this.#observers.add(observe),
      removeBatchObservableCallback: (observe: never) => void this.#observers.delete(observe),
    } as unknown as Meter
  }

  /** The current values of all gauges and counters of agents. */
  async observed(): Promise<Record<string, number>> {
    const others = (await this.#collect()).filter(({ name }) => name !== 'dragoman.calls')
    return Object.fromEntries(others.map(({ name, value, attributes }) => [`${attributes?.agent} ${name}`, value]))
  }

  async calls(): Promise<readonly Point[]> {
    return (await this.#collect()).filter(({ name }) => name === 'dragoman.calls')
  }

  async #collect(): Promise<readonly Point[]> {
    const seen: Point[] = []
    const observe = ({ name }: { name: string }, value: number, attributes: Attributes) =>
      void seen.push({ name, value, attributes })
    for (const ask of this.#observers) await ask({ observe })
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
  it('reach a real SDK, in the format of Prometheus', async () => {
    const exporter = new PrometheusExporter({ preventServerStart: true })
    metrics.setGlobalMeterProvider(new SdkMeterProvider({ readers: [exporter] }))
    const shown = async () => new PrometheusSerializer().serialize((await exporter.collect()).resourceMetrics)
    {
      await using served = await serve(echoAgent)
      const over: Fetch = (path, init) => fetch(new URL(path, served.url), init)
      resultOf(await v1JsonRpc(over).send('hello'))
      const text = await shown()
      expect(text).toMatch(/^dragoman_calls_total\{.*agent="Echo".*operation="sendMessage".*outcome="ok".*\} 1$/m)
      expect(text).toMatch(/^dragoman_call_duration_count\{.*\} 1$/m)
      expect(text).toMatch(/^dragoman_tasks_running\{.*agent="Echo".*\} 0$/m)
      expect(text).toMatch(/^dragoman_streams_open\{.*\} 0$/m)
    }
    await exporter.shutdown()
  })

  it('count calls by agent, dialect, binding, operation and outcome, and time them', async () => {
    const recorder = record()
    const { points } = recorder
    await using served = await serve(echoAgent)
    const over: Fetch = (path, init) => fetch(new URL(path, served.url), init)
    resultOf(await v1JsonRpc(over).send('hello'))
    await v1Grpc(new URL(served.url).host).get('nobody')
    await until(() => points.length === 2)
    const common = { agent: 'Echo', dialect: 'v1' }
    expect(await recorder.calls()).toEqual([
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

  it('keep the count of calls when a server closes, and continue it in the next one', async () => {
    const exporter = new PrometheusExporter({ preventServerStart: true })
    metrics.setGlobalMeterProvider(new SdkMeterProvider({ readers: [exporter] }))
    const shown = async () => new PrometheusSerializer().serialize((await exporter.collect()).resourceMetrics)
    for (const count of [1, 2]) {
      {
        await using served = await serve(echoAgent)
        const over: Fetch = (path, init) => fetch(new URL(path, served.url), init)
        resultOf(await v1JsonRpc(over).send('hello'))
      }
      expect(await shown()).toMatch(new RegExp(`^dragoman_calls_total\\{.*outcome="ok".*\\} ${count}$`, 'm'))
    }
    await exporter.shutdown()
  })

  it('count rejections by limit', async () => {
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

  it('report running tasks, waiting messages, open streams and the store’s statistics', async () => {
    const recorder = record()
    const { opened, open } = gate()
    const slow = agent('Slow', async function* () {
      yield 'begun'
      await opened
    })
    const idle = {
      'Slow dragoman.tasks.running': 0,
      'Slow dragoman.messages.waiting': 0,
      'Slow dragoman.streams.open': 0,
      'Slow dragoman.streams.lag': 0,
      'Slow dragoman.runs.fenced': 0,
      'Slow dragoman.eventloop.stalls': 0,
      'Slow dragoman.eventloop.stalled': 0,
      'none dragoman.eventloop.stalls': expect.any(Number),
      'none dragoman.eventloop.stalled': expect.any(Number),
      'Slow dragoman.store.failures': 0,
      'Slow dragoman.retention.tasks': 0,
      'Slow dragoman.tasks.unheld': 0,
      'Slow dragoman.lease.age': 0,
      'Slow dragoman.push.pending': 0,
      'Slow dragoman.push.overdue': 0,
      'Slow dragoman.push.dead_letters': 0,
    }
    {
      await using served = await serve(slow)
      expect(await recorder.observed()).toEqual(idle)
      const over: Fetch = (path, init) => fetch(new URL(path, served.url), init)
      const wireClient = v1JsonRpc(over)
      const stream = wireClient.stream('go')[Symbol.asyncIterator]()
      const first = await stream.next()
      const { id: taskId } = first.value as { id: string }
      expect(await recorder.observed()).toMatchObject({
        'Slow dragoman.tasks.running': 1,
        'Slow dragoman.streams.open': 1,
        'Slow dragoman.tasks.unheld': 0,
        'Slow dragoman.lease.age': expect.any(Number),
      })
      const waiting = wireClient.send('and then', { taskId })
      await until(async () => (await recorder.observed())['Slow dragoman.messages.waiting'] === 1)
      open()
      await waiting
      for (let next = await stream.next(); !next.done; next = await stream.next());
      await until(async () => (await recorder.observed())['Slow dragoman.tasks.running'] === 0)
    }
    // A closed server is not observed.
    expect(await recorder.observed()).toEqual({})
  })

  it('name no agent for a stall in which no handler ran', async () => {
    const recorder = record()
    await using _served = await serve(echoAgent, { log: false, advanced: { engine: { stallMs: 200 } } })
    const { 'none dragoman.eventloop.stalls': before = Number.NaN } = await recorder.observed()
    const end = performance.now() + 500
    while (performance.now() < end);
    await until(async () => ((await recorder.observed())['none dragoman.eventloop.stalls'] ?? 0) > before)
    expect(await recorder.observed()).toMatchObject({ 'Echo dragoman.eventloop.stalls': 0 })
  })

  it('measure the commits of a store once, however many ports share it', async () => {
    const { points } = record()
    const store = await openSqliteStore(':memory:')
    const agents = [
      { agent: echoAgent, port: 0 },
      agent('Other', async function* ({ text }) {
        yield text
      }),
    ]
    {
      await using served = await serve(agents, { store })
      const [, { url = '' } = {}] = served.agents
      points.length = 0
      resultOf(await v1JsonRpc((path, init) => fetch(new URL(path, url), init)).send('hello'))
      const sizes = points.filter(({ name }) => name === 'dragoman.store.commit.steps')
      // A send with one event is written in one commit or two.
      expect(sizes.length).toBeGreaterThan(0)
      expect(sizes.reduce((sum, { value }) => sum + value, 0)).toBeLessThanOrEqual(2)
      expect(points.filter(({ name }) => name === 'dragoman.store.commit.duration')).toHaveLength(sizes.length)
    }
    points.length = 0
    await store.append({ key: { agent: 'x', id: 'x' }, expect: 1, events: [] })
    expect(points).toEqual([])
    await store.close()
  })

  it('omit the statistics of a store that is unavailable', async () => {
    const recorder = record()
    const store = new MemoryStore()
    await using _served = await serve(echoAgent, { store })
    store.stats = () => Promise.reject(new Error('away'))
    const seen = await recorder.observed()
    expect(seen).toHaveProperty(['Echo dragoman.tasks.running'])
    expect(seen).not.toHaveProperty(['Echo dragoman.tasks.unheld'])
  })
})

describe('/metrics', () => {
  const shownAt = async (url: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url, { headers })
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
  }

  it('is not served by default', async () => {
    await using served = await serve(echoAgent)
    expect(served.metricsUrl).toBeUndefined()
    expect((await fetch(new URL('/metrics', served.url))).status).toBe(404)
  })

  it('shows everything on the agents’ port, to authenticated callers', async () => {
    await using served = await serve(echoAgent, { metrics: true, store: 'sqlite::memory:', auth: [apiKey('secret')] })
    const given = { 'x-api-key': 'secret' }
    const over: Fetch = (path, init) =>
      fetch(new URL(path, served.url), { ...init, headers: { ...(init.headers as object), ...given } })
    resultOf(await v1JsonRpc(over).send('hello'))
    const url = served.metricsUrl ?? ''
    expect(url).toBe(new URL('/metrics', served.url).href)
    expect(await shownAt(url)).toMatchObject({ status: 401 })
    const { status, type, text } = await shownAt(url, given)
    expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect(text).toMatch(/^dragoman_calls_total\{agent="Echo",.*operation="sendMessage",outcome="ok"\} 1$/m)
    expect(text).toMatch(/^dragoman_store_commit_steps_bucket\{le="1"\} [1-9]/m)
    expect(text).toMatch(/^process_memory_usage [1-9]\d+$/m)
    const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)
    const expected = Object.values(instruments).map(({ name }) => name.replaceAll('.', '_'))
    const counters = [
      'dragoman_calls',
      'dragoman_runs_fenced',
      'dragoman_eventloop_stalls',
      'dragoman_eventloop_stalled',
      'dragoman_store_failures',
      'dragoman_retention_tasks',
    ]
    expect(names.sort()).toEqual(
      expected
        .filter((name) => name !== 'dragoman_limit_refusals') // no call was rejected yet
        .map((name) => (counters.includes(name) ? `${name}_total` : name))
        .sort(),
    )
    expect((await fetch(url, { method: 'POST', headers: given })).status).toBe(405)
  })

  it('can have its own port, on loopback', async () => {
    await using served = await serve(echoAgent, { metrics: { port: 0 }, auth: [apiKey('secret')] })
    const url = served.metricsUrl ?? ''
    expect(url).toMatch(/^http:\/\/localhost:\d+\/metrics$/)
    expect(new URL(url).port).not.toBe(new URL(served.url).port)
    expect((await shownAt(url)).text).toContain('dragoman_tasks_running{agent="Echo"} 0')
    expect((await fetch(new URL('/', url))).status).toBe(404)
    // The agents' port does not serve them then.
    expect((await fetch(new URL('/metrics', served.url), { headers: { 'x-api-key': 'secret' } })).status).toBe(404)
    await served.close()
    await expect(fetch(url)).rejects.toThrow()
  })

  it('is rejected without `auth` on a public address', async () => {
    const open = { host: '0.0.0.0', auth: 'none', metrics: true } as const
    await expect(serve(echoAgent, open)).rejects.toThrow(/give `metrics` a port of its own/)
  })

  it('is not served if the application has its own SDK, and the log explains it', async () => {
    const recorder = record()
    const logged: string[] = []
    await using served = await serve(echoAgent, { metrics: true, log: ({ message }) => void logged.push(message) })
    expect(logged).toContainEqual(expect.stringContaining('An OpenTelemetry SDK is registered'))
    expect(served.metricsUrl).toBeUndefined()
    resultOf(await v1JsonRpc((path, init) => fetch(new URL(path, served.url), init)).send('hello'))
    expect(await recorder.calls()).toHaveLength(1)
  })
})
