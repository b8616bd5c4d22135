/** A span for each call that goes out, whatever has to be tried for it; the peer is told which. */

import { batchesOf, items } from '../model/batches.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import { type Operation, operations } from '../model/operations.js'
import type { AgentService, CallContext, StreamItem } from '../model/service.js'
import { TransportError } from '../model/transport-error.js'
import { bindingFacts, type OpenSpan, type Tracing } from '../telemetry/tracing.js'
import type { Choice } from './agent-client.js'

interface Callee {
  readonly agent: string
  /** Where its card was, if it had a place. */
  readonly card: string | undefined
  /** How it is spoken to at the moment. */
  readonly choice: () => Choice
}

export function traceCalls(service: AgentService, tracing: Tracing, { agent, card, choice }: Callee): AgentService {
  const { unary, streaming } = toGeneric(service)
  const start = (operation: Operation, context: CallContext): OpenSpan => {
    const { binding, dialect, url } = choice()
    const { name } = operations[operation]
    const facts = { agent, method: name, dialect, peer: hostOf(url), card, ...bindingFacts(binding) }
    return tracing.start({ name, kind: 'client', parent: context, facts })
  }
  async function* followed(...call: Parameters<typeof streaming>): AsyncGenerator<readonly StreamItem[], void, void> {
    const [operation, request, context] = call
    const span = start(operation, context)
    let error: unknown
    try {
      yield* batchesOf(streaming(operation, request, { ...context, ...span.trace }))
    } catch (caught) {
      error = caught
      throw caught
    } finally {
      span.end(outcomeOf(error))
    }
  }
  return fromGeneric({
    async unary(operation, request, context) {
      const span = start(operation, context)
      try {
        const answer = await span.run(() => unary(operation, request, { ...context, ...span.trace }))
        span.end(outcomeOf(undefined))
        return answer
      } catch (error) {
        span.end(outcomeOf(error))
        throw error
      }
    },
    streaming: (...call) => items(followed(...call)),
  })
}

function outcomeOf(error: unknown): Parameters<OpenSpan['end']>[0] {
  if (error === undefined) return { isFailure: false }
  if (error instanceof A2AError) return { isFailure: true, error: error.code }
  return { isFailure: true, error: error instanceof TransportError ? error.failure : 'Error' }
}

/** gRPC's addresses have no scheme. */
function hostOf(url: string): string {
  return canParseUrl(url) ? new URL(url).host || url : url
}
