import { type Dialect, exampleCall } from '../dialect.js'
import { errorDetails } from '../error-details.js'
import { encodeCard, hybridCard } from './card.js'
import { encodeRestError, encodeRpcError, errors, grpcMessage } from './errors.js'
import { facts, limitations } from './facts.js'
import { grpcOperations, jsonOperations, methods, restOperations, routes, rpcs } from './operations.js'
import { createGrpcStream, createJsonStream, createRestStream, sendsErrorAsEvent } from './stream.js'
import { encodeTask } from './tasks.js'
import { exampleMessage, jsonForm } from './wire-form.js'

export const v0_3: Dialect = {
  ...facts,
  isDefault: true,
  traits: { showsEndedTasks: true, endsAtQuestions: true, cancelsOnce: true, hasOnePushConfig: true },
  jsonrpc: {
    methods,
    operations: jsonOperations,
    createStreamEncoder: createJsonStream,
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
  push: { contentType: 'application/json', encodeTask: (task) => JSON.stringify(encodeTask(task, jsonForm)) },
  card: { encode: encodeCard, signing: 'as-received', merge: hybridCard },
  example: { path: '', body: exampleCall('message/send', { message: exampleMessage }) },
  limitations,
}
