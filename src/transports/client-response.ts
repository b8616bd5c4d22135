/** What clients of every binding say about a peer that cannot do, or cannot say, what was asked of it. */
import type { ClientDialect } from '../dialects/client-dialect.js'
import { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import { type Operation, operations } from '../model/operations.js'
import type { StreamItem } from '../model/service.js'

/** An answer that cannot be read is the agent's fault, whatever the decoder calls it. */
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

export function unsupported(operation: Operation, { name }: ClientDialect): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', `${operations[operation].name} does not exist in ${name}`, {
    metadata: { operation: operations[operation].name, dialect: name },
  })
}

/** The events that one message told. Only the last is at its position: who resumes behind the first would miss the others. */
export function addItems(to: StreamItem[], events: readonly StreamResponse[], seq: number | undefined): void {
  const last = events.length - 1
  for (let place = 0; place <= last; place++) {
    const event = events[place] as StreamResponse // place is within the events
    to.push(seq !== undefined && place === last ? { event, seq } : { event })
  }
}
