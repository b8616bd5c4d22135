/** gRPC on the shared port. Its code is loaded with the first call. */
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import { type AgentService, anonymous, type CallContext } from '../model/service.js'
import type { AnswerGrpc } from '../transports/grpc/server.js'
import type { BindingHandler } from '../transports/transport.js'
import type { Assembly } from './assemble.js'
import { hostFault } from './hosts.js'
import { callerKey, certificateOf, UnreadAnswers } from './peer-connection.js'

export async function loadGrpc(
  { handlers, admit, isOwnHost }: Assembly,
  requestMs: number | undefined,
): Promise<AnswerGrpc> {
  const { createGrpcServer } = await import('../transports/grpc/server.js')
  const byTenant = endpointsByTenant(handlers)
  const [any] = handlers.values()
  if (!any) throw new Error('A port without agents')
  const unread = new UnreadAnswers()
  return createGrpcServer({
    dialects: any.dialects,
    requestMs,
    endpointOf: (tenant) => byTenant.get(tenant) ?? byTenant.get(undefined),
    ...(isOwnHost && {
      hostFault: (headers) => {
        const authority = headers.get(':authority') ?? headers.get('host') ?? ''
        return hostFault({ authority, headers }, isOwnHost)
      },
    }),
    ...(admit && {
      admit: (headers, { socket, address }) =>
        admit({ headers, url: 'grpc://localhost/', certificate: () => certificateOf(socket), address }),
    }),
    limits: any.limits,
    admitAnswer: (bytes, caller, address) =>
      unread.admit(bytes, callerKey(caller.id === anonymous.id ? undefined : caller.id, address)),
    observe: any.observe,
    onError: any.onError,
  })
}

/**
 * gRPC has no paths. An agent alone on its port receives every call. Agents that share a port are selected by a tenant
 * with the name of their path; clients find it in the card (R-TEN-2).
 */
function endpointsByTenant(
  endpoints: ReadonlyMap<string, BindingHandler>,
): ReadonlyMap<string | undefined, BindingHandler> {
  const byTenant = new Map<string | undefined, BindingHandler>()
  for (const [path, endpoint] of endpoints) {
    const name = path.slice(1)
    if (name === '' || endpoints.size === 1) byTenant.set(undefined, endpoint)
    else
      byTenant.set(name, {
        ...endpoint,
        hasTenant: (tenant) => tenant === name,
        service: withoutTenant(endpoint.service),
      })
  }
  return byTenant
}

/** Removes the tenant that selected the agent, so that gRPC and HTTP callers see the same tasks. */
function withoutTenant(service: AgentService): AgentService {
  const { unary, streaming } = toGeneric(service)
  const here = ({ tenant: _tenant, ...context }: CallContext): CallContext => context
  return fromGeneric({
    unary: (operation, request, context) => unary(operation, request, here(context)),
    streaming: (operation, request, context) => streaming(operation, request, here(context)),
  })
}
