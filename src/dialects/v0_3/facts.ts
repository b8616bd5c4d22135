import type { Limitation } from '../dialect.js'
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

export const limitations: readonly Limitation[] = [
  { direction: 'in', what: 'unknown members', remedy: 'put such data into `metadata`' },
  { direction: 'in', what: '`final` of status updates', remedy: 'computed from the state when sent' },
  {
    direction: 'in',
    what: 'the state `unknown` of a peer’s task, and no state at all',
    remedy: 'decoded as working: poll again',
  },
  {
    direction: 'in',
    what: 'the webhook id `default`',
    remedy: 'it means the webhook without an id, which has the task’s id',
  },
  {
    direction: 'in',
    what: 'missing time zones, and digits below the millisecond',
    remedy: 'decoded as UTC',
  },
  { direction: 'in', what: 'invalid timestamps of a peer’s task' },
  { direction: 'in', what: 'over REST and gRPC: a `historyLength` of 0, which counts as absent' },
  {
    direction: 'in',
    what: 'signatures of cards: they cover the card as received',
    remedy: 'verify before decoding',
  },
  {
    direction: 'out',
    what: 'data parts that are not objects',
    remedy: 'wrapped as `{"value": …}` and marked with `data_part_compat` in the metadata of the part',
  },
  {
    direction: 'out',
    what: 'media type and file name of text and data parts',
    remedy: '`a2aMediaType` and `a2aFilename` in the metadata of the part',
  },
  {
    direction: 'out',
    what: 'over REST and gRPC: `referenceTaskIds`',
    remedy: '`a2aReferenceTaskIds` in the metadata of the message',
  },
  { direction: 'out', what: 'over gRPC: the metadata of a cancellation' },
  {
    direction: 'out',
    what: 'over REST and gRPC: requests for a task without history',
    remedy: 'the client drops the received history',
  },
  { direction: 'out', what: 'over gRPC, only to peers of 0.3.0: metadata of parts and names of files' },
  { direction: 'out', what: 'tenants, and interfaces with a tenant', remedy: 'mount the agent once for each tenant' },
  { direction: 'out', what: 'interfaces of other versions' },
  { direction: 'out', what: 'the OAuth device code flow and `pkceRequired`' },
  {
    direction: 'out',
    what: 'existing signatures of a v1.0 card: they cover the v1.0 form',
    remedy: 'the server signs the 0.3 form with the keys of `advanced.signing`',
  },
  {
    direction: 'out',
    what: 'over JSON-RPC: webhooks of a task beyond the first hundred',
    remedy: 'list them over REST',
  },
]
