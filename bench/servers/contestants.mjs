// Who takes part, and how each is started. Ports and database files are handed in, because every
// round gets fresh ones.
import { fileURLToPath } from 'node:url'

const pathOf = (relative) => fileURLToPath(new URL(relative, import.meta.url))

const dragoman =
  (store) =>
  ({ port }) => [pathOf('../../bin/dragoman.js'), ...['serve', '--echo', '--port', String(port), '--store', store]]
const sdk = (store) => () => [pathOf('sdk.mjs'), store]

/**
 * @typedef {{ title: string, isOurs?: boolean,
 *   args(place: { port: number, database: string }): string[] }} Contestant
 * @type {Record<string, Contestant>}
 */
export const contestants = {
  'dragoman-memory': {
    title: 'Dragoman, memory',
    isOurs: true,
    args: dragoman('memory'),
  },
  'dragoman-sqlite': {
    title: 'Dragoman, SQLite',
    isOurs: true,
    args: (place) => dragoman(`sqlite:${place.database}`)(place),
  },
  'sdk-memory': {
    title: '@a2a-js/sdk, memory',
    args: sdk('memory'),
  },
  'sdk-sqlite': {
    title: '@a2a-js/sdk, SQLite',
    args: (place) => sdk(`sqlite:${place.database}`)(place),
  },
  bare: {
    title: 'bare `node:http`',
    args: () => [pathOf('bare.mjs')],
  },
}
