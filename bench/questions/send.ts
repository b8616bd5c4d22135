/** The cost of one small message that is answered with its finished task. */
import { withServer } from '../measurement.ts'
import { measureSends, sendColumns } from './measure.ts'
import { defineQuestion } from './question.ts'

const servers = ['dragoman-memory', 'dragoman-sqlite', 'sdk-memory', 'sdk-sqlite', 'bare'] as const

export const send = defineQuestion({
  name: 'send',
  title: 'Blocking sends of one small message, 32 connections',
  rounds: { full: 5, quick: 1 },
  columns: sendColumns,
  settings: ({ isQuick }) => ({
    connections: 32,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1000 : 4000,
  }),
  entries: (settings) =>
    servers.map((server) => ({
      id: server,
      server,
      measure: () => withServer(server, {}, (measurement) => measureSends(measurement, settings)),
    })),
  budgets: ({ ratio }) => [
    {
      what: 'CPU of a send, memory store, against bare `node:http`',
      value: ratio('dragoman-memory', 'bare', 'cpuMicros'),
      atMost: 1.5,
      unit: '×',
    },
    {
      what: 'sends/s, memory store, against the SDK in memory',
      value: ratio('dragoman-memory', 'sdk-memory', 'perSecond'),
      atLeast: 5,
      unit: '×',
    },
    {
      what: 'CPU of a send, SQLite store, against bare `node:http`',
      value: ratio('dragoman-sqlite', 'bare', 'cpuMicros'),
      atMost: 2.2,
      unit: '×',
    },
    {
      what: 'sends/s, SQLite store, against the SDK in memory',
      value: ratio('dragoman-sqlite', 'sdk-memory', 'perSecond'),
      atLeast: 3.5,
      unit: '×',
    },
  ],
})
