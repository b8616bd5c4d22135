/**
 * Metrics with OpenTelemetry. Created only if the application registered an SDK before it serves, or enabled `/metrics`.
 * Gauges are read when metrics are collected. `docs/operating.md` explains each metric; dashboards depend on the names.
 */
import { performance } from 'node:perf_hooks'
import type { Attributes, BatchObservableCallback, Meter, MetricOptions, Observable } from '@opentelemetry/api'
import type { CompleteStore } from '../stores/store.js'
import type { CallObserver } from '../transports/call-record.js'
import { telemetryApi } from './api.js'
import type { EngineStats } from './engine-stats.js'

interface Instrument extends MetricOptions {
  readonly name: string
}

/** In seconds. Most calls take less than a millisecond, streams take minutes. */
const callSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600]
const commitSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]
const groupSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]

export const instruments = {
  calls: { name: 'dragoman.calls', description: 'Calls that have ended' },
  duration: {
    name: 'dragoman.call.duration',
    description: 'Time from the arrival of a call to its response, or to the end of its stream',
    unit: 's',
    advice: { explicitBucketBoundaries: callSeconds },
  },
  refusals: { name: 'dragoman.limit.refusals', description: 'Calls that a limit refused' },

  running: { name: 'dragoman.tasks.running', description: 'Tasks that run in this process' },
  waiting: {
    name: 'dragoman.messages.waiting',
    description: 'Messages that wait for their turn in tasks of this process',
  },
  unheld: { name: 'dragoman.tasks.unheld', description: 'Tasks with a turn to run and no lease' },
  leaseAge: {
    name: 'dragoman.lease.age',
    description: 'Time since the renewal of the lease that expires first, in any process',
    unit: 's',
  },
  fenced: {
    name: 'dragoman.runs.fenced',
    description: 'Runs of this process that stopped because another process had taken over the task',
  },
  stalls: {
    name: 'dragoman.eventloop.stalls',
    description: 'Stalls of the event loop of this process; agent `none`: no handler ran',
  },
  stalled: {
    name: 'dragoman.eventloop.stalled',
    description: 'Total duration of these stalls',
    unit: 's',
  },

  streams: { name: 'dragoman.streams.open', description: 'Open streams of this process' },
  streamLag: {
    name: 'dragoman.streams.lag',
    description: 'Events that the slowest reader of a stream has not received yet',
  },

  pendingCursors: { name: 'dragoman.push.pending', description: 'Webhooks with pending deliveries' },
  overdue: {
    name: 'dragoman.push.overdue',
    description: 'How long the oldest pending delivery has been due without a process that takes it',
    unit: 's',
  },
  deadLetters: { name: 'dragoman.push.dead_letters', description: 'Dead letters in the store' },

  commitSteps: {
    name: 'dragoman.store.commit.steps',
    description: 'Steps in one commit',
    advice: { explicitBucketBoundaries: groupSizes },
  },
  commitDuration: {
    name: 'dragoman.store.commit.duration',
    description: 'Duration of one commit, including retries',
    unit: 's',
    advice: { explicitBucketBoundaries: commitSeconds },
  },
  storeFailures: { name: 'dragoman.store.failures', description: 'Failed calls of the store' },
  expired: {
    name: 'dragoman.retention.tasks',
    description: 'Tasks that retention removed, or whose events it removed',
  },

  memory: { name: 'process.memory.usage', description: 'Resident memory of this process', unit: 'By' },
  eventLoop: {
    name: 'nodejs.eventloop.utilization',
    description: 'Share of the time since the last collection in which the event loop was busy',
  },
} as const satisfies Readonly<Record<string, Instrument>>

/** An agent with metrics. */
interface MeasuredAgent {
  readonly name: string
  readonly stats: () => EngineStats
}

/** The application's meter; undefined if it registered none. Await `loadTelemetry` before. */
export function applicationMeter(): Meter | undefined {
  const api = telemetryApi()
  const meter = api?.metrics.getMeter('dragoman')
  return meter === api?.createNoopMeter() ? undefined : meter
}

/** Returns a function that records the calls of an agent. */
export function measureCalls(meter: Meter, agent: string): CallObserver['ended'] {
  const counter = callCounterOf(meter)
  const duration = meter.createHistogram(instruments.duration.name, instruments.duration)
  const refusals = meter.createCounter(instruments.refusals.name, instruments.refusals)
  return ({ dialect = 'none', endpoint = 'none', binding, operation = 'none', outcome, durationMs, limit }) => {
    const attributes = counter.count({ agent, dialect, binding: binding ?? endpoint, operation, outcome })
    duration.record(durationMs / 1000, attributes)
    if (limit !== undefined) refusals.add(1, { agent, limit })
  }
}

interface CallAttributes extends Attributes {
  readonly agent: string
  readonly dialect: string
  readonly binding: string
  readonly operation: string
  readonly outcome: string
}

/**
 * Counts calls by their attributes, and reports the counts when metrics are collected. The SDK sorts and serialises the
 * attributes at every `add` of a counter, which took 3 % of a call.
 */
class CallCounter {
  readonly #counts = new Map<string, { readonly attributes: CallAttributes; calls: number }>()

