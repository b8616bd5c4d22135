/** Errors in the format of OpenAI's API: `{ error: { message, type, param, code } }`. */
import { A2AError, type ErrorCode } from '../../model/errors.js'
import { type HttpAnswer, jsonHeaders } from '../../transports/exchange.js'
import { httpStatuses } from '../http-statuses.js'

/** The words that OpenAI uses for these statuses. */
const codes: Readonly<Record<number, string>> = {
  401: 'invalid_api_key',
  404: 'not_found',
  429: 'rate_limit_exceeded',
  500: 'server_error',
  502: 'server_error',
  503: 'server_error',
}

interface ApiFacts {
  /** The word for programs, such as `model_not_found`. */
  readonly code?: string
  /** The parameter that is wrong. */
  readonly param?: string
  /** Default: that of the error code. */
  readonly status?: number
  /** False: the official clients must not send the request again. */
  readonly isRetried?: boolean
}

/** An error with the members that only OpenAI's API has. */
export class ApiError extends A2AError {
  readonly facts: ApiFacts

  constructor(code: ErrorCode, message: string, facts: ApiFacts = {}) {
    super(code, message)
    this.facts = facts
  }
}

/** The error for a parameter that has a wrong value. */
export function invalidParam(param: string, problem: string, code?: string): ApiError {
  return new ApiError('INVALID_PARAMS', `${param} ${problem}`, { param, ...(code && { code }) })
}

/** The error for a parameter that would change the answer if it had an effect. */
export function unsupportedParam(param: string, advice: string): ApiError {
  const message = `${param} is not supported: ${advice}`
  return new ApiError('INVALID_PARAMS', message, { param, code: 'unsupported_parameter' })
}

/** The member `error` of a response or of an element of a stream. */
export interface ErrorBody {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

export function errorBody(error: A2AError): ErrorBody {
  const { param, code } = factsOf(error)
  const status = statusOf(error)
  return {
    message: error.message,
    type: typeOf(status),
    param: param ?? error.details.violations?.[0]?.field ?? null,
    code: code ?? codes[status] ?? null,
  }
}

export function errorAnswer(error: A2AError): HttpAnswer {
  const { retryAfterSeconds } = error.details
  // Without a time, a limit does not pass by waiting.
  const isFinal = error.code === 'RATE_LIMITED' && retryAfterSeconds === undefined
  return {
    status: statusOf(error),
    headers: {
      ...jsonHeaders,
      ...((isFinal || factsOf(error).isRetried === false) && { 'x-should-retry': 'false' }),
    },
    body: JSON.stringify({ error: errorBody(error) }),
  }
}

function factsOf(error: A2AError): ApiFacts {
  return error instanceof ApiError ? error.facts : {}
}

function statusOf(error: A2AError): number {
  return factsOf(error).status ?? httpStatuses[error.code]
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}
