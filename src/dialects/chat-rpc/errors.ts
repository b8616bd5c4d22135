/** 0.3's numbers, with one word for every failure of the agent: this dialect knows no -32006. */
import type { A2AError } from '../../model/errors.js'
import { flatErrorDetails } from '../error-details.js'
import { meaningsOf, type RpcError, readRpcError } from '../peer-error.js'
import { encodeRpcError, errors } from '../v0_3/errors.js'

export function encodeError(error: A2AError): { code: number; message: string; data: object } {
  const spelled = { ...encodeRpcError(error), data: flatErrorDetails(error) }
  return error.code === 'INVALID_AGENT_RESPONSE' ? { ...spelled, code: errors.INTERNAL_ERROR.jsonrpc } : spelled
}

export function httpStatus({ code }: A2AError): number {
  return errors[code].http
}

/** What failed is told by -32603 alone; which way a task ended is in the details. */
export function decodeError(error: RpcError): A2AError {
  return readRpcError(error, meanings)
}

const meanings = meaningsOf(errors)