  constructor(meter: Meter) {
    const counter = meter.createObservableCounter(instruments.calls.name, instruments.calls)
    addObserver(meter, [counter], (result) => {
      for (const { attributes, calls } of this.#counts.values()) result.observe(counter, calls, attributes)
    })
  }

  /** Returns the attributes of earlier calls that are the same. */
  count(attributes: CallAttributes): CallAttributes {
    const { agent, dialect, binding, operation, outcome } = attributes
    // The name of an agent is last: it may contain any character.
    const key = `${operation} ${outcome} ${binding} ${dialect} ${agent}`
    let counted = this.#counts.get(key)
    if (!counted) {
      counted = { attributes, calls: 0 }
      this.#counts.set(key, counted)
    }
    counted.calls++
    return counted.attributes
  }
}

/** One counter for each meter: agents that are closed and served again continue their counts. */
const callCounters = new WeakMap<Meter, CallCounter>()

function callCounterOf(meter: Meter): CallCounter {
  const known = callCounters.get(meter) ?? new CallCounter(meter)
  callCounters.set(meter, known)
  return known
}

/** Stalls of the process during which no handler ran. */
type StallsOutside = () => Pick<EngineStats, 'stalls' | 'stalledMs'>

/** Observes the agents of one store until the returned function is called. */
export function measureAgents(
  meter: Meter,
  store: CompleteStore,
  agents: readonly MeasuredAgent[],
  stallsOutside: StallsOutside,
): () => void {
  const gauge = (name: GaugeName) => meter.createObservableGauge(instruments[name].name, instruments[name])
  const counter = (name: CounterName) => meter.createObservableCounter(instruments[name].name, instruments[name])
  const of = {
    running: gauge('running'),
    waiting: gauge('waiting'),
    streams: gauge('streams'),
    streamLag: gauge('streamLag'),
    unheld: gauge('unheld'),
    leaseAge: gauge('leaseAge'),
    pendingCursors: gauge('pendingCursors'),
    overdue: gauge('overdue'),
    deadLetters: gauge('deadLetters'),
    fenced: counter('fenced'),
    storeFailures: counter('storeFailures'),
    expired: counter('expired'),
    stalls: counter('stalls'),
    stalled: counter('stalled'),
  }
  return addObserver(meter, Object.values(of), async (result) => {
    for (const { name, stats } of agents) {
      const now = stats()
      const observe = (observable: Observable, value: number) => result.observe(observable, value, { agent: name })
      observe(of.running, now.runningTasks)
      observe(of.waiting, now.waitingMessages)
      observe(of.streams, now.openStreams)
      observe(of.streamLag, now.streamLag)
      observe(of.fenced, now.fencedRuns)
      observe(of.storeFailures, now.storeFailures)
      observe(of.expired, now.expiredTasks)
      observe(of.stalls, now.stalls)
      observe(of.stalled, now.stalledMs / 1000)
    }
    const { stalls, stalledMs } = stallsOutside()
    result.observe(of.stalls, stalls, { agent: 'none' })
    result.observe(of.stalled, stalledMs / 1000, { agent: 'none' })
    // If the store is unavailable, only its metrics are missing.
    const stored = await store.stats(agents.map(({ name }) => name)).catch(() => [])
    for (const [
      place,
      { unheldTasks, leaseEndsInMs, pendingCursors, cursorOverdueMs = 0, deadLetters },
    ] of stored.entries()) {
      const { name: agent = '', stats: engineStats } = agents[place] ?? {}
      const observe = (observable: Observable, value: number) => result.observe(observable, value, { agent })
      observe(of.unheld, unheldTasks)
      observe(
        of.leaseAge,
        leaseEndsInMs === undefined ? 0 : Math.max(0, (engineStats?.().leaseMs ?? 0) - leaseEndsInMs) / 1000,
      )
      observe(of.pendingCursors, pendingCursors)
      observe(of.overdue, cursorOverdueMs / 1000)
      observe(of.deadLetters, deadLetters)
    }
  })
}

type GaugeName = Exclude<keyof typeof instruments, CounterName>
type CounterName = 'fenced' | 'storeFailures' | 'expired' | 'stalls' | 'stalled'

/** Records the commits of a store until the returned function is called. */
export function measureCommits(meter: Meter, store: CompleteStore): () => void {
  const steps = meter.createHistogram(instruments.commitSteps.name, instruments.commitSteps)
  const duration = meter.createHistogram(instruments.commitDuration.name, instruments.commitDuration)
  return store.watchCommits((commit) => {
    steps.record(commit.steps)
    duration.record(commit.durationMs / 1000)
  })
}

/** Observes memory and event loop until the returned function is called. Call it once for each process. */
export function measureProcess(meter: Meter): () => void {
  const memory = meter.createObservableGauge(instruments.memory.name, instruments.memory)
  const eventLoop = meter.createObservableGauge(instruments.eventLoop.name, instruments.eventLoop)
  let before = performance.eventLoopUtilization()
  return addObserver(meter, [memory, eventLoop], (result) => {
    const now = performance.eventLoopUtilization()
    result.observe(memory, process.memoryUsage.rss())
    result.observe(eventLoop, performance.eventLoopUtilization(now, before).utilization)
    before = now
  })
}

function addObserver(meter: Meter, observables: Observable[], look: BatchObservableCallback): () => void {
  meter.addBatchObservableCallback(look, observables)
  return () => meter.removeBatchObservableCallback(look, observables)
}
