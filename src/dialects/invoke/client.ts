/** The client's side of invoke: `input` out, `output` in, over HTTP or in a JSON-RPC envelope (RL-L1-6). */
import type { SendMessageRequest, SendMessageResponse } from '../../model/service.js'
import type { ClientDialect, RequestCodec, RestRequestCodec } from '../client-dialect.js'
import { decodeHttpError, decodeRpcError } from './errors.js'
import { paths } from './facts.js'
import { encodeSendParams } from './messages.js'
import { outline } from './outline.js'
import { createStreamDecoder } from './stream.js'
import { decodeResponse } from './tasks.js'

/** Clients choose `chat_id`, so that a streamed conversation can continue. A known task already has one. */
const encode: RequestCodec<SendMessageRequest>['encode'] = ({ message, ...rest }, { newId }) => {
  const isKnown = message.contextId !== undefined || message.taskId !== undefined
  return encodeSendParams({ ...rest, message: isKnown ? message : { ...message, contextId: newId() } })
}

const sendMessage: RequestCodec<SendMessageRequest, SendMessageResponse> = {
  encode,
  decode(answer, { message: { contextId, taskId } }, { newId }) {
    const asked = { ...(contextId !== undefined && { contextId }), ...(taskId !== undefined && { taskId }) }
    return decodeResponse(answer, { ...asked, newId })
  },
}

/** A single chunk and a response that is not streamed have the same form. */
const sendStreamingMessage: RequestCodec<SendMessageRequest> = { encode, decode: (answer) => answer }

export const invokeClient: ClientDialect = {
  ...outline,
  rest: {
    operations: {
      sendMessage: posted(paths[0], sendMessage),
      sendStreamingMessage: posted(paths[1], sendStreamingMessage),
    },
    createStreamDecoder,
    decodeError: decodeHttpError,
  },
  jsonrpc: {
    methods: { sendMessage: 'invoke', sendStreamingMessage: 'stream' },
    paths: { sendMessage: paths[0], sendStreamingMessage: paths[1] },
    operations: { sendMessage, sendStreamingMessage },
    createStreamDecoder,
    decodeError: decodeRpcError,
  },
}

function posted<Request, Result>(
  path: string,
  codec: RequestCodec<Request, Result>,
): RestRequestCodec<Request, Result> {
  return { ...codec, encode: (request, facts) => ({ method: 'POST', path, body: codec.encode(request, facts) }) }
}
