/** gRPC on the shared port. Its code is loaded with the first HTTP/2 connection. */
import type { Socket } from 'node:net'
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import { type AgentService, anonymous, type CallContext } from '../model/service.js'
import type { AnswerGrpc } from '../transports/grpc/server.js'
import type { BindingHandler } from '../transports/transport.js'
import type { Assembly } from './assemble.js'
import type { Http2Server } from './http2.js'
import { callerKey, certificateOf, UnreadAnswers } from './peer-connection.js'

interface GrpcEndpoint {
  /** Takes over a connection whose unread first bytes are the HTTP/2 preface. */
  accept(socket: Socket): void
  close(): Promise<void>
}

/** Grace period of a closing server. Streams have ended by then; only idle connections are left. */
const closeGraceMs = 500

/** `assembly` returns undefined until the agents are created. */
export function createGrpcEndpoint(assembly: () => Assembly | undefined, requestMs: number | undefined): GrpcEndpoint {
  let server: Promise<Http2Server> | undefined
  return {
    accept(socket) {
      const assembled = assembly()
      if (!assembled) {
        socket.destroy()
        return
      }
      server ??= load(assembled, requestMs)
      server.then(
        (loaded) => loaded.accept(socket),
        (cause: unknown) => {
          // The next connection tries again.
          server = undefined
          socket.destroy()
          for (const { onError } of assembled.handlers.values()) onError(A2AError.from(cause))
        },
      )
    },
    async close() {
      const loaded = await server?.catch(() => undefined)
      await loaded?.close(closeGraceMs)
    },
  }
}

async function load(assembly: Assembly, requestMs: number | undefined): Promise<Http2Server> {
  const [{ createHttp2Server }, answerGrpc] = await Promise.all([import('./http2.js'), loadGrpc(assembly, requestMs)])
  return createHttp2Server((stream, headers, connection) => {
    if (isGrpc(headers['content-type'])) answerGrpc(stream, headers, connection)
    else stream.respond({ ':status': 415 }, { endStream: true })
  })
}

/** `application/grpc`, alone or with a suffix or parameters. */
function isGrpc(contentType: string | undefined): boolean {
  return contentType?.startsWith('application/grpc') === true
}

async function loadGrpc({ handlers, admit }: Assembly, requestMs: number | undefined): Promise<AnswerGrpc> {
  const { createGrpcServer } = await import('../transports/grpc/server.js')
  const byTenant = endpointsByTenant(handlers)
  const [any] = handlers.values()
  if (!any) throw new Error('A port without agents')
  const unread = new UnreadAnswers()
  return createGrpcServer({
    dialects: any.dialects,
    requestMs,
    endpointOf: (tenant) => byTenant.get(tenant) ?? byTenant.get(undefined),
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
