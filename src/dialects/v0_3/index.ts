import type { Dialect } from '../dialect.js'
import { errorDetails } from '../error-details.js'
import { encodeCard } from './card.js'
import { encodeRestError, encodeRpcError, errors, grpcMessage } from './errors.js'
import { losses } from './losses.js'
import { grpcOperations, jsonOperations, methods, restOperations, rpcs } from './operations.js'
import { routes } from './routes.js'
import { jsonSpelling } from './spelling.js'
import { createGrpcStream, createRestStream, jsonStream, sendsErrorAsEvent } from './stream.js'
import { encodeTask } from './tasks.js'

/** A2A v0.3; 0.2 differs in nothing that matters on the way in, and reads what 0.3 says (RL-02-3). */
export const v0_3: Dialect = {
  name: 'v0.3',
  versions: ['0.3', '0.2'],
  extensionsHeader: 'X-A2A-Extensions',
  traits: { showsEndedTasks: true, endsAtQuestions: true, cancelsOnce: true, hasOnePushConfig: true },
  jsonrpc: {
    methods,
    operations: jsonOperations,
    createStreamEncoder: () => jsonStream,
    hasNotifications: true,
    sendsErrorAsEvent,
    encodeError: encodeRpcError,
    httpStatus: ({ code }) => errors[code].http,
  },
  rest: {
    routes,
    operations: restOperations,
    createStreamEncoder: createRestStream,
    encodeError: encodeRestError,
  },
  grpc: {
    service: 'a2a.v1.A2AService',
    rpcs,
    operations: grpcOperations,
    createStreamEncoder: createGrpcStream,
    status: ({ code }) => errors[code].grpc,
    statusMessage: grpcMessage,
    errorDetails,
  },
  push: { contentType: 'application/json', encodeTask: (task) => JSON.stringify(encodeTask(task, jsonSpelling)) },
  encodeCard,
  losses,
}
