/** The cost for HTTP of reading the first bytes of each connection, which finds gRPC on the same port. */
import { withServer } from '../measurement.ts'
import { targets } from '../servers/targets.ts'
import { measureSends } from './measure-sends.ts'
import { defineQuestion, sendColumns } from './question.ts'

const servers = ['dragoman-memory', 'plain-http'] as const
const uses = [
  { name: 'kept', title: 'kept connections', isKeptAlive: true },
  { name: 'new', title: 'a new connection for each request', isKeptAlive: false },
]

export const port = defineQuestion({
  name: 'port',
  title: 'Blocking sends on a port with gRPC and on a port without, 32 at a time',
  rounds: { full: 7, quick: 2 },
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
  budgets: (median) =>
    uses.map(({ name, title }) => ({
      what: `${title}, against the same handler on \`node:http\``,
      value:
        (100 * median(`dragoman-memory/${name}`, 'requestsPerSecond')) /
        median(`plain-http/${name}`, 'requestsPerSecond'),
      atLeast: 95,
      unit: '%',
    })),
})
