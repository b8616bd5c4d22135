import { EventJson } from '../../model/event-json.js'
import type { Dialect, StreamEncoder } from '../dialect.js'
import { acceptsOnlyEvents, errorDetails } from '../error-details.js'
import { quirksOf } from '../quirks.js'
import { toV1Card } from './card.js'
import { type ErrorProfile, errorsOf } from './errors.js'
import { facts } from './facts.js'
import { grpcOperations, methods, operations, routes } from './operations.js'

export interface V1Options {
  /** The release whose HTTP and gRPC statuses errors have. Default 1.0.1. */
  readonly errors?: ErrorProfile
}

/** A2A v1.0. The model is v1.0's JSON, so an event is serialised once and shared by all its readers. */
export function createV1({ errors: profile = '1.0.1' }: V1Options = {}): Dialect {
  const errors = errorsOf(profile)
  return {
    ...facts,
    isDefault: true,
    jsonrpc: {
      methods,
      operations,
      createStreamEncoder,
      // Only `code`, `message` and `data` (R-ERR-4).
      encodeError: (error) => ({
        code: errors[error.code].jsonrpc,
        message: error.message,
        data: errorDetails(error),
      }),
      httpStatus: ({ code }) => errors[code].http,
      sendsErrorAsEvent: (operation, facts) =>
        acceptsOnlyEvents(operation, facts) && quirksOf(facts).streamErrors === 'event',
    },
    rest: {
      routes,
      operations,
      mediaType: 'application/a2a+json',
      createStreamEncoder,
      // `code` equals the HTTP status (R-ERR-5).
      encodeError(error) {
        const { http: code, grpc: status } = errors[error.code]
        return { status: code, body: { error: { code, status, message: error.message, details: errorDetails(error) } } }
      },
    },
    grpc: {
      service: 'lf.a2a.v1.A2AService',
      rpcs: methods,
      operations: grpcOperations,
      createStreamEncoder:
        () =>
        ({ event }) =>
          event,
      status: ({ code }) => errors[code].grpc,
      errorDetails,
    },
    push: { contentType: 'application/a2a+json', encodeEvent: (event) => JSON.stringify(event) },
    card: { encode: toV1Card, signing: 'strict' },
    example: {
      path: '/message:send',
      body: { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hi' }] } },
    },
    limitations: [
      { direction: 'in', what: 'unknown members', remedy: 'put such data into `metadata`' },
      {
        direction: 'in',
        what: '`TASK_STATE_UNSPECIFIED` of a peer’s task, and no state at all',
        remedy: 'decoded as working: poll again',
      },
      { direction: 'in', what: 'invalid timestamps of a peer’s task' },
    ],
  }
}

export const v1: Dialect = createV1()

function createStreamEncoder(): StreamEncoder {
  const json = new EventJson()
  return {
    /** Uses the shared text, unless an interceptor replaced the event. */
    encode: ({ event, source }) => (source?.body === event ? json.of(source) : JSON.stringify(event)),
  }
}
