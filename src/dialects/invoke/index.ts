import type { Dialect } from '../dialect.js'
import { flatErrorDetails } from '../error-details.js'
import { errors } from './errors.js'
import { facts, limitations, paths } from './facts.js'
import { createOperations, methods, routes } from './operations.js'
import { createStreamEncoder } from './stream.js'
import { encodeResponse, encodeResult, type QuestionStatus } from './tasks.js'

export interface InvokeOptions {
  /** The `status` of questions. `success` is for callers that know only `success` and `error`. Default `input_required`. */
  readonly invokeQuestions?: QuestionStatus
}

/** `input` in, `output` out: two paths, with or without a JSON-RPC envelope around the same objects (RL-L1). */
export function createInvoke({ invokeQuestions = 'input_required' }: InvokeOptions = {}): Dialect {
  return {
    ...facts,
    traits: { continuesContext: true, cannotResume: true, endsAtQuestions: true },
    rest: {
      routes,
      operations: createOperations((response) => encodeResponse(response, invokeQuestions)),
      createStreamEncoder: () => createStreamEncoder(invokeQuestions),
      refusesOtherMethods: true,
      encodeError: ({ code, message }) => ({ status: errors[code].http, body: { error: message, status: 'error' } }),
    },
    jsonrpc: {
      methods,
      paths,
      operations: createOperations((response) => encodeResult(response, invokeQuestions)),
      createStreamEncoder: () => createStreamEncoder(invokeQuestions),
      encodeError: (error) => ({
        code: errors[error.code].jsonrpc,
        message: error.message,
        data: flatErrorDetails(error),
      }),
      httpStatus: ({ code }) => errors[code].http,
    },
    example: { path: paths[0], body: { input: 'hi' } },
    limitations,
  }
}
