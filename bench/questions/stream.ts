/** Artifact chunks per second, and the growth of the cost of a chunk with the length of its stream. */
import type { StreamOptions } from '../load/stream-chunks.ts'
import { type Measurement, runTimed, withServer } from '../measurement.ts'
import { type TargetName, targets } from '../servers/targets.ts'
import { defineQuestion } from './question.ts'

const sizes = [100, 1_000, 10_000]
const servers: readonly TargetName[] = ['dragoman-memory', 'dragoman-sqlite', 'sdk-memory', 'bare']
/** The SDK's cost grows with the square of the length: 10,000 chunks would take too long. */
const maxChunks: Partial<Record<TargetName, number>> = { 'sdk-memory': 1_000 }

export const stream = defineQuestion({
  name: 'stream',
  title: 'Streams of artifact chunks, read to the end',
  rounds: { full: 5, quick: 2 },
  columns: [
    { key: 'eventsPerSecond', title: 'events/s' },
    { key: 'microsPerEvent', title: 'µs per event', digits: 2 },
    { key: 'serverBusy', title: 'server CPU', isShare: true },
    { key: 'generatorBusy', title: 'generator CPU', isShare: true },
  ],
  settings: ({ isQuick }) => ({
    connections: isQuick ? 8 : 32,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1500 : 4000,
    timeoutMs: isQuick ? 30_000 : 120_000,
  }),
  entries: (settings) =>
    sizes.flatMap((chunks) =>
      servers
        .filter((server) => chunks <= (maxChunks[server] ?? chunks))
        .map((server) => ({
          id: `${server}/${chunks}`,
          server,
          title: `${targets[server].title}: ${chunks.toLocaleString('en')} chunks`,
          measure: () => withServer(server, {}, (each) => measure(each, { ...settings, chunks })),
        })),
    ),
  budgets: (median) => {
    const rate = (id: string) => median(id, 'eventsPerSecond')
    const growth = (server: TargetName, from: number) => rate(`${server}/${from}`) / rate(`${server}/10000`)
    return [
      {
        what: 'streams of 100 chunks, memory store, against the SDK in memory',
        value: rate('dragoman-memory/100') / rate('sdk-memory/100'),
        atLeast: 30,
        unit: '×',
      },
      {
        what: 'streams of 100 chunks, SQLite store, against the SDK in memory',
        value: rate('dragoman-sqlite/100') / rate('sdk-memory/100'),
        atLeast: 12,
        unit: '×',
      },
      {
        what: 'cost per event at 10,000 chunks ÷ at 100, memory store',
        value: growth('dragoman-memory', 100),
        atMost: 1.2,
        unit: '',
      },
      {
        what: 'cost per event at 10,000 chunks ÷ at 100, SQLite store',
        value: growth('dragoman-sqlite', 100),
        atMost: 1.2,
        unit: '',
      },
      // At 100 chunks each event carries a share of the stream's fixed cost, which hides growth. At 1,000 it does not.
      {
        what: 'cost per event at 10,000 chunks ÷ at 1,000, memory store',
        value: growth('dragoman-memory', 1_000),
        atMost: 1.2,
        unit: '',
      },
      {
        what: 'cost per event at 10,000 chunks ÷ at 1,000, SQLite store',
        value: growth('dragoman-sqlite', 1_000),
        atMost: 1.2,
        unit: '',
      },
    ]
  },
})

async function measure(measurement: Measurement, settings: Omit<StreamOptions, 'origin'>) {
  const result = await runTimed(measurement, 'streamChunks', settings)
  const eventsPerSecond = result.events / result.seconds
  return {
    eventsPerSecond,
    microsPerEvent: 1e6 / eventsPerSecond,
    serverBusy: result.serverBusy,
    generatorBusy: result.generatorBusy,
  }
}
