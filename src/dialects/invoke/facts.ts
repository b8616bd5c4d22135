import type { Limitation } from '../dialect.js'
import { type DialectFacts, earlyVersions } from '../dialect.js'

/** `input` in, `output` out, without a protocol version and without a card (RL-L1). */
export const facts = {
  name: 'invoke',
  versions: [],
  acceptedVersions: earlyVersions,
  extensionsHeader: 'A2A-Extensions',
} as const satisfies DialectFacts

export const paths = ['/a2a/invoke', '/a2a/stream'] as const

export const limitations: readonly Limitation[] = [
  {
    direction: 'in',
    what: 'the server generates message ids, so a repeated call runs again',
    remedy: 'send `Idempotency-Key`',
  },
  { direction: 'in', what: '`user_id` and `X-Agent-Name` are hints in the request metadata, never an identity' },
  {
    direction: 'out',
    what: 'ids of tasks and contexts',
    remedy: '`task_id` and `chat_id` in responses that do not end the task; clients choose `chat_id`',
  },
  { direction: 'out', what: 'files; a response with only files has an empty `output`' },
  { direction: 'out', what: 'data beside text; several data parts become one array' },
  { direction: 'out', what: 'media types, file names, metadata and extensions of parts, messages and artifacts' },
  { direction: 'out', what: 'the boundaries of artifacts: their texts are joined' },
  {
    direction: 'out',
    what: 'FAILED, CANCELED and REJECTED are all `error`',
    remedy: 'the status message has the details',
  },
  { direction: 'out', what: 'AUTH_REQUIRED is `input_required`' },
  { direction: 'out', what: 'history, cancelling, listing, re-subscribing and push notifications do not exist' },
]
