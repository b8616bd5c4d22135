/**
 * The gRPC server (R-GRPC): one service for each dialect with a gRPC form, on connections that the listener accepts. It
 * converts between bytes and plain objects, which the dialect decodes and encodes.
 */

import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import {
  type Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js'
import type { Dialect } from '../../dialects/dialect.js'
import { type AuthResult, isRefused, type Refused } from '../../model/admission.js'
import { isStreaming } from '../../model/operations.js'
import type { Caller } from '../../model/service.js'
import { readTraceContext } from '../../model/trace-context.js'
import { http2ServersOf } from '../../net/node-internals.js'
import { services } from './messages.js'
import {
  addressIn,
  failure,
  type GrpcAccess,
  headersOf,
  listen,
  type ServerRpc,
  streamingHandler,
  unaryHandler,
} from './server-call.js'
import { Sessions } from './server-stream.js'

export interface GrpcServerOptions extends GrpcAccess {
  /** Dialects without a form for gRPC are ignored. */
  readonly dialects: readonly Dialect[]
  /** From the metadata of a call to the end of its request. Default 60 s. */
  readonly requestMs?: number | undefined
}

export interface GrpcServer {
  /** Takes over a decrypted connection whose first bytes are those of HTTP/2. */
  injectConnection(socket: Duplex): void
  /** Lets running calls end, up to the deadline. */
  close(graceMs: number): Promise<void>
}

/** Interval of keepalive pings, which detect vanished peers. */
const keepaliveMs = 60_000
const idleConnectionMs = 10 * 60_000

/** Memory of one connection: requests and unread responses together. */
const maxSessionMegabytes = 64
const maxStreams = 1000

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const routes = routesOf(options.dialects)
  const admission = createAdmission(options, routes, options.requestMs ?? 60_000)
  const access: GrpcAccess = options.admit ? { ...options, callerOf: admission.callerOf } : options
  const server = new Server({
    interceptors: [admission.interceptor],
    'grpc.max_concurrent_streams': maxStreams,
    'grpc-node.max_session_memory': maxSessionMegabytes,
    'grpc.max_receive_message_length': options.limits.bodyBytes,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.max_connection_idle_ms': idleConnectionMs,
    // Channelz is not offered.
    'grpc.enable_channelz': 0,
  })
  const sessions = new Sessions()
  for (const [path, route] of routes) {
    // Bytes are decoded later, so that errors in a message can carry details.
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

/** Paths are `/<service>/<rpc>`. Of two dialects with the same service, the first is served. */
function routesOf(dialects: readonly Dialect[]): ReadonlyMap<string, ServerRpc> {
  const routes = new Map<string, ServerRpc>()
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

/** Rapid resets that one connection may send: a burst, and a rate per second. */
const burst = 100
const perSecond = 10
const rapidMs = 1000

/**
 * Limits requests that a client opens and resets at once (HTTP/2 rapid reset), which the limit on concurrent streams does
 * not count. A connection beyond the limit is closed with ENHANCE_YOUR_CALM. Calls that are cancelled more than a second
 * after their start do not count. Has no effect if the HTTP/2 servers of grpc-js are not found.
 */
function limitResets(server: Server): void {
  for (const http2Server of http2ServersOf(server)) http2Server.on('session', watchSession)
}

function watchSession(session: ServerHttp2Session): void {
  let left = burst
  let atMs = performance.now()
  let isClosing = false
  const onReset = (now: number) => {
    left = Math.min(burst, left + ((now - atMs) / 1000) * perSecond) - 1
    atMs = now
    if (left >= 0 || isClosing) return
    isClosing = true
    // A stream closes while its session is reading frames. Destroying the session then would abort the process.
    setImmediate(() => {
      if (session.destroyed) return
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
    })
  }
  session.on('stream', (stream: ServerHttp2Stream) => {
    const openedMs = performance.now()
    stream.once('close', () => {
      const now = performance.now()
      // Clients and servers also use NO_ERROR when the response is complete. `aborted` means that it is not.
      const isReset = stream.rstCode !== constants.NGHTTP2_NO_ERROR || stream.aborted
      if (isReset && now - openedMs < rapidMs) onReset(now)
    })
  })
}

interface AdmissionInterceptor {
  readonly interceptor: ServerInterceptor
  /** The caller of an admitted call. */
  callerOf(metadata: Metadata): Caller | undefined
}

/** Authenticates calls and limits the time of their requests, before grpc-js reads a message. */
function createAdmission(
  access: GrpcAccess,
  routes: ReadonlyMap<string, ServerRpc>,
  /** From the metadata to the end of the request. */
  requestMs: number,
): AdmissionInterceptor {
  const { admit } = access
  const admitted = new WeakMap<Metadata, Caller>()
  const interceptor: ServerInterceptor = ({ path }, call) => {
    const address = () => addressIn(call.getPeer())
    const refuse = (caught: unknown, { challenge, caller }: Partial<Refused> = {}, metadata?: Metadata) => {
      const route = routes.get(path)
      if (!route) {
        call.sendStatus({ code: status.UNAUTHENTICATED, details: 'Missing or invalid credentials' })
        return
      }
      // Ignore trace headers of unauthenticated callers.
      const trace = caller && metadata && readTraceContext(headersOf(metadata))
      const {
        code,
        details,
        metadata: said,
      } = failure(route, listen(access, route, { caller, address, trace }), caught)
      if (challenge !== undefined) said.set('www-authenticate', challenge)
      call.sendStatus({ code, details, metadata: said })
    }
    let timer: NodeJS.Timeout | undefined
    const isEnding = watchEnd(call)
    return new ServerInterceptingCall(call, {
      sendMessage(message, next) {
        if (!isEnding()) next(message)
      },
      start(next) {
        next({
          onReceiveMetadata(metadata, go) {
            timer = setTimeout(() => {
              call.sendStatus({ code: status.DEADLINE_EXCEEDED, details: 'The request never ended' })
            }, requestMs)
            timer.unref()
            if (!admit) {
              go(metadata)
              return
            }
            const enter = (admission: AuthResult) => {
              if (isRefused(admission)) {
                refuse(admission.refused, admission, metadata)
                return
              }
              admitted.set(metadata, admission)
              go(metadata)
            }
            try {
              const admission = admit(headersOf(metadata), { certificate: () => certificateOf(call), address })
              if (admission instanceof Promise) admission.then(enter, (caught: unknown) => refuse(caught))
              else enter(admission)
            } catch (caught) {
              refuse(caught)
            }
          },
          onReceiveHalfClose(go) {
            clearTimeout(timer)
            go()
          },
          onCancel: () => clearTimeout(timer),
        })
      },
    })
  }
  return { interceptor, callerOf: (metadata) => admitted.get(metadata) }
}

/**
 * Tells whether the call's status is being sent. grpc-js sends one by itself when a deadline passes. A message written
 * after it would break the stream, and the client would wait forever.
 */
function watchEnd(call: ServerInterceptingCallInterface): () => boolean {
  let isEnding = false
  const send = call.sendStatus.bind(call)
  call.sendStatus = (sent) => {
    isEnding = true
    send(sent)
  }
  return () => isEnding
}

/** grpc-js has the certificate only if a trusted authority issued it. */
function certificateOf(call: ServerInterceptingCallInterface) {
  return call.getAuthContext().sslPeerCertificate
}
