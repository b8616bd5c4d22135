// How many webhook deliveries per second, and what do webhooks that never answer cost everybody else?
import { bout, runTimed } from '../bout.mjs'

const connections = 32
const chunks = 100
const server = 'dragoman-push-sqlite'

export const push = {
  name: 'push',
  title: 'Webhooks: tasks of 100 chunks told to a receiver that answers at once; sends beside one that never answers',
  rounds: { full: 5, quick: 1 },
  columns: [
    { key: 'deliveriesPerSecond', title: 'deliveries/s' },
    { key: 'requestsPerSecond', title: 'sends/s' },
    { key: 'serverBusy', title: 'server CPU', isShare: true },
    { key: 'generatorBusy', title: 'generator CPU', isShare: true },
  ],
  settings: ({ isQuick }) => ({
    connections,
    chunks,
    tasks: isQuick ? 50 : 200,
    deadWebhooks: isQuick ? 200 : 2_000,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1500 : 4000,
    timeoutMs: 120_000,
  }),
  entries: (settings) => [
    {
      id: 'deliver',
      server,
      title: 'deliveries, SQLite',
      measure: () => bout(server, {}, (sides) => deliver(sides, settings)),
    },
    { id: 'send', server, title: 'sends, SQLite', measure: () => bout(server, {}, (sides) => send(sides, settings)) },
    {
      id: 'send-beside-dead',
      server,
      title: 'sends, SQLite, beside tasks whose webhook never answers',
      measure: () =>
        bout(server, {}, async (sides) => {
          const { origin } = sides.server
          await sides.load.run('registerDeadWebhooks', { origin, connections, tasks: settings.deadWebhooks })
          return await send(sides, settings)
        }),
    },
  ],
  budgets: (median) => [
    {
      what: 'webhook deliveries, SQLite store',
      value: median('deliver', 'deliveriesPerSecond'),
      atLeast: 2000,
      unit: '/s',
    },
    {
      what: 'sends beside webhooks that never answer, against sends without',
      value: (100 * median('send-beside-dead', 'requestsPerSecond')) / median('send', 'requestsPerSecond'),
      atLeast: 90,
      unit: '%',
    },
  ],
}

async function deliver(sides, { tasks, timeoutMs }) {
  const options = { connections, chunks, timeoutMs }
  await sides.load.run('receiveDeliveries', { origin: sides.server.origin, ...options, tasks: Math.ceil(tasks / 5) })
  const result = await runTimed(sides, 'receiveDeliveries', { ...options, tasks })
  const { serverBusy, generatorBusy } = result
  return { deliveriesPerSecond: result.deliveries / result.seconds, serverBusy, generatorBusy }
}

async function send(sides, { warmUpMs, durationMs }) {
  const result = await runTimed(sides, 'sendMessages', { connections, warmUpMs, durationMs })
  const { serverBusy, generatorBusy } = result
  return { requestsPerSecond: result.requests / result.seconds, serverBusy, generatorBusy }
}
