/**
 * Counts with OpenTelemetry, if the application has registered an SDK by the time it serves, or has asked for
 * `/metrics`. Otherwise there are no metrics, and nothing is done for them on the way of a call. What is so at the
 * moment is looked up when somebody collects, and only then.
 */
import { performance } from 'node:perf_hooks'
import { type BatchObservableCallback, createNoopMeter, type Meter, metrics, type Observable } from '@opentelemetry/api'
import type { CompleteStore } from '../stores/store.js'
import type { CallObserver } from '../transports/call-record.js'
import type { EngineStats } from './engine-stats.js'
import { instruments } from './instruments.js'

/** An agent that is measured. */
export interface MeasuredAgent {
  readonly name: string
  readonly stats: () => EngineStats
}

/** Where the application collects metrics; absent when it does not. */
export function applicationMeter(): Meter | undefined {
  const meter = metrics.getMeter('dragoman')
  return meter === createNoopMeter() ? undefined : meter
}

/** Told of the calls of an agent. */
export function measureCalls(meter: Meter, agent: string): CallObserver['ended'] {
  const calls = meter.createCounter(instruments.calls.name, instruments.calls)
  const duration = meter.createHistogram(instruments.duration.name, instruments.duration)
  const refusals = meter.createCounter(instruments.refusals.name, instruments.refusals)
  return ({ dialect = 'none', binding = 'none', operation = 'none', outcome, durationMs, limit }) => {
    const attributes = { agent, dialect, binding, operation, outcome }
    calls.add(1, attributes)
    duration.record(durationMs / 1000, attributes)
    if (limit !== undefined) refusals.add(1, { agent, limit })
  }
}

/** Stalls of the process in which no handler ran. */
type StallsOutside = () => Pick<EngineStats, 'stalls' | 'stalledMs'>

/** Looks at agents of one store whenever somebody collects. Answers how to stop that. */
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
  return observe(meter, Object.values(of), async (result) => {
    for (const { name, stats } of agents) {
      const now = stats()
      const tell = (observable: Observable, value: number) => result.observe(observable, value, { agent: name })
      tell(of.running, now.runningTasks)
      tell(of.waiting, now.waitingMessages)
      tell(of.streams, now.openStreams)
      tell(of.streamLag, now.streamLag)
      tell(of.fenced, now.fencedRuns)
      tell(of.storeFailures, now.storeFailures)
      tell(of.expired, now.expiredTasks)
      tell(of.stalls, now.stalls)
      tell(of.stalled, now.stalledMs / 1000)
    }
    const { stalls, stalledMs } = stallsOutside()
    result.observe(of.stalls, stalls, { agent: 'none' })
    result.observe(of.stalled, stalledMs / 1000, { agent: 'none' })
    // What a store that is away has to say is missing; the rest is told.
    const stored = await store.stats(agents.map(({ name }) => name)).catch(() => [])
    for (const [
      place,
      { unheldTasks, leaseEndsInMs, pendingCursors, cursorOverdueMs = 0, deadLetters },
    ] of stored.entries()) {
      const { name: agent = '', stats: engineStats } = agents[place] ?? {}
      const tell = (observable: Observable, value: number) => result.observe(observable, value, { agent })
      tell(of.unheld, unheldTasks)
      tell(
        of.leaseAge,
        leaseEndsInMs === undefined ? 0 : Math.max(0, (engineStats?.().leaseMs ?? 0) - leaseEndsInMs) / 1000,
      )
      tell(of.pendingCursors, pendingCursors)
      tell(of.overdue, cursorOverdueMs / 1000)
      tell(of.deadLetters, deadLetters)
    }
  })
}

type GaugeName = Exclude<keyof typeof instruments, CounterName>
type CounterName = 'fenced' | 'storeFailures' | 'expired' | 'stalls' | 'stalled'

/** Commits of this process. Answers how to stop that. */
export function measureCommits(meter: Meter, store: CompleteStore): () => void {
  const steps = meter.createHistogram(instruments.commitSteps.name, instruments.commitSteps)
  const duration = meter.createHistogram(instruments.commitDuration.name, instruments.commitDuration)
  return store.watchCommits((commit) => {
    steps.record(commit.steps)
    duration.record(commit.durationMs / 1000)
  })
}

/** Once for a process. Answers how to stop that. */
export function measureProcess(meter: Meter): () => void {
  const memory = meter.createObservableGauge(instruments.memory.name, instruments.memory)
  const eventLoop = meter.createObservableGauge(instruments.eventLoop.name, instruments.eventLoop)
  let before = performance.eventLoopUtilization()
  return observe(meter, [memory, eventLoop], (result) => {
    const now = performance.eventLoopUtilization()
    result.observe(memory, process.memoryUsage.rss())
    result.observe(eventLoop, performance.eventLoopUtilization(now, before).utilization)
    before = now
  })
}

function observe(meter: Meter, observables: Observable[], look: BatchObservableCallback): () => void {
  meter.addBatchObservableCallback(look, observables)
  return () => meter.removeBatchObservableCallback(look, observables)
}
