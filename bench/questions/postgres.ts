/** The cost of a shared database, and the delay until a replica sees the events of another one. */
import type { SendOptions } from '../load/send-messages.ts'
import { startLoad } from '../load/start-load.ts'
import type { StreamOptions } from '../load/stream-chunks.ts'
import { type Measurement, type TimedFigures, withServer } from '../measurement.ts'
import { median as medianOf, percentile } from '../report/summarise.ts'
import { newDatabase, stopPostgres } from '../servers/postgres.ts'
import { type StartedServer, startServer } from '../servers/start-server.ts'
import { targets } from '../servers/targets.ts'
import { measureSends, measureStreams } from './measure.ts'
import { defineQuestion, type Figures } from './question.ts'

const servers = ['dragoman-postgres', 'dragoman-sqlite', 'sdk-postgres'] as const
/** Streams of 10,000 chunks would take the SDK too long. */
const streamSizes = { 'dragoman-postgres': [100, 10_000], 'dragoman-sqlite': [100], 'sdk-postgres': [100] }

export const postgres = defineQuestion({
  name: 'postgres',
  title: 'Postgres on the same machine: sends, streams, and two replicas',
  rounds: { full: 5, quick: 1 },
  isLong: true,
  columns: [
    { key: 'sendCpuMicros', title: 'CPU µs per send', digits: 1 },
    { key: 'sendsPerSecond', title: 'sends/s' },
    { key: 'eventCpuMicros', title: 'CPU µs per stream event', digits: 2 },
    { key: 'eventsPerSecond', title: 'stream events/s' },
    { key: 'lagP50Ms', title: 'seen on the other replica, p50 ms', digits: 1 },
    { key: 'lagP99Ms', title: 'seen on the other replica, p99 ms', digits: 1 },
    { key: 'takeoverMs', title: 'taken over after, ms' },
  ],
  settings: ({ isQuick }) => ({
    connections: isQuick ? 8 : 32,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1500 : 4000,
    timeoutMs: isQuick ? 60_000 : 120_000,
  }),
  entries: (settings) => [
    ...servers.map((server) => ({
      id: `${server}/send`,
      server,
      title: `${targets[server].title}: sends`,
      measure: () => withServer(server, {}, async (each) => sendFigures(await measureSends(each, settings))),
    })),
    ...servers.flatMap((server) =>
      streamSizes[server].map((chunks) => ({
        id: `${server}/${chunks}`,
        server,
        title: `${targets[server].title}: streams of ${chunks.toLocaleString('en')} chunks`,
        measure: () =>
          withServer(server, {}, async (each) => streamFigures(await measureStreams(each, { ...settings, chunks }))),
      })),
    ),
    {
      id: 'two/send',
      server: 'dragoman-postgres',
      title: 'Dragoman, Postgres, two replicas: sends',
      measure: () => withReplicas((both) => measureSendsOnBoth(both, settings)),
    },
    {
      id: 'two/100',
      server: 'dragoman-postgres',
      title: 'Dragoman, Postgres, two replicas: streams of 100 chunks',
      measure: () => withReplicas((both) => measureStreamsOnBoth(both, { ...settings, chunks: 100 })),
    },
    {
      id: 'two/lag',
      server: 'dragoman-postgres',
      title: 'Dragoman, Postgres, two replicas: a stream followed on the other one',
      measure: () => withReplicas(measureLag),
    },
    {
      id: 'two/killed',
      server: 'dragoman-postgres',
      title:
        'Dragoman, Postgres, two replicas on one machine: SIGKILL to the replica that runs the task (leases of 15 s)',
      measure: () => withReplicas((both) => measureTakeover(both, (server) => server.stop())),
    },
    {
      id: 'two/frozen',
      server: 'dragoman-postgres',
      title: 'Dragoman, Postgres, two replicas: SIGSTOP to the replica that runs the task (leases of 15 s)',
      measure: () => withReplicas((both) => measureTakeover(both, (server) => server.freeze())),
    },
  ],
  budgets: ({ median }) => [
    {
      what: 'sends on Postgres, against the SDK on Postgres',
      value: median('dragoman-postgres/send', 'sendsPerSecond') / median('sdk-postgres/send', 'sendsPerSecond'),
      atLeast: 5,
      unit: '×',
    },
    {
      what: 'stream events on Postgres, against the SDK on Postgres',
      value: median('dragoman-postgres/100', 'eventsPerSecond') / median('sdk-postgres/100', 'eventsPerSecond'),
      atLeast: 30,
      unit: '×',
    },
    {
      what: 'cost per event at 10,000 chunks ÷ at 100, Postgres',
      value: median('dragoman-postgres/100', 'eventsPerSecond') / median('dragoman-postgres/10000', 'eventsPerSecond'),
      atMost: 1.2,
      unit: '',
    },
    {
      what: 'sends with two replicas, against one',
      value: median('two/send', 'sendsPerSecond') / median('dragoman-postgres/send', 'sendsPerSecond'),
      atLeast: 1,
      unit: '×',
    },
    {
      what: 'an event seen on another replica, p99',
      value: median('two/lag', 'lagP99Ms'),
      below: 50,
      unit: ' ms',
    },
  ],
  finish: stopPostgres,
})

