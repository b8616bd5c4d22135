// What does our client cost, beside bare `fetch` and the official client, against the same server?
import { bout } from '../bout.mjs'

const titles = { dragoman: 'dragoman/client', sdk: '@a2a-js/sdk/client', bare: 'bare `fetch` and `JSON.parse`' }
const chunks = 10_000

export const client = {
  name: 'client',
  title: 'Clients of one server: sends, 8 at a time, and streams of 10,000 chunks; time of the client’s own process',
  rounds: { full: 5, quick: 2 },
  columns: [
    { key: 'microsPerSend', title: 'CPU µs per send', digits: 0 },
    { key: 'sendsPerSecond', title: 'sends/s' },
    { key: 'microsPerEvent', title: 'CPU µs per event', digits: 2 },
    { key: 'eventsPerSecond', title: 'events/s' },
  ],
  settings: ({ isQuick }) => ({
    atOnce: 8,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1500 : 4000,
  }),
  entries: (settings) =>
    Object.keys(titles).map((name) => ({
      id: name,
      server: 'dragoman-memory',
      title: titles[name],
      measure: () => measure({ ...settings, client: name }),
    })),
  budgets: (median) => [
    {
      what: 'a send, against bare `fetch` and `JSON.parse`',
      value: median('dragoman', 'microsPerSend') / median('bare', 'microsPerSend'),
      atMost: 2,
      unit: '×',
    },
    {
      what: 'events/s of a stream of 10,000, against the official client',
      value: median('dragoman', 'eventsPerSecond') / median('sdk', 'eventsPerSecond'),
      atLeast: 5,
      unit: '×',
    },
  ],
}

async function measure(settings) {
  const run = (job, options) =>
    bout('dragoman-memory', {}, ({ server, load }) => load.run(job, { origin: server.origin, ...options }))
  const sends = await run('clientSends', settings)
  const streams = await run('clientStreams', { ...settings, chunks })
  return {
    microsPerSend: sends.cpuMicros / sends.calls,
    sendsPerSecond: sends.calls / sends.seconds,
    microsPerEvent: streams.cpuMicros / streams.events,
    eventsPerSecond: streams.events / streams.seconds,
  }
}
