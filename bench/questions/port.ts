/** The cost for HTTP of reading the first bytes of each connection, which finds gRPC on the same port. */
import { withServer } from '../measurement.ts'
import { targets } from '../servers/targets.ts'
import { measureSends, sendColumns } from './measure.ts'
import { defineQuestion } from './question.ts'

const servers = ['dragoman-memory', 'plain-http'] as const
const uses = [
  { name: 'kept', title: 'kept connections', isKeptAlive: true },
  { name: 'new', title: 'a new connection for each request', isKeptAlive: false },
]

export const port = defineQuestion({
  name: 'port',
  title: 'Blocking sends on a port with gRPC and on a port without, 32 at a time',
  rounds: { full: 7, quick: 2 },
  isLong: true,
  columns: sendColumns,
  settings: ({ isQuick }) => ({
    connections: 32,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1500 : 4000,
  }),
  entries: (settings) =>
    uses.flatMap(({ name, title, isKeptAlive }) =>
      servers.map((server) => ({
        id: `${server}/${name}`,
        server,
        title: `${targets[server].title}: ${title}`,
        measure: () => withServer(server, {}, (measurement) => measureSends(measurement, { ...settings, isKeptAlive })),
      })),
    ),
  budgets: ({ ratio }) =>
    uses.map(({ name, title }) => ({
      what: `CPU of a send, ${title}, against the same handler on \`node:http\``,
      value: ratio(`dragoman-memory/${name}`, `plain-http/${name}`, 'cpuMicros'),
      atMost: 1.05,
      unit: '×',
    })),
})
