// What does a shared database cost, and how soon does one replica see what another one wrote?
import { bout, runTimed } from '../bout.mjs'
import { startLoad } from '../load/start-load.mjs'
import { median as medianOf } from '../report/summarise.mjs'
import { contestants } from '../servers/contestants.mjs'
import { newDatabase, stopPostgres } from '../servers/postgres.mjs'
import { startServer } from '../servers/start-server.mjs'

const servers = ['dragoman-postgres', 'dragoman-sqlite', 'sdk-postgres']
/** Of 10,000 chunks the SDK's streams would outlast any patience. */
const sizesOf = { 'dragoman-postgres': [100, 10_000], 'dragoman-sqlite': [100], 'sdk-postgres': [100] }

export const postgres = {
  name: 'postgres',
  title: 'Postgres on the same machine: sends, streams, and two replicas',
  rounds: { full: 5, quick: 1 },
  columns: [
    { key: 'requestsPerSecond', title: 'requests/s' },
    { key: 'eventsPerSecond', title: 'stream events/s' },
    { key: 'lagP50Ms', title: 'seen elsewhere, p50 ms', digits: 1 },
    { key: 'lagP99Ms', title: 'seen elsewhere, p99 ms', digits: 1 },
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
      title: `${contestants[server].title}: sends`,
      measure: () => bout(server, {}, (sides) => measureSends(sides, settings)),
    })),
    ...servers.flatMap((server) =>
      sizesOf[server].map((chunks) => ({
        id: `${server}/${chunks}`,
        server,
        title: `${contestants[server].title}: streams of ${chunks.toLocaleString('en')} chunks`,
        measure: () => bout(server, {}, (sides) => measureStreams(sides, { ...settings, chunks })),
      })),
    ),
    {
      id: 'two/send',
      server: 'dragoman-postgres',
      title: 'Dragoman, Postgres, two replicas: sends',
      measure: () => withTwo((two) => measureTwo(two, 'sendMessages', settings)),
    },
    {
      id: 'two/100',
      server: 'dragoman-postgres',
      title: 'Dragoman, Postgres, two replicas: streams of 100 chunks',
      measure: () => withTwo((two) => measureTwo(two, 'streamChunks', { ...settings, chunks: 100 })),
    },
    {
      id: 'two/lag',
      server: 'dragoman-postgres',
      title: 'Dragoman, Postgres, two replicas: a stream followed on the other one',
      measure: () => withTwo(measureLag),
    },
    {
      id: 'two/killed',
      server: 'dragoman-postgres',
      title: 'Dragoman, Postgres, two replicas of one machine: SIGKILL to the one that runs (leases of 15 s)',
      measure: () => withTwo((two) => measureTakeover(two, (server) => server.stop())),
    },
    {
      id: 'two/frozen',
      server: 'dragoman-postgres',
      title: 'Dragoman, Postgres, two replicas: nothing is heard of the one that runs (leases of 15 s)',
      measure: () => withTwo((two) => measureTakeover(two, (server) => server.freeze())),
    },
  ],
  budgets: (median) => [
    {
      what: 'sends on Postgres, against the SDK on Postgres',
      value: median('dragoman-postgres/send', 'requestsPerSecond') / median('sdk-postgres/send', 'requestsPerSecond'),
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
      value: median('two/send', 'requestsPerSecond') / median('dragoman-postgres/send', 'requestsPerSecond'),
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
}

async function measureSends(sides, settings) {
  const { requests, seconds } = await runTimed(sides, 'sendMessages', settings)
  return { requestsPerSecond: requests / seconds }
}

async function measureStreams(sides, settings) {
  const { events, seconds } = await runTimed(sides, 'streamChunks', settings)
  return { eventsPerSecond: events / seconds }
}

async function withTwo(work) {
  const database = await newDatabase()
  const two = await Promise.all([0, 1].map(() => startServer('dragoman-postgres', { database })))
  const loads = [startLoad(), startLoad()]
  try {
    return await work(two.map((server, place) => ({ server, load: loads[place] })))
  } finally {
    await Promise.all([...loads, ...two].map((each) => each.stop()))
  }
}

async function measureTwo(two, job, settings) {
  const halves = await Promise.all(
    two.map((sides) => runTimed(sides, job, { ...settings, connections: settings.connections / 2 })),
  )
  const perSecond = (key) => halves.reduce((sum, half) => sum + half[key] / half.seconds, 0)
  return job === 'sendMessages'
    ? { requestsPerSecond: perSecond('requests') }
    : { eventsPerSecond: perSecond('events') }
}

async function measureLag([one, other]) {
  const { lagsMs } = await one.load.run('followElsewhere', {
    origin: one.server.origin,
    other: other.server.origin,
    chunks: 400,
    delayMs: 10,
  })
  const sorted = [...lagsMs].sort((a, b) => a - b)
  return { lagP50Ms: medianOf(sorted), lagP99Ms: sorted[Math.floor(sorted.length * 0.99)] }
}

/** From the end of the replica that runs a task to what the other one says of it, seen by somebody who follows there. */
async function measureTakeover([one, other], end) {
  await other.load.run('followSleeper', { origin: one.server.origin, other: other.server.origin })
  const startedAt = performance.now()
  await end(one.server)
  await other.load.run('hearOfSleeper', {})
  return { takeoverMs: performance.now() - startedAt }
}
