/** Webhook deliveries per second, and the cost of webhooks that never answer for other callers. */
import { type Measurement, runTimed, timedFigures, withServer } from '../measurement.ts'
import { measureSends } from './measure.ts'
import { defineQuestion } from './question.ts'

const connections = 32
const chunks = 100
const server = 'dragoman-push-sqlite'

interface DeliverySettings {
  readonly tasks: number
  readonly timeoutMs: number
}

interface SendSettings {
  readonly warmUpMs: number
  readonly durationMs: number
}

export const push = defineQuestion({
  name: 'push',
  title: 'Webhooks: tasks of 100 chunks to a receiver that answers at once; sends beside one that never answers',
  rounds: { full: 5, quick: 1 },
  isLong: true,
  columns: [
    { key: 'cpuMicros', title: 'CPU µs per delivery or send', digits: 1 },
    { key: 'perSecond', title: 'deliveries/s or sends/s' },
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
      measure: () => withServer(server, {}, (each) => deliver(each, settings)),
    },
    {
      id: 'send',
      server,
      title: 'sends, SQLite',
      measure: () => withServer(server, {}, (each) => send(each, settings)),
    },
    {
      id: 'send-beside-dead',
      server,
      title: 'sends, SQLite, beside tasks whose webhook never answers',
      measure: () =>
        withServer(server, {}, async (each) => {
          const { origin } = each.server
          await each.load.run('registerDeadWebhooks', { origin, connections, tasks: settings.deadWebhooks })
          return await send(each, settings)
        }),
    },
  ],
  budgets: ({ median, ratio }) => [
    {
      what: 'webhook deliveries, SQLite store',
      value: median('deliver', 'perSecond'),
      atLeast: 2000,
      unit: '/s',
    },
    {
      what: 'sends beside webhooks that never answer, against sends without',
      value: 100 * ratio('send-beside-dead', 'send', 'perSecond'),
      atLeast: 90,
      unit: '%',
    },
  ],
})

async function deliver(measurement: Measurement, { tasks, timeoutMs }: DeliverySettings) {
  const options = { connections, chunks, timeoutMs }
  const { origin } = measurement.server
  await measurement.load.run('receiveDeliveries', { origin, ...options, tasks: Math.ceil(tasks / 5) })
  const { deliveries, ...timing } = await runTimed(measurement, 'receiveDeliveries', { ...options, tasks })
  return timedFigures(timing, deliveries)
}

function send(measurement: Measurement, { warmUpMs, durationMs }: SendSettings) {
  return measureSends(measurement, { connections, warmUpMs, durationMs })
}
