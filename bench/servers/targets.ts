/** The servers that are measured, and the arguments of `node` that start each one. */
import { fileURLToPath } from 'node:url'
import { modulePath } from '../module-path.ts'
import type { Feature } from './features.ts'

/** New for each measurement. */
export interface LaunchOptions {
  readonly port: number
  /** Path of an SQLite file, or address of a Postgres database. */
  readonly database: string
  /** The agent behind a proxy. */
  readonly upstream: string | undefined
}

export interface Target {
  readonly title: string
  /**
   * Whether the measurement needs a build of Dragoman: for its own servers, for servers that use its modules, and for
   * servers over gRPC, because the generator uses Dragoman's codecs there.
   */
  readonly needsBuild?: boolean
  readonly needsPostgres?: boolean
  args(options: LaunchOptions): string[]
}

// The same path from the sources and from the compiled output.
const cli = fileURLToPath(new URL('../../bin/dragoman.js', import.meta.url))

const dragoman =
  (store: string, ...more: string[]) =>
  ({ port }: LaunchOptions) => [cli, 'serve', '--echo', '--port', String(port), '--store', store, ...more]
const registry = (store: string) => [modulePath('servers/registry'), store]
const sdk = (store: string) => [modulePath('servers/sdk'), store]
const standalone = (name: string) => () => [modulePath(`servers/${name}`)]
const withFeature = (feature: Feature) => ({
  title: `Dragoman, ${feature}`,
  needsBuild: true,
  args: () => [modulePath('servers/with-feature'), feature],
})

const all = {
  'registry-memory': {
    title: 'Dragoman’s registry, memory',
    needsBuild: true,
    args: () => registry('memory'),
  },
  'registry-sqlite': {
    title: 'Dragoman’s registry, SQLite',
    needsBuild: true,
    args: ({ database }) => registry(`sqlite:${database}`),
  },
  'dragoman-memory': {
    title: 'Dragoman, memory',
    needsBuild: true,
    args: dragoman('memory'),
  },
  'dragoman-sqlite': {
    title: 'Dragoman, SQLite',
    needsBuild: true,
    args: (options) => dragoman(`sqlite:${options.database}`)(options),
  },
  'dragoman-push-sqlite': {
    title: 'Dragoman, SQLite',
    needsBuild: true,
    args: (options) => dragoman(`sqlite:${options.database}`, '--allow-webhook', '127.0.0.1')(options),
  },
  'dragoman-postgres': {
    title: 'Dragoman, Postgres',
    needsBuild: true,
    needsPostgres: true,
    args: (options) => dragoman(options.database)(options),
  },
  'dragoman-all-memory': {
    title: 'memory',
    needsBuild: true,
    args: dragoman('memory', '--dialects', 'all'),
  },
  'dragoman-all-sqlite': {
    title: 'SQLite',
    needsBuild: true,
    args: (options) => dragoman(`sqlite:${options.database}`, '--dialects', 'all')(options),
  },
  'dragoman-with-none': withFeature('none'),
  'dragoman-with-key': withFeature('key'),
  'dragoman-with-jwt': withFeature('jwt'),
  'dragoman-with-limits': withFeature('limits'),
  'dragoman-with-metrics': withFeature('metrics'),
  'dragoman-with-audit': withFeature('audit'),
  'dragoman-proxy': {
    title: 'Dragoman as proxy, memory',
    needsBuild: true,
    args: ({ port, upstream = '' }) => [cli, 'serve', '--proxy', upstream, '--port', String(port), '--store', 'memory'],
  },
  'plain-http': {
    title: "Dragoman's handler on `node:http`, memory",
    needsBuild: true,
    args: standalone('plain-http'),
  },
  'workflow-memory': {
    title: 'Dragoman, memory',
    needsBuild: true,
    args: ({ port }) => [modulePath('servers/workflow'), 'memory', String(port)],
  },
  'workflow-sqlite': {
    title: 'Dragoman, SQLite',
    needsBuild: true,
    args: ({ port, database }) => [modulePath('servers/workflow'), `sqlite:${database}`, String(port)],
  },
  'sdk-memory': {
    title: '@a2a-js/sdk, memory',
    args: () => sdk('memory'),
  },
  'sdk-sqlite': {
    title: '@a2a-js/sdk, SQLite',
    args: ({ database }) => sdk(`sqlite:${database}`),
  },
  'sdk-postgres': {
    title: '@a2a-js/sdk, Postgres',
    needsPostgres: true,
    args: ({ database }) => sdk(database),
  },
  'sdk-grpc': {
    title: '@a2a-js/sdk, memory',
    needsBuild: true,
    args: standalone('sdk-grpc'),
  },
  bare: {
    title: 'bare `node:http`',
    args: standalone('bare'),
  },
  'bare-grpc': {
    title: 'bare grpc-js',
    needsBuild: true,
    args: standalone('bare-grpc'),
  },
  'empty-grpc': {
    title: 'empty grpc-js',
    needsBuild: true,
    args: () => [modulePath('servers/bare-grpc'), 'empty'],
  },
} satisfies Record<string, Target>

export type TargetName = keyof typeof all

export const targets: Readonly<Record<TargetName, Target>> = all

export const targetNames = Object.keys(all) as TargetName[]
