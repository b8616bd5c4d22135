/** A span for each call that comes in, from the moment it was understood. */
import type { ErrorCode } from '../model/errors.js'
import { operations } from '../model/operations.js'
import type { CallObserver } from '../transports/call-record.js'
import type { Tracing } from './tracing.js'

/** What callers do wrong is no failure of the server's. */
const failures: ReadonlySet<'ok' | ErrorCode> = new Set(['INTERNAL_ERROR', 'UNAVAILABLE', 'INVALID_AGENT_RESPONSE'])

export function traceCalls(tracing: Tracing, agent: string): NonNullable<CallObserver['span']> {
  return ({ operation, dialect, binding }, parent) => {
    const { name } = operations[operation]
    const facts = { agent, method: name, dialect: dialect.name, binding }
    const { traceparent, end } = tracing.start({ name, kind: 'server', facts, parent })
    return {
      traceparent,
      end({ outcome, taskId, contextId }) {
        const error = outcome === 'ok' ? undefined : outcome
        end({ isFailure: failures.has(outcome), taskId, contextId, error })
      },
    }
  }
}
