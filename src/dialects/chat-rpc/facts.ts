import type { Limitation } from '../dialect.js'
import { type DialectFacts, earlyVersions } from '../dialect.js'

/** The methods of v0.3 at separate paths, with messages as results (RL-L2). */
export const facts = {
  name: 'chat-rpc',
  versions: [],
  acceptedVersions: earlyVersions,
  extensionsHeader: 'X-A2A-Extensions',
  cardVersion: '0.1',
} as const satisfies DialectFacts

export const paths = ['/api/v1/a2a', '/a2a/v1'] as const

export const limitations: readonly Limitation[] = [
  {
    direction: 'in',
    what: 'the server generates missing message ids, so a repeated call runs again',
    remedy: 'send a `messageId` or `Idempotency-Key`',
  },
  { direction: 'in', what: '`configuration` of a send: calls always wait, and webhooks do not exist' },
  { direction: 'in', what: 'unknown members', remedy: 'put such data into `metadata`' },
  {
    direction: 'out',
    what: 'a task is sent as a message with the content of its artifacts, without their ids, names and metadata',
    remedy: '`tasks/get` with the `taskId` of the message',
  },
  {
    direction: 'out',
    what: 'FAILED, CANCELED and REJECTED are one error, -32603',
    remedy: '`data.metadata.state` and streams name the state',
  },
  { direction: 'out', what: 'INPUT_REQUIRED and AUTH_REQUIRED in messages', remedy: '`metadata.state`' },
  { direction: 'out', what: 'in streams: history and timestamps', remedy: '`tasks/get`' },
  {
    direction: 'out',
    what: 'in streams: the artifact of a text; all text is one message',
    remedy: '`tasks/get`',
  },
  {
    direction: 'out',
    what: 'in streams: the absence of a task',
    remedy: 'the envelope has the message id as the task id',
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
  { direction: 'out', what: 'listing, re-subscribing, push notifications and the extended card do not exist' },
  { direction: 'out', what: 'cards: all other interfaces' },
]
