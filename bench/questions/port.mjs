// Does it cost HTTP anything that the port looks at the first bytes of a connection, to find gRPC?
import { bout, runTimed } from '../bout.mjs'
import { contestants } from '../servers/contestants.mjs'

const servers = ['dragoman-memory', 'plain-http']
const uses = [
  { name: 'kept', title: 'kept connections', isKeptAlive: true },
  { name: 'new', title: 'a new connection for each request', isKeptAlive: false },
]

export const port = {
  name: 'port',
  title: 'Blocking sends on a port that gRPC shares, and on one that it does not, 32 at a time',
  rounds: { full: 7, quick: 2 },
  columns: [
    { key: 'requestsPerSecond', title: 'requests/s' },
    { key: 'serverBusy', title: 'server CPU', isShare: true },
    { key: 'generatorBusy', title: 'generator CPU', isShare: true },
  ],
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
        title: `${contestants[server].title}: ${title}`,
        measure: () => bout(server, {}, (sides) => measure(sides, { ...settings, isKeptAlive })),
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
}

async function measure(sides, settings) {
  const { requests, seconds, serverBusy, generatorBusy } = await runTimed(sides, 'sendMessages', settings)
  return { requestsPerSecond: requests / seconds, serverBusy, generatorBusy }
}
