import type { Limitation } from '../dialect.js'
import { type DialectFacts, earlyVersions } from '../dialect.js'

/** A2A v0.1. */
export const facts = {
  name: 'v0.1',
  versions: ['0.1'],
  acceptedVersions: earlyVersions,
  extensionsHeader: 'X-A2A-Extensions',
  cardVersion: '0.1',
} as const satisfies DialectFacts

/** v0.1 of the community Go library. Requests do not name it: the address decides. */
export const goFacts = { ...facts, name: 'v0.1-go', versions: [] } as const satisfies DialectFacts

/** Values of the model that v0.1 cannot express. */
export const limitations: readonly Limitation[] = [
  {
    direction: 'out',
    what: 'the states REJECTED and AUTH_REQUIRED: sent as `failed` and `input-required`',
    remedy: 'the actual state is in `metadata.a2aState`',
  },
  {
    direction: 'out',
    what: 'ids, extensions and references of messages',
    remedy: 'kept as `a2aMessageId` and similar keys in messages that have metadata',
  },
  { direction: 'out', what: 'ids of artifacts', remedy: 'artifacts have their index in the task' },
  {
    direction: 'out',
    what: 'extensions of artifacts without metadata',
    remedy: 'with metadata: `metadata.a2aExtensions`',
  },
  {
    direction: 'out',
    what: 'data that is neither an object nor an array',
    remedy: 'wrapped as `{"value": …}`, marked by `metadata.data_part_compat`',
  },
  {
    direction: 'out',
    what: 'media types and file names of text and data',
    remedy: 'in `metadata.a2aMediaType` and `metadata.a2aFilename`',
  },
  { direction: 'out', what: 'all push configs of a task except the one with the task’s id, else except the first' },
  { direction: 'out', what: 'ListTasks, the listing of push configs and the extended card: no such methods' },
  {
    direction: 'out',
    what: 'card: extensions, scopes and flows, mutual TLS, signatures, interfaces other than one JSON-RPC address',
  },
  { direction: 'in', what: 'accepted output modes and `returnImmediately`: requests cannot state them; calls wait' },
  {
    direction: 'in',
    what: 'ids of messages',
    remedy: 'the server generates them, so repeated messages are not recognised',
  },
  { direction: 'in', what: 'the state `unknown`: decoded as FAILED, because it ends a task' },
  { direction: 'in', what: 'restarting a finished task', remedy: 'refused with -32009' },
  { direction: 'in', what: 'missing time zones, which are decoded as UTC; digits below a millisecond' },
  { direction: 'in', what: 'unknown members', remedy: 'put such data into `metadata`' },
]

/** Further values that the Go library's v0.1 cannot express. */
export const goLimitations: readonly Limitation[] = [
  {
    direction: 'out',
    what: 'the states INPUT_REQUIRED and AUTH_REQUIRED: sent as `processing`; the stream of a question ends',
    remedy: 'the question is the status message, the actual state is in `metadata.a2aState`',
  },
  {
    direction: 'out',
    what: 'the state REJECTED: sent as `failed`',
    remedy: 'the actual state is in `metadata.a2aState`',
  },
  { direction: 'out', what: 'the history of tasks' },
  { direction: 'out', what: 'the documentation URL of the card' },
]
