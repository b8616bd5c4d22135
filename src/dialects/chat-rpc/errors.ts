/** Error codes of 0.3, except that chat-rpc has no -32006: every failure of the agent has one code. */
import type { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import { flatErrorDetails } from '../error-details.js'
import { meaningsOf, type RpcError, readRpcError } from '../peer-error.js'
import { encodeRpcError, errors } from '../v0_3/errors.js'

/** Messages that the documents of chat-rpc list, by code. Our own text is in `data.detail`. */
const messages: ReadonlyMap<number, string> = new Map([
  [-32600, 'Invalid Request'],
  [-32601, 'Method not found'],
  [-32602, 'Invalid params'],
  [-32603, 'Internal error'],
  [-32001, 'Task not found'],
  [-32002, 'Task cannot be canceled'],
])

export function encodeError(error: A2AError): { code: number; message: string; data: object } {
  const encoded = encodeRpcError(error)
  const code = error.code === 'INVALID_AGENT_RESPONSE' ? errors.INTERNAL_ERROR.jsonrpc : encoded.code
  const message = messages.get(code)
  const data = flatErrorDetails(error)
  return message === undefined
    ? { ...encoded, code, data }
    : { code, message, data: { ...data, detail: encoded.message } }
}

export function httpStatus({ code }: A2AError): number {
  return errors[code].http
}

/** -32603 is the code of every failure; the details name the state of the task. */
export function decodeError(error: RpcError): A2AError {
  const { data } = error
  if (!isObject(data) || typeof data.detail !== 'string') return readRpcError(error, meanings)
  const { detail, ...rest } = data
  return readRpcError({ code: error.code, message: detail as string, data: rest }, meanings) // checked above
}

const meanings = meaningsOf(errors)
