// How many small messages per second, each answered with its finished task?
import { bout, runTimed } from '../bout.mjs'

const connections = 32

export const send = {
  name: 'send',
  title: 'Blocking sends of one small message, 32 connections',
  rounds: { full: 5, quick: 2 },
  columns: [
    { key: 'requestsPerSecond', title: 'requests/s' },
    { key: 'serverBusy', title: 'server CPU', isShare: true },
    { key: 'generatorBusy', title: 'generator CPU', isShare: true },
  ],
  settings: ({ isQuick }) => ({
    connections,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1500 : 4000,
  }),
  entries: (settings) =>
    ['dragoman-memory', 'dragoman-sqlite', 'sdk-memory', 'sdk-sqlite', 'bare'].map((server) => ({
      id: server,
      server,
      measure: () => bout(server, {}, (sides) => measure(sides, settings)),
    })),
  budgets: (median) => {
    const rate = (id) => median(id, 'requestsPerSecond')
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
}

async function measure(sides, settings) {
  const result = await runTimed(sides, 'sendMessages', settings)
  return {
    requestsPerSecond: result.requests / result.seconds,
    serverBusy: result.serverBusy,
    generatorBusy: result.generatorBusy,
  }
}
