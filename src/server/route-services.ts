/** Agents as routes call them: with the checks and the observation of calls over a binding. */
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import { type AgentService, type CallContext, nativeDialect } from '../model/service.js'
import { type CallStart, CallTracker } from '../transports/call-record.js'
import { assertTenant, type BindingHandler } from '../transports/transport.js'

export type CallableEndpoint = Pick<BindingHandler, 'service' | 'hasTenant' | 'observe'>

/** `address` is that of the route's own caller, for the audit. */
export function routeService(endpoint: CallableEndpoint, address: CallStart['address']): AgentService {
  const { unary, streaming } = toGeneric(endpoint.service)
  const begin = (operation: Operation, request: unknown, context: CallContext) => {
    const { tenant, caller, dialect = nativeDialect } = context
    const watch = endpoint.observe && new CallTracker(endpoint.observe, { tenant, caller, address })
    watch?.understood({ operation, dialect: { name: dialect } }, context)
    watch?.asked(request, tenant)
    return { watch, observed: { ...context, ...watch?.begun() } }
  }
  return fromGeneric({
    async unary(operation, request, context) {
      const { watch, observed } = begin(operation, request, context)
      try {
        assertTenant(endpoint, context)
        const result = await unary(operation, request, observed)
        watch?.answered(result)
        watch?.ended()
        return result
      } catch (caught) {
        watch?.ended(A2AError.from(caught))
        throw caught
      }
    },
    async *streaming(operation, request, context) {
      const { watch, observed } = begin(operation, request, context)
      try {
        assertTenant(endpoint, context)
        for await (const item of streaming(operation, request, observed)) {
          watch?.event(item)
          yield item
        }
      } catch (caught) {
        watch?.ended(A2AError.from(caught))
        throw caught
      } finally {
        watch?.ended()
      }
    },
  })
}
