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
    what: 'the states REJECTED and AUTH_REQUIRED: sent as `failed` and `input-required`',
    remedy: 'the actual state is in `metadata.a2aState`',
  },
  {
    direction: 'out',
    what: 'extensions and references of messages, extensions of artifacts',
    remedy: 'kept as `a2aExtensions` and `a2aReferenceTaskIds` if there is metadata',
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
    what: 'messages from other callers during a stream: the tasks in the stream do not contain them',
    remedy: '`GET /tasks/{id}` does',
  },
  { direction: 'out', what: 'all push configs of a task except the one with the task’s id, else except the first' },
  { direction: 'out', what: 'ListTasks, the listing of push configs and the extended card: no such routes' },
  {
    direction: 'out',
    what: 'card: provider, tags, exact media types, security schemes other than the API key, signatures',
  },
  {
    direction: 'in',
    what: 'accepted output modes, history lengths and `returnImmediately`: calls wait, history is full',
  },
  { direction: 'in', what: 'the state `unknown`: decoded as FAILED, because it ends a task' },
  { direction: 'in', what: 'missing time zones, which are decoded as UTC; digits below a millisecond' },
  { direction: 'in', what: 'unknown members', remedy: 'put such data into `metadata`' },
]
