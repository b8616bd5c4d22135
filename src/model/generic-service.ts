/**
 * A generic form of a service, for code that treats all operations alike: one function for unary calls, one for streams.
 */
import { isStreaming, type Operation, operations } from './operations.js'
import type { AgentService, CallContext, StreamItem } from './service.js'

interface GenericService {
  unary(operation: Operation, request: unknown, context: CallContext): Promise<unknown>
  streaming(operation: Operation, request: unknown, context: CallContext): AsyncIterable<StreamItem>
}

export function fromGeneric(generic: GenericService): AgentService {
  const calls = (Object.keys(operations) as Operation[]).map((operation) => [
    operation,
    isStreaming(operation)
      ? (request: unknown, context: CallContext) => generic.streaming(operation, request, context)
      : (request: unknown, context: CallContext) => generic.unary(operation, request, context),
  ])
  return Object.fromEntries(calls) as AgentService // one function for each operation of the table
}

// The request has the type of its operation; the compiler cannot derive that from the operation's name.

export function toGeneric(service: AgentService): GenericService {
  return {
    unary: (operation, request, context) => callUnary(service, operation, request, context),
    streaming: (operation, request, context) => callStreaming(service, operation, request, context),
  }
}

type Calls<Result> = Readonly<Record<Operation, (request: never, context: CallContext) => Result>>

export function callUnary(
  service: AgentService,
  operation: Operation,
  request: unknown,
  context: CallContext,
): Promise<unknown> {
  return (service as unknown as Calls<Promise<unknown>>)[operation](request as never, context)
}

export function callStreaming(
  service: AgentService,
  operation: Operation,
  request: unknown,
  context: CallContext,
): AsyncIterable<StreamItem> {
  return (service as unknown as Calls<AsyncIterable<StreamItem>>)[operation](request as never, context)
}
