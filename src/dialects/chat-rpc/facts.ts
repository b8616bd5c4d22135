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

export const limitations: readonly Limitation[] = [
  {
    direction: 'in',
    what: 'ids of messages that have none are made here, so a repeated call runs again',
    remedy: 'send a `messageId` or `Idempotency-Key`',
  },
  { direction: 'in', what: '`configuration` of a send: the answer is waited for, webhooks do not exist' },
  { direction: 'in', what: 'members the protocol does not know', remedy: 'put such data into `metadata`' },
  {
    direction: 'out',
    what: 'a task is answered as a message made of its artifacts: their ids, names and metadata are lost',
    remedy: '`tasks/get` with the `taskId` of the message',
  },
  {
    direction: 'out',
    what: 'FAILED, CANCELED and REJECTED are one error, -32603',
    remedy: '`data.metadata.state` tells which; streams name the state',
  },
  { direction: 'out', what: 'INPUT_REQUIRED and AUTH_REQUIRED in messages', remedy: '`metadata.state`' },
  { direction: 'out', what: 'in streams: history and timestamps', remedy: '`tasks/get`' },
  {
    direction: 'out',
    what: 'in streams: which artifact a text belongs to; all text is one message',
    remedy: '`tasks/get`',
  },
  {
    direction: 'out',
    what: 'in streams: that an answer has no task',
    remedy: 'the envelope gives the id of the message as the id of the task',
  },
  {
    direction: 'out',
    what: 'data parts that are no objects',
    remedy: 'wrapped as `{"value": …}` and marked with `data_part_compat` in the metadata of the part',
  },
  {
    direction: 'out',
    what: 'media type and file name of text and data parts',
    remedy: '`a2aMediaType` and `a2aFilename` in the metadata of the part',
  },
  { direction: 'out', what: 'listing, re-subscribing, push notifications and the extended card do not exist' },
  { direction: 'out', what: 'cards: every interface but this one' },
]
