import type { Operation } from '../../model/operations.js'
import type { SendMessageRequest, SendMessageResponse } from '../../model/service.js'
import type { OperationCodec, RestRoute } from '../dialect.js'
import { paths } from './facts.js'
import { decodeSendParams } from './messages.js'
import type { Reply } from './tasks.js'

/** The two operations, which encode their results in the same way. */
export function createOperations(encodeResult: (response: SendMessageResponse) => Reply) {
  const send: OperationCodec<SendMessageRequest, SendMessageResponse> = {
    decode: decodeSendParams,
    encode: (result) => JSON.stringify(encodeResult(result)),
  }
  return { sendMessage: send, sendStreamingMessage: send } as const
}

export const routes: readonly RestRoute[] = [
  { method: 'POST', path: paths[0], operation: 'sendMessage' },
  { method: 'POST', path: paths[1], operation: 'sendStreamingMessage' },
]

export const methods: ReadonlyMap<string, Operation> = new Map([
  ['invoke', 'sendMessage'],
  ['stream', 'sendStreamingMessage'],
])
