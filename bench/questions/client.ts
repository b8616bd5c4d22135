/** The CPU cost of `dragoman/client`, of the official client and of bare `fetch`, against the same server. */
import type { ClientName } from '../load/use-client.ts'
import { withServer } from '../measurement.ts'
import { defineQuestion } from './question.ts'

const clients: readonly { readonly name: ClientName; readonly title: string }[] = [
  { name: 'dragoman', title: 'dragoman/client' },
  { name: 'sdk', title: '@a2a-js/sdk/client' },
  { name: 'bare', title: 'bare `fetch` and `JSON.parse`' },
]
const chunks = 10_000

interface ClientSettings {
  readonly concurrency: number
  readonly warmUpMs: number
  readonly durationMs: number
}

export const client = defineQuestion({
  name: 'client',
  title: 'Clients of one server: sends, 8 at a time, and streams of 10,000 chunks; CPU time of the client’s process',
  rounds: { full: 5, quick: 1 },
  columns: [
    { key: 'microsPerSend', title: 'CPU µs per send', digits: 0 },
    { key: 'sendsPerSecond', title: 'sends/s' },
    { key: 'microsPerEvent', title: 'CPU µs per event', digits: 2 },
    { key: 'eventsPerSecond', title: 'events/s' },
  ],
  settings: ({ isQuick }) => ({
    concurrency: 8,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1000 : 4000,
  }),
  entries: (settings) =>
    clients.map(({ name, title }) => ({
      id: name,
      server: 'dragoman-memory' as const,
      title,
      measure: () => measure(name, settings),
    })),
  budgets: ({ ratio }) => [
    {
      what: 'CPU of a send in the client, against bare `fetch` and `JSON.parse`',
      value: ratio('dragoman', 'bare', 'microsPerSend'),
      atMost: 1.5,
      unit: '×',
    },
    {
      // Not events per second: the server limits both clients.
      what: 'CPU of an event in the official client, against ours, in streams of 10,000',
      value: ratio('sdk', 'dragoman', 'microsPerEvent'),
      atLeast: 3,
      unit: '×',
    },
  ],
})

async function measure(client: ClientName, settings: ClientSettings) {
  const sends = await withServer('dragoman-memory', {}, ({ server: { origin }, load }) =>
    load.run('clientSends', { origin, client, ...settings }),
  )
  const streams = await withServer('dragoman-memory', {}, ({ server: { origin }, load }) =>
    load.run('clientStreams', { origin, client, chunks, ...settings }),
  )
  return {
    microsPerSend: sends.generatorCpuMicros / sends.calls,
    sendsPerSecond: sends.calls / sends.seconds,
    microsPerEvent: streams.generatorCpuMicros / streams.events,
    eventsPerSecond: streams.events / streams.seconds,
  }
}
