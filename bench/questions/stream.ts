/** The cost of an artifact chunk, and its growth with the length of the stream. */
import { withServer } from '../measurement.ts'
import { type TargetName, targets } from '../servers/targets.ts'
import { measureStreams, streamColumns } from './measure.ts'
import { defineQuestion } from './question.ts'

const sizes = [100, 1_000, 10_000]
const servers: readonly TargetName[] = ['dragoman-memory', 'dragoman-sqlite', 'sdk-memory', 'bare']
/** The SDK's cost grows with the square of the length: 10,000 chunks would take too long. */
const maxChunks: Partial<Record<TargetName, number>> = { 'sdk-memory': 1_000 }

const storeTitles = { memory: 'memory store', sqlite: 'SQLite store' }

export const stream = defineQuestion({
  name: 'stream',
  title: 'Streams of artifact chunks, read to the end',
  rounds: { full: 5, quick: 1 },
  columns: streamColumns,
  settings: ({ isQuick }) => ({
    connections: isQuick ? 8 : 32,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1000 : 4000,
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
          measure: () => withServer(server, {}, (each) => measureStreams(each, { ...settings, chunks })),
        })),
    ),
  budgets: ({ ratio }) => [
    {
      what: 'streams of 100 chunks: the SDK’s CPU per event, in memory, ÷ ours, memory store',
      value: ratio('sdk-memory/100', 'dragoman-memory/100', 'cpuMicros'),
      atLeast: 30,
      unit: '×',
    },
    {
      what: 'streams of 100 chunks: the SDK’s CPU per event, in memory, ÷ ours, SQLite store',
      value: ratio('sdk-memory/100', 'dragoman-sqlite/100', 'cpuMicros'),
      atLeast: 12,
      unit: '×',
    },
    ...(['memory', 'sqlite'] as const).flatMap((store) =>
      // At 100 chunks each event carries a share of the stream's fixed cost, which hides growth. At 1,000 it does not.
      [
        { shorter: 100, atMost: 1 },
        { shorter: 1_000, atMost: 1.2 },
      ].map(({ shorter, atMost }) => ({
        what: `CPU per event at 10,000 chunks ÷ at ${shorter.toLocaleString('en')}, ${storeTitles[store]}`,
        value: ratio(`dragoman-${store}/10000`, `dragoman-${store}/${shorter}`, 'cpuMicros'),
        atMost,
        unit: '',
      })),
    ),
  ],
})
