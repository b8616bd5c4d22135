/** Small messages per second, each answered with its finished task. */
import { withServer } from '../measurement.ts'
import { measureSends } from './measure-sends.ts'
import { defineQuestion, sendColumns } from './question.ts'

const connections = 32
const servers = ['dragoman-memory', 'dragoman-sqlite', 'sdk-memory', 'sdk-sqlite', 'bare'] as const

export const send = defineQuestion({
  name: 'send',
  title: 'Blocking sends of one small message, 32 connections',
  rounds: { full: 5, quick: 2 },
  columns: sendColumns,
  settings: ({ isQuick }) => ({
    connections,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1500 : 4000,
  }),
  entries: (settings) =>
    servers.map((server) => ({
      id: server,
      server,
      measure: () => withServer(server, {}, (measurement) => measureSends(measurement, settings)),
    })),
  budgets: (median) => {
    const rate = (id: string) => median(id, 'requestsPerSecond')
    const sdk = rate('sdk-memory')
    return [
      {
        what: 'send, memory store, against the SDK in memory',
        value: rate('dragoman-memory') / sdk,
        atLeast: 7,
        unit: '×',
      },
      {
        what: 'send, memory store, against bare `node:http`',
        value: (100 * rate('dragoman-memory')) / rate('bare'),
        atLeast: 65,
        unit: '%',
      },
      {
        what: 'send, SQLite store, against the SDK in memory',
        value: rate('dragoman-sqlite') / sdk,
        atLeast: 4,
        unit: '×',
      },
    ]
  },
})
