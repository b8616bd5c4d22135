import { goldenWire, type Shape } from '../../../test/wire/golden.js'
import type { JsonRpcForm } from '../dialect.js'
import { invoke } from './index.js'
import { decodeSendParams, encodeSendParams } from './messages.js'
import { methods, operations, routes } from './operations.js'
import { decodeResponse, encodeResponse } from './tasks.js'

const facts = { newId: () => 'id-1', header: () => null }
const shapes: Record<string, Shape> = {
  response: { decode: (wire) => decodeResponse(wire, facts), encode: encodeResponse },
  sendParams: { decode: (wire) => decodeSendParams(wire, facts), encode: encodeSendParams },
}

goldenWire('invoke', {
  shapes,
  operations,
  operationOf: (call) =>
    methods.get(call) ?? routes.find((route) => `${route.method} ${route.path}` === call)?.operation,
  createStreamEncoder: (invoke.jsonrpc as JsonRpcForm).createStreamEncoder, // the dialect has that form
})
