import { type DialectFacts, earlyVersions } from '../dialect.js'

/** A2A v0.1. */
export const facts = {
  name: 'v0.1',
  versions: ['0.1'],
  acceptedVersions: earlyVersions,
  extensionsHeader: 'X-A2A-Extensions',
  cardVersion: '0.1',
} as const satisfies DialectFacts

/** v0.1 of the community Go library. No caller names it: the address decides. */
export const goFacts = { ...facts, name: 'v0.1-go', versions: [] } as const satisfies DialectFacts
