import type { Limitation } from '../dialect.js'
import { type DialectFacts, earlyVersions } from '../dialect.js'

/** Tasks over plain HTTP, without a protocol version. */
export const facts = {
  name: 'task-rest',
  versions: [],
  acceptedVersions: earlyVersions,
  extensionsHeader: 'X-A2A-Extensions',
  cardVersion: '0.1',
} as const satisfies DialectFacts

/** Values of the model that task-rest cannot express. */
export const limitations: readonly Limitation[] = [
  {
    direction: 'out',
    what: 'the states REJECTED and AUTH_REQUIRED: shown as `failed` and `input-required`',
    remedy: 'the true state is in `metadata.a2aState`',
  },
  {
    direction: 'out',
    what: 'extensions and references of messages, extensions of artifacts',
    remedy: 'kept as `a2aExtensions` and `a2aReferenceTaskIds` where there is metadata',
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
  { direction: 'out', what: 'metadata of events' },
  { direction: 'out', what: 'progress messages in the history of a task whose events were removed (`retention`)' },
  {
    direction: 'out',
    what: 'messages that others send to a task while its stream is read: the tasks in the stream do not show them',
    remedy: '`GET /tasks/{id}` does',
  },
  { direction: 'out', what: 'push configs of a task beside the one called like it, else beside the first' },
  { direction: 'out', what: 'ListTasks, the listing of push configs and the extended card: no such routes' },
  {
    direction: 'out',
    what: 'of the card: provider, tags, media types in detail, every security scheme but the API key, signatures',
  },
  {
    direction: 'in',
    what: 'accepted output modes, history lengths and `returnImmediately`: calls wait, history is full',
  },
  { direction: 'in', what: 'the state `unknown`: read as FAILED, since it ends a task' },
  { direction: 'in', what: 'zones of times without one: read as UTC; digits below a millisecond' },
  { direction: 'in', what: 'members the protocol does not know', remedy: 'put such data into `metadata`' },
]
