/** Every option is on the page that is about it, and nothing is there that is no option. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

/** The members of an interface as it is written, those of what it extends aside. */
function membersOf(path: string, name: string): readonly string[] {
  const [, body = ''] = new RegExp(`(?:interface|type) ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(read(path)) ?? []
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, member = '']) => member)
}

/** The first cells of the table below a heading. */
function rowsBelow(page: string, heading: string): readonly string[] {
  const [, below = ''] = page.split(new RegExp(`^#+ ${heading}$`, 'm'))
  const [section = ''] = below.split(/^#/m)
  return [...section.matchAll(/^\| `(\w+)` \| (?=\S)[^|]+ \| (?=\S)/gm)].map(([, name = '']) => name)
}

type Source = readonly [path: string, name: string]
interface Table {
  readonly heading: string
  readonly of: readonly Source[]
  /** Members that are not for users. */
  readonly without?: readonly string[]
}

const addresses: Source = ['src/net/address-rules.ts', 'AddressRules']
const pages: Readonly<Record<string, readonly Table[]>> = {
  'docs/console.md': [
    {
      heading: 'In your own server',
      of: [
        ['src/console/create-console.ts', 'ConsoleOptions'],
        ['src/console/access.ts', 'AccessOptions'],
      ],
    },
  ],
  'docs/client.md': [
    { heading: 'Options of `connect`', of: [['src/client/connect-options.ts', 'ConnectOptions']] },
    { heading: '`retry`', of: [['src/client/retry.ts', 'RetryOptions']] },
    { heading: '`breaker`', of: [['src/client/circuit-breaker.ts', 'CircuitBreakerOptions']] },
    { heading: '`signatures`', of: [['src/client/verify-card.ts', 'SignatureOptions']] },
    { heading: 'Options of a call', of: [['src/client/agent-client.ts', 'SendOptions']] },
  ],
  'docs/operating.md': [
    {
      heading: 'Options of the SQLite store',
      of: [
        ['src/stores/sqlite/file-health.ts', 'FileHealthOptions'],
        ['src/stores/sqlite/sqlite-store.ts', 'SqliteStoreOptions'],
      ],
    },
    {
      heading: 'Options of the Postgres store',
      of: [
        ['src/stores/postgres/database.ts', 'DatabaseOptions'],
        ['src/stores/postgres/notices.ts', 'NoticesOptions'],
        ['src/stores/postgres/postgres-store.ts', 'PostgresStoreOptions'],
      ],
    },
  ],
  'docs/serve.md': [
    { heading: "Members of an agent's card", of: [['src/engine/agent.ts', 'AgentInit']] },
    { heading: 'Members of `turn`', of: [['src/engine/agent.ts', 'Turn']] },
    { heading: 'Options of `createHandler` and `serve`', of: [['src/server/handler.ts', 'HandlerOptions']] },
    {
      heading: 'Options of `serve`',
      of: [
        ['src/server/serve.ts', 'ServeOptions'],
        ['src/server/bind.ts', 'PortOptions'],
      ],
      without: ['auth'], // above
    },
    {
      heading: 'Agents',
      of: [
        ['src/server/serve.ts', 'ServedAgent'],
        ['src/server/mounts.ts', 'MountedAgent'],
      ],
    },
    { heading: '`policy`', of: [['src/server/policy.ts', 'Policy']] },
    {
      heading: '`limits`',
      of: [
        ['src/server/limits.ts', 'Limits'],
        ['src/engine/limits.ts', 'EngineLimits'],
        ['src/transports/read-json.ts', 'RequestLimits'],
      ],
    },
    { heading: '`metrics`', of: [['src/server/metrics.ts', 'MetricsPort']] },
    { heading: '`deadlines`', of: [['src/server/listener.ts', 'Deadlines']] },
    { heading: '`connections`', of: [['src/server/connection-limits.ts', 'ConnectionLimits']] },
    {
      heading: '`retention`',
      of: [
        ['src/stores/store.ts', 'Expiry'],
        ['src/engine/settings.ts', 'Retention'],
      ],
      without: ['limit'],
    },
    {
      heading: '`push`',
      of: [addresses, ['src/push/create-push.ts', 'PushOptions'], ['src/push/push-settings.ts', 'PushSettings']],
      without: ['allowNeighbours'],
    },
    {
      heading: '`engine`',
      of: [['src/engine/settings.ts', 'EngineSettings']],
      without: ['limits'],
    },
    { heading: '`routes`', of: [['src/server/routes.ts', 'Route']] },
    { heading: '`register`', of: [['src/server/announce.ts', 'RegisterOptions']] },
    {
      heading: '`fetchFile`',
      of: [addresses, ['src/net/fetch-file.ts', 'FetchFileOptions']],
      without: ['allowNeighbours'],
    },
  ],
}

describe.each(Object.entries(pages))('%s', (path, tables) => {
  it.each(tables)('has every option below $heading', ({ heading, of, without = [] }) => {
    for (const source of of) expect(membersOf(...source), source[1]).not.toEqual([])
    const members = of.flatMap((source) => membersOf(...source)).filter((member) => !without.includes(member))
    // What a table takes from an interface that is only picked from.
    const picked = heading === '`push`' ? ['lookup'] : []
    expect([...rowsBelow(read(path), heading)].sort()).toEqual([...members, ...picked].sort())
  })
})
