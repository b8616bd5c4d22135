// Does it cost anything to be spoken to in another dialect?
import { dialects as spoken } from '../load/dialects.mjs'
import { contestants } from '../servers/contestants.mjs'
import { measureSendAndStream, sendAndStreamColumns } from './send-and-stream.mjs'

const servers = ['dragoman-all-memory', 'dragoman-all-sqlite']
const names = Object.keys(spoken)
const leastShare = 85

export const dialects = {
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
      names.map((dialect) => ({
        id: `${server}/${dialect}`,
        server,
        title: `${spoken[dialect].title}, ${contestants[server].title}`,
        measure: () => measureSendAndStream(server, { ...settings, dialect }),
      })),
    ),
  budgets: (median) => {
    const share = (server, dialect, key) => (100 * median(`${server}/${dialect}`, key)) / median(`${server}/v1`, key)
    return servers.flatMap((server) =>
      names
        .filter((dialect) => dialect !== 'v1')
        .flatMap((dialect) =>
          [
            ['sends', 'requestsPerSecond'],
            ['streams', 'eventsPerSecond'],
          ].map(([what, key]) => ({
            what: `${spoken[dialect].title}, ${contestants[server].title}, ${what}, against v1 JSON-RPC`,
            value: share(server, dialect, key),
            atLeast: leastShare,
            unit: '%',
          })),
        ),
    )
  },
}
