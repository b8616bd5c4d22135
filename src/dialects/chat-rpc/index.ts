import { type Dialect, exampleCall } from '../dialect.js'
import { hybridCard } from '../v0_3/card.js'
import { exampleMessage } from '../v0_3/wire-form.js'
import { encodeCard } from './card.js'
import { encodeError, httpStatus } from './errors.js'
import { facts, limitations, paths } from './facts.js'
import { methods, operations } from './operations.js'
import { createStreamEncoder } from './stream.js'

/** 0.3's JSON-RPC at separate paths, with messages as responses and its own stream envelope (RL-L2). */
export const chatRpc: Dialect = {
  ...facts,
  traits: { continuesContext: true, cannotResume: true, cancelsOnce: true, endsAtQuestions: true },
  jsonrpc: { methods, paths, operations, createStreamEncoder, encodeError, httpStatus },
  card: { encode: encodeCard, signing: 'as-received', merge: hybridCard },
  example: { path: paths[0], body: exampleCall('message/send', { message: exampleMessage }) },
  limitations,
}
