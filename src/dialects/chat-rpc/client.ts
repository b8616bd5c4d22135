/** The client's side of chat-rpc. If the interface's address has a path, it is the endpoint itself. */
import type { SendMessageRequest } from '../../model/service.js'
import type { ClientDialect } from '../client-dialect.js'
import { decodeCard } from '../v0_3/read-card.js'
import { decodeTask } from '../v0_3/tasks.js'
import { jsonForm } from '../v0_3/wire-form.js'
import { decodeError } from './errors.js'
import { paths } from './facts.js'
import { encodeSendParams } from './messages.js'
import { outline } from './outline.js'
import { createStreamDecoder } from './stream.js'
import { decodeResponse } from './tasks.js'

const encode = (request: SendMessageRequest) => encodeSendParams(request)

const decodeAnswer = (answer: unknown) => decodeTask(answer, jsonForm)

export const chatRpcClient: ClientDialect = {
  ...outline,
  jsonrpc: {
    defaultPath: paths[0],
    methods: {
      sendMessage: 'message/send',
      sendStreamingMessage: 'message/stream',
      getTask: 'tasks/get',
      cancelTask: 'tasks/cancel',
    },
    operations: {
      sendMessage: { encode, decode: (answer, _request, facts) => decodeResponse(answer, facts) },
      // The stream decoder reads a response that is not a stream as its only element.
      sendStreamingMessage: { encode, decode: (answer) => answer },
      getTask: {
        encode: ({ id, historyLength }) => ({ id, historyLength }),
        decode: decodeAnswer,
      },
      cancelTask: {
        encode: ({ id, metadata }) => ({ id, metadata }),
        decode: decodeAnswer,
      },
    },
    createStreamDecoder,
    decodeError,
  },
  card: { ...outline.card, decode: decodeCard },
}
