import { type DialectFacts, earlyVersions } from '../dialect.js'

/** `input` in, `output` out, without a protocol version and without a card (RL-L1). */
export const facts = {
  name: 'invoke',
  versions: [],
  acceptedVersions: earlyVersions,
  extensionsHeader: 'A2A-Extensions',
} as const satisfies DialectFacts
