import { goldenWire, type Shape } from '../../../test/wire/golden.js'
import type { JsonRpcForm } from '../dialect.js'
import { createInvoke } from './index.js'
import { decodeSendParams, encodeSendParams } from './messages.js'
import { methods, routes } from './operations.js'
import { decodeResponse, encodeResponse } from './tasks.js'

const jsonrpc = createInvoke().jsonrpc as JsonRpcForm // invoke has that form
const facts = { newId: () => 'id-1', header: () => null }
const shapes: Record<string, Shape> = {
  response: {
    decode: (wire) => decodeResponse(wire, facts),
    encode: (model) => encodeResponse(model, 'input_required'),
  },
  sendParams: { decode: (wire) => decodeSendParams(wire, facts), encode: encodeSendParams },
}

goldenWire('invoke', {
  shapes,
  operations: jsonrpc.operations,
  operationOf: (call) =>
    methods.get(call) ?? routes.find((route) => `${route.method} ${route.path}` === call)?.operation,
  createStreamEncoder: jsonrpc.createStreamEncoder,
})
