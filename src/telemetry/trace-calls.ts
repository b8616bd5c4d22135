/** Creates a span for each incoming call, from its arrival. */
import type { ErrorCode } from '../model/errors.js'
import { operations } from '../model/operations.js'
import type { CallObserver } from '../transports/call-record.js'
import { bindingFacts, type Tracing } from './tracing.js'

/** Errors of callers do not count as failures of the server. */
const failures: ReadonlySet<'ok' | ErrorCode> = new Set(['INTERNAL_ERROR', 'UNAVAILABLE', 'INVALID_AGENT_RESPONSE'])

/** The name of calls that were refused before their body was read. */
const refusedName = 'A2A call'

export function traceCalls(tracing: Tracing, agent: string): NonNullable<CallObserver['span']> {
  return ({ operation, dialect, binding, at, trace: parent }) => {
    const method = operation && operations[operation].name
    const facts = { agent, method, dialect: dialect?.name, ...bindingFacts(binding) }
    const { trace, end } = tracing.start({ name: method ?? refusedName, kind: 'server', facts, parent, startMs: at })
    return {
      trace,
      end({ outcome, taskId, contextId, peer }) {
        const error = outcome === 'ok' ? undefined : outcome
        end({ isFailure: failures.has(outcome), taskId, contextId, error, caller: peer })
      },
    }
  }
}
