import type { Dialect } from '../dialect.js'
import { encodeCard } from './card.js'
import { encodeError, httpStatus } from './errors.js'
import { losses } from './losses.js'
import { methods, operations, paths } from './operations.js'
import { createStreamEncoder } from './stream.js'

/** 0.3's JSON-RPC at paths of its own, with messages for answers and a stream envelope of its own (RL-L2). */
export const chatRpc: Dialect = {
  name: 'chat-rpc',
  versions: [],
  extensionsHeader: 'X-A2A-Extensions',
  traits: { continuesContext: true, cannotResume: true, cancelsOnce: true, endsAtQuestions: true },
  jsonrpc: { methods, paths, operations, createStreamEncoder, encodeError, httpStatus },
  encodeCard,
  losses,
}
