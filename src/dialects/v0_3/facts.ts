import { type DialectFacts, earlyVersions } from '../dialect.js'

/** A2A v0.3. Requests of v0.2 have the same shape, and v0.2 clients read v0.3 responses (RL-02-3). */
export const facts = {
  name: 'v0.3',
  versions: ['0.3', '0.2'],
  acceptedVersions: earlyVersions,
  extensionsHeader: 'X-A2A-Extensions',
  cardVersion: '0.3',
  isListed: true,
} as const satisfies DialectFacts