type Replicas = readonly [Measurement, Measurement]

/** Two replicas on one new database, each with its own load generator. */
async function withReplicas<T>(work: (replicas: Replicas) => Promise<T>): Promise<T> {
  const database = await newDatabase()
  const start = () => startServer('dragoman-postgres', { database })
  const [one, other] = await Promise.all([start(), start()])
  const loads = [startLoad(), startLoad()] as const
  try {
    return await work([
      { server: one, load: loads[0] },
      { server: other, load: loads[1] },
    ])
  } finally {
    await Promise.all([...loads, one, other].map((each) => each.stop()))
  }
}

async function measureSendsOnBoth(replicas: Replicas, settings: Omit<SendOptions, 'origin'>) {
  const half = { ...settings, connections: settings.connections / 2 }
  const results = await Promise.all(replicas.map((each) => measureSends(each, half)))
  return sendFigures(sumOf(results))
}

async function measureStreamsOnBoth(replicas: Replicas, settings: Omit<StreamOptions, 'origin'>) {
  const half = { ...settings, connections: settings.connections / 2 }
  const results = await Promise.all(replicas.map((each) => measureStreams(each, half)))
  return streamFigures(sumOf(results))
}

/** CPU per unit of work is the mean of both replicas, which do the same work; throughput is their sum. */
function sumOf(results: readonly TimedFigures[]): TimedFigures {
  const sum = (pick: (figures: TimedFigures) => number | undefined) =>
    results.reduce((total, each) => total + (pick(each) ?? Number.NaN), 0)
  return {
    cpuMicros: sum(({ cpuMicros }) => cpuMicros) / results.length,
    perSecond: sum(({ perSecond }) => perSecond),
    serverBusy: sum(({ serverBusy }) => serverBusy),
    generatorBusy: sum(({ generatorBusy }) => generatorBusy),
  }
}

function sendFigures({ cpuMicros, perSecond }: TimedFigures): Figures {
  return { sendCpuMicros: cpuMicros, sendsPerSecond: perSecond }
}

function streamFigures({ cpuMicros, perSecond }: TimedFigures): Figures {
  return { eventCpuMicros: cpuMicros, eventsPerSecond: perSecond }
}

async function measureLag([one, other]: Replicas) {
  const { lagsMs } = await one.load.run('followOnReplica', {
    origin: one.server.origin,
    other: other.server.origin,
    chunks: 400,
    delayMs: 10,
  })
  return { lagP50Ms: medianOf(lagsMs), lagP99Ms: percentile(lagsMs, 0.99) }
}

/** The time from the end of the replica that runs a task to the first event that a subscriber of the other one sees. */
async function measureTakeover([one, other]: Replicas, end: (server: StartedServer) => unknown) {
  await other.load.run('followSleepingTask', { origin: one.server.origin, other: other.server.origin })
  const startedAt = performance.now()
  await end(one.server)
  await other.load.run('waitForTakeover', {})
  return { takeoverMs: performance.now() - startedAt }
}
