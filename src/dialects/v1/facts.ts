import type { DialectFacts } from '../dialect.js'

/** A2A v1.0. */
export const facts = {
  name: 'v1',
  versions: ['1.0'],
  requiresVersion: true,
  extensionsHeader: 'A2A-Extensions',
  cardVersion: '1.0',
  isListed: true,
  hasTenants: true,
} as const satisfies DialectFacts
