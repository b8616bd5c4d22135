import type { Dialect } from '../dialect.js'
import { flatErrorDetails } from '../error-details.js'
import { errors } from './errors.js'
import { losses } from './losses.js'
import { methods, operations, paths, routes } from './operations.js'
import { createStreamEncoder } from './stream.js'

/** `input` in, `output` out: two paths, with or without a JSON-RPC envelope around the same objects (RL-L1). */
export const invoke: Dialect = {
  name: 'invoke',
  versions: [],
  extensionsHeader: 'A2A-Extensions',
  traits: { continuesContext: true, cannotResume: true },
  rest: {
    routes,
    operations,
    createStreamEncoder,
    encodeError: ({ code, message }) => ({ status: errors[code].http, body: { error: message, status: 'error' } }),
  },
  jsonrpc: {
    methods,
    paths,
    operations,
    createStreamEncoder,
    encodeError: (error) => ({
      code: errors[error.code].jsonrpc,
      message: error.message,
      data: flatErrorDetails(error),
    }),
    httpStatus: ({ code }) => errors[code].http,
  },
  losses,
}
