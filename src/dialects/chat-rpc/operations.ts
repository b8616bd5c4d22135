import type { Operation } from '../../model/operations.js'
import type { SendMessageRequest, SendMessageResponse } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { type Decoder, decodeOrThrow } from '../decode.js'
import type { OperationCodec } from '../dialect.js'
import { cancelTaskRequest, getTaskRequest } from '../v0_3/requests.js'
import { encodeTask } from '../v0_3/tasks.js'
import { jsonForm } from '../v0_3/wire-form.js'
import { decodeSendParams } from './messages.js'
import { encodeResponse } from './tasks.js'

/** The documents of chat-rpc use both. */

const send: OperationCodec<SendMessageRequest, SendMessageResponse> = {
  decode: decodeSendParams,
  encode: (result, params) => JSON.stringify(encodeResponse(result, params)),
}

/** These operations return 0.3's results (RL-L2-3). */
function onTask<Request extends object>(request: Decoder<Request>): OperationCodec<Request, Task> {
  return {
    decode: (params) => decodeOrThrow(request, params),
    encode: (result) => JSON.stringify(encodeTask(result, jsonForm)),
  }
}

export const operations = {
  sendMessage: send,
  sendStreamingMessage: send,
  getTask: onTask(getTaskRequest.json),
  cancelTask: onTask(cancelTaskRequest.json),
} as const

export const methods: ReadonlyMap<string, Operation> = new Map([
  ['message/send', 'sendMessage'],
  ['message/stream', 'sendStreamingMessage'],
  ['tasks/get', 'getTask'],
  ['tasks/cancel', 'cancelTask'],
])
