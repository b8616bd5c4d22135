/** Starts one span for each outgoing call, all its attempts included, and sends the trace context to the agent. */
import { batchesOf, items } from '../model/batches.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import { type Operation, operations } from '../model/operations.js'
import type { AgentService, CallContext, StreamItem } from '../model/service.js'
import { TransportError } from '../model/transport-error.js'
import { applicationTracing, bindingFacts, type OpenSpan } from '../telemetry/tracing.js'
import type { Choice } from './agent-client.js'

interface TracedAgent {
  readonly agent: string
  /** Address of the card, if it has one. */
  readonly card: string | undefined
  /** Returns the interface that is used at the moment. */
  readonly choice: () => Choice
}

/** Returns the service itself if the application registered no tracer. */
export function traceCalls(service: AgentService, traced: TracedAgent): AgentService {
  const tracing = applicationTracing()
  if (!tracing) return service
  const { agent, card, choice } = traced
  const { unary, streaming } = toGeneric(service)
  const start = (operation: Operation, context: CallContext): OpenSpan => {
    const { binding, dialect, url } = choice()
    const { name } = operations[operation]
    const facts = { agent, method: name, dialect, peer: hostOf(url), card, ...bindingFacts(binding) }
    return tracing.start({ name, kind: 'client', parent: context, facts })
  }
  async function* follow(...call: Parameters<typeof streaming>): AsyncGenerator<readonly StreamItem[], void, void> {
    const [operation, request, context] = call
    const span = start(operation, context)
    let error: unknown
    try {
      yield* batchesOf(streaming(operation, request, { ...context, ...span.trace }))
    } catch (caught) {
      error = caught
      throw caught
    } finally {
      span.end(endOf(error))
    }
  }
  return fromGeneric({
    async unary(operation, request, context) {
      const span = start(operation, context)
      try {
        const answer = await span.run(() => unary(operation, request, { ...context, ...span.trace }))
        span.end(endOf(undefined))
        return answer
      } catch (error) {
        span.end(endOf(error))
        throw error
      }
    },
    streaming: (...call) => items(follow(...call)),
  })
}

function endOf(error: unknown): Parameters<OpenSpan['end']>[0] {
  if (error === undefined) return { isFailure: false }
  if (error instanceof A2AError) return { isFailure: true, error: error.code }
  return { isFailure: true, error: error instanceof TransportError ? error.failure : 'Error' }
}

/** Addresses of gRPC have no scheme. */
function hostOf(url: string): string {
  return canParseUrl(url) ? new URL(url).host || url : url
}
