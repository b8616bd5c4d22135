import { type DialectFacts, earlyVersions } from '../dialect.js'

/** The methods of v0.3 at paths of its own, with Messages as results (RL-L2). */
export const facts = {
  name: 'chat-rpc',
  versions: [],
  acceptedVersions: earlyVersions,
  extensionsHeader: 'X-A2A-Extensions',
  cardVersion: '0.1',
} as const satisfies DialectFacts
