/** gRPC on the common port: loaded with the first connection that speaks it. */
import type { Socket } from 'node:net'
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import { loadPackage } from '../model/load-package.js'
import { type AgentService, anonymous, type CallContext } from '../model/service.js'
import type { GrpcServer } from '../transports/grpc/server.js'
import type { BindingHandler } from '../transports/transport.js'
import type { Assembly } from './assemble.js'
import { callerKey, certificateFrom, UnreadAnswers } from './peer-connection.js'

export interface GrpcEndpoint {
  /** Takes over a connection whose first bytes, still unread, are HTTP/2's. */
  accept(socket: Socket): void
  close(): Promise<void>
}

/** Streams have ended when a server closes; what is left is connections that idle. */
const closeGraceMs = 500

/** `assembly` is absent as long as the agents are being made. */
export function createGrpcEndpoint(assembly: () => Assembly | undefined, requestMs: number | undefined): GrpcEndpoint {
  let server: Promise<GrpcServer> | undefined
  return {
    accept(socket) {
      const assembled = assembly()
      if (!assembled) {
        socket.destroy()
        return
      }
      server ??= load(assembled, requestMs)
      server.then(
        (loaded) => {
          // It may have gone while gRPC was loaded.
          if (!socket.destroyed) loaded.injectConnection(socket)
        },
        (cause: unknown) => {
          // The next connection tries again.
          server = undefined
          socket.destroy()
          for (const { onError } of assembled.endpoints.values()) onError(A2AError.from(cause))
        },
      )
    },
    async close() {
      const loaded = await server?.catch(() => undefined)
      await loaded?.close(closeGraceMs)
    },
  }
}

async function load({ endpoints, admit }: Assembly, requestMs: number | undefined): Promise<GrpcServer> {
  const { createGrpcServer } = await loadPackage('gRPC', '@grpc/grpc-js', import('../transports/grpc/server.js'))
  const byTenant = endpointsByTenant(endpoints)
  const [any] = endpoints.values()
  if (!any) throw new Error('A port without agents')
  const unread = new UnreadAnswers()
  return createGrpcServer({
    dialects: any.dialects,
    requestMs,
    endpointOf: (tenant) => byTenant.get(tenant) ?? byTenant.get(undefined),
    ...(admit && {
      admit: (headers, { certificate, address }) =>
        admit({ headers, url: 'grpc://localhost/', certificate: () => certificateFrom(certificate()), address }),
    }),
    limits: any.limits,
    admitAnswer: (bytes, caller, address) =>
      unread.admit(bytes, callerKey(caller.id === anonymous.id ? undefined : caller.id, address)),
    observe: any.observe,
    onError: any.onError,
  })
}

/**
 * There are no paths in gRPC. An agent alone on its port takes every call; one that shares it is called
 * by its path as if that were a tenant, which is what its card tells clients to send (R-TEN-2).
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

/** The name has done its work: the tasks are those that callers over HTTP see. */
function withoutTenant(service: AgentService): AgentService {
  const { unary, streaming } = toGeneric(service)
  const here = ({ tenant: _tenant, ...context }: CallContext): CallContext => context
  return fromGeneric({
    unary: (operation, request, context) => unary(operation, request, here(context)),
    streaming: (operation, request, context) => streaming(operation, request, here(context)),
  })
}
