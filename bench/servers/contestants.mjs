// Who takes part, and how each is started. Ports and database files are handed in, because every
// round gets fresh ones.
import { fileURLToPath } from 'node:url'

const pathOf = (relative) => fileURLToPath(new URL(relative, import.meta.url))

const dragoman =
  (store, ...more) =>
  ({ port }) => [
    pathOf('../../bin/dragoman.js'),
    ...['serve', '--echo', '--port', String(port), '--store', store, ...more],
  ]
const registry = (store) => [pathOf('registry.mjs'), store]
const sdk = (store) => () => [pathOf('sdk.mjs'), store]
const alone = (file) => () => [pathOf(file)]

/**
 * @typedef {{ title: string, needsBuild?: boolean, needsPostgres?: boolean,
 *   args(place: { port: number, database: string }): string[] }} Contestant
 *   Dragoman has to be built for its own servers, for those made of its parts, and for whoever is
 *   called over gRPC, because the generator speaks that with Dragoman's codecs.
 * @type {Record<string, Contestant>}
 */
export const contestants = {
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
    args: (place) => dragoman(`sqlite:${place.database}`)(place),
  },
  'dragoman-push-sqlite': {
    title: 'Dragoman, SQLite',
    needsBuild: true,
    args: (place) => dragoman(`sqlite:${place.database}`, '--allow-webhook', '127.0.0.1')(place),
  },
  'dragoman-postgres': {
    title: 'Dragoman, Postgres',
    needsBuild: true,
    needsPostgres: true,
    args: (place) => dragoman(place.database)(place),
  },
  'dragoman-all-memory': {
    title: 'memory',
    needsBuild: true,
    args: dragoman('memory', '--dialects', 'all'),
  },
  'dragoman-all-sqlite': {
    title: 'SQLite',
    needsBuild: true,
    args: (place) => dragoman(`sqlite:${place.database}`, '--dialects', 'all')(place),
  },
  ...Object.fromEntries(
    ['none', 'key', 'jwt'].map((proof) => [
      `dragoman-auth-${proof}`,
      { title: `Dragoman, ${proof}`, needsBuild: true, args: () => [pathOf('with-auth.mjs'), proof] },
    ]),
  ),
  'plain-http': {
    title: "Dragoman's handler on `node:http`, memory",
    needsBuild: true,
    args: alone('plain-http.mjs'),
  },
  'workflow-memory': {
    title: 'Dragoman, memory',
    needsBuild: true,
    args: ({ port }) => [pathOf('workflow.mjs'), 'memory', String(port)],
  },
  'workflow-sqlite': {
    title: 'Dragoman, SQLite',
    needsBuild: true,
    args: ({ port, database }) => [pathOf('workflow.mjs'), `sqlite:${database}`, String(port)],
  },
  'sdk-memory': {
    title: '@a2a-js/sdk, memory',
    args: sdk('memory'),
  },
  'sdk-sqlite': {
    title: '@a2a-js/sdk, SQLite',
    args: (place) => sdk(`sqlite:${place.database}`)(place),
  },
  'sdk-postgres': {
    title: '@a2a-js/sdk, Postgres',
    needsPostgres: true,
    args: (place) => sdk(place.database)(place),
  },
  'sdk-grpc': {
    title: '@a2a-js/sdk, memory',
    needsBuild: true,
    args: alone('sdk-grpc.mjs'),
  },
  bare: {
    title: 'bare `node:http`',
    args: alone('bare.mjs'),
  },
  'bare-grpc': {
    title: 'bare grpc-js',
    needsBuild: true,
    args: alone('bare-grpc.mjs'),
  },
}
