/** The cost of each dialect, against v1 JSON-RPC. */
import { dialects as wireDialects } from '../load/dialects.ts'
import { targets } from '../servers/targets.ts'
import { measureSendAndStream, sendAndStreamColumns } from './measure-send-and-stream.ts'
import { defineQuestion } from './question.ts'

const servers = ['dragoman-all-memory', 'dragoman-all-sqlite'] as const
const dialectList = Object.entries(wireDialects)
const minSharePercent = 85

export const dialects = defineQuestion({
  name: 'dialects',
  title: 'Dialects on one server: blocking sends, and streams of 100 chunks, 32 connections',
  rounds: { full: 5, quick: 1 },
  columns: sendAndStreamColumns,
  settings: ({ isQuick }) => ({
    connections: 32,
    chunks: 100,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1000 : 3000,
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
  budgets: (median) =>
    servers.flatMap((server) =>
      dialectList
        .filter(([dialect]) => dialect !== 'v1')
        .flatMap(([dialect, { title }]) =>
          [
            { what: 'sends', key: 'requestsPerSecond' },
            { what: 'streams', key: 'eventsPerSecond' },
          ].map(({ what, key }) => ({
            what: `${title}, ${targets[server].title}, ${what}, against v1 JSON-RPC`,
            value: (100 * median(`${server}/${dialect}`, key)) / median(`${server}/v1`, key),
            atLeast: minSharePercent,
            unit: '%',
          })),
        ),
    ),
})
