import { type DialectFacts, earlyVersions } from '../dialect.js'

/** Tasks over plain HTTP, without a protocol version. */
export const facts = {
  name: 'task-rest',
  versions: [],
  acceptedVersions: earlyVersions,
  extensionsHeader: 'X-A2A-Extensions',
  cardVersion: '0.1',
} as const satisfies DialectFacts
