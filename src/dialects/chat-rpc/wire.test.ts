import { goldenWire, type Shape } from '../../../test/wire/golden.js'
import type { Message } from '../../model/message.js'
import type { SendMessageResponse } from '../../model/service.js'
import { decodeMessage, decodeSendParams, encodeMessage, encodeSendParams } from './messages.js'
import { methods, operations } from './operations.js'
import { createStreamEncoder } from './stream.js'
import { decodeResponse, encodeResponse } from './tasks.js'

const facts = { newId: () => 'id-1' }
const shapes: Record<string, Shape> = {
  message: { decode: (wire) => decodeMessage(wire, facts), encode: (model: Message) => encodeMessage(model, {}) },
  response: {
    decode: (wire) => decodeResponse(wire, facts),
    encode: (model: SendMessageResponse) => encodeResponse(model),
  },
  sendParams: { decode: (wire) => decodeSendParams(wire, facts), encode: encodeSendParams },
}

goldenWire('chat-rpc', { shapes, operations, operationOf: (call) => methods.get(call), createStreamEncoder })
