/** Error bodies in FastAPI's form (RL-L0-2). Codes are v0.1's. */
import type { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import { readHttpError } from '../peer-error.js'
import { codeOf, errors, meanings } from '../v0_1/errors.js'

export function encodeError(error: A2AError): { readonly status: number; readonly body: object } {
  return { status: statusOf(error), body: { detail: error.message, ...streamError(error) } }
}

export function streamError(error: A2AError): { readonly error: { readonly code: number; readonly message: string } } {
  return { error: { code: codeOf(error), message: error.message } }
}

/** An operation that an ended task does not allow is a conflict with its state. */
function statusOf({ code, details }: A2AError): number {
  const hasEnded = code === 'UNSUPPORTED_OPERATION' && details.metadata?.state !== undefined
  return hasEnded ? 409 : errors[code].http
}

/** Codes, if present, are v0.1's (RM-ERR-1). FastAPI's error for an unknown path is not about a task. */
export function decodeError(status: number, body: unknown): A2AError {
  const detail = isObject(body) ? body.detail : undefined
  const isTask = status === 404 && typeof detail === 'string' && detail !== 'Not Found'
  return readHttpError(status, body, meanings, isTask ? 'TASK_NOT_FOUND' : undefined)
}
