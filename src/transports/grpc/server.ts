/**
 * gRPC: a service for each dialect that has a form for it, on connections that somebody else accepted
 * (R-GRPC). Bytes become plain objects here and back; what they mean is the dialect's business.
 */
import type { Duplex } from 'node:stream'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import type { Dialect } from '../../dialects/dialect.js'
import { isStreaming } from '../../model/operations.js'
import { type Access, type Route, streamingHandler, unaryHandler } from './answer.js'
import { createGate } from './gate.js'
import { limitResets } from './limit-resets.js'
import { services } from './messages.js'
import { Sessions } from './session-bytes.js'

export interface GrpcServerOptions extends Access {
  /** Those without a form for gRPC are passed over. */
  readonly dialects: readonly Dialect[]
  /** From the metadata of a call to the end of its request. Default 60 s. */
  readonly requestMs?: number | undefined
}

export interface GrpcServer {
  /** Takes over a connection, decrypted already, whose first bytes are HTTP/2's. */
  injectConnection(socket: Duplex): void
  /** Lets running calls end, up to the deadline. */
  close(graceMs: number): Promise<void>
}

/** Connections whose peer is gone without a word are noticed after this time. */
const keepaliveMs = 60_000
const idleConnectionMs = 10 * 60_000

/** What one connection may hold in memory, requests and answers that nobody reads together. */
const mostSessionMegabytes = 64
const mostStreams = 1000

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const routes = routesOf(options.dialects)
  const gate = createGate(options, routes, options.requestMs ?? 60_000)
  const access: Access = options.admit ? { ...options, callerOf: gate.callerOf } : options
  const server = new Server({
    interceptors: [gate.interceptor],
    'grpc.max_concurrent_streams': mostStreams,
    'grpc-node.max_session_memory': mostSessionMegabytes,
    'grpc.max_receive_message_length': options.limits.bodyBytes,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.max_connection_idle_ms': idleConnectionMs,
    // Statistics for a service that is not offered here.
    'grpc.enable_channelz': 0,
  })
  const sessions = new Sessions()
  for (const [path, route] of routes) {
    // Bytes pass through: what is wrong with a message has to be told with its details.
    if (route.rpc.isStreaming)
      server.register(path, streamingHandler(access, route, sessions), bytes, bytes, 'serverStream')
    else server.register(path, unaryHandler(access, route), bytes, bytes, 'unary')
  }
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  limitResets(server)
  const sockets = new Set<Duplex>()
  let onEmpty: () => void = () => undefined
  let isClosing = false
  return {
    injectConnection(socket) {
      if (isClosing) {
        socket.destroy()
        return
      }
      sockets.add(socket)
      socket.once('close', () => {
        sockets.delete(socket)
        if (sockets.size === 0) onEmpty()
      })
      injector.injectConnection(socket)
    },
    async close(graceMs) {
      isClosing = true
      injector.drain(graceMs)
      if (sockets.size > 0) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          onEmpty = resolve
          timer = setTimeout(resolve, graceMs)
        })
        clearTimeout(timer)
      }
      server.forceShutdown()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function bytes(value: Buffer): Buffer {
  return value
}

/** Paths are `/<service>/<rpc>`. Of two dialects with one service the first is served. */
function routesOf(dialects: readonly Dialect[]): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>()
  for (const dialect of dialects) {
    const { grpc: form } = dialect
    for (const [name, operation] of form?.rpcs ?? []) {
      const rpc = form && services.get(form.service)?.get(name)
      const codec = form?.operations[operation]
      if (!form || !rpc || !codec || rpc.isStreaming !== isStreaming(operation))
        throw new TypeError(`${dialect.name} names an rpc ${name} that its service does not have`)
      const path = `/${form.service}/${name}`
      if (!routes.has(path)) routes.set(path, { dialect, form, operation, codec, rpc })
    }
  }
  return routes
}
