/** The cost of each dialect, against v1 JSON-RPC. */
import { dialects as wireDialects } from '../load/dialects.ts'
import { targets } from '../servers/targets.ts'
import { measureSendAndStream, sendAndStreamColumns } from './measure.ts'
import { defineQuestion } from './question.ts'

const servers = ['dragoman-all-memory', 'dragoman-all-sqlite'] as const
const dialectList = Object.entries(wireDialects)
const minSharePercent = 85

export const dialects = defineQuestion({
  name: 'dialects',
  title: 'Dialects on one server: blocking sends, and streams of 100 chunks, 32 connections',
  rounds: { full: 3, quick: 1 },
  columns: sendAndStreamColumns,
  settings: ({ isQuick }) => ({
    connections: 32,
    chunks: 100,
    warmUpMs: isQuick ? 400 : 1000,
    durationMs: isQuick ? 400 : 2000,
    timeoutMs: 60_000,
  }),
  entries: (settings) =>
    servers.flatMap((server) =>
      dialectList.map(([dialect, { title }]) => ({
        id: `${server}/${dialect}`,
        server,
        title: `${title}, ${targets[server].title}`,
        measure: () => measureSendAndStream(server, { ...settings, dialect }),
      })),
    ),
  budgets: ({ ratio }) =>
    servers.flatMap((server) =>
      dialectList
        .filter(([dialect]) => dialect !== 'v1')
        .flatMap(([dialect, { title, repeatsTask = false }]) =>
          [
            { what: 'sends', key: 'sendCpuMicros' },
            // A stream that repeats the whole task by definition has no goal.
            ...(repeatsTask ? [] : [{ what: 'streams', key: 'eventCpuMicros' }]),
          ].map(({ what, key }) => ({
            what: `${title}, ${targets[server].title}, ${what}: CPU of v1 JSON-RPC ÷ its CPU`,
            value: 100 * ratio(`${server}/v1`, `${server}/${dialect}`, key),
            atLeast: minSharePercent,
            unit: '%',
          })),
        ),
    ),
})
