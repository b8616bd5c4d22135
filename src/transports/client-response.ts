/** Errors and stream items that the clients of all bindings share. */
import type { ClientDialect } from '../dialects/client-dialect.js'
import { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import { type Operation, operations } from '../model/operations.js'
import type { StreamItem } from '../model/service.js'

/** Decodes a response. Any decoding error becomes `INVALID_AGENT_RESPONSE`. */
export function readable<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof A2AError))
      throw new A2AError('INVALID_AGENT_RESPONSE', "The agent's answer cannot be read", { cause })
    if (cause.code !== 'INVALID_PARAMS') throw cause
    throw new A2AError('INVALID_AGENT_RESPONSE', `The agent's answer cannot be read: ${cause.message}`, cause.details)
  }
}

/** The error for an operation that the peer's dialect does not have. */
export function unsupported(operation: Operation, { name }: ClientDialect): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', `${operations[operation].name} does not exist in ${name}`, {
    metadata: { operation: operations[operation].name, dialect: name },
  })
}

/** Adds the events of one message. Only the last has the position: resuming after an earlier one would skip the rest. */
export function addItems(to: StreamItem[], events: readonly StreamResponse[], seq: number | undefined): void {
  const last = events.length - 1
  for (let place = 0; place <= last; place++) {
    const event = events[place] as StreamResponse // place is within the events
    to.push(seq !== undefined && place === last ? { event, seq } : { event })
  }
}
