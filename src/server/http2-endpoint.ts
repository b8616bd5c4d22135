/** HTTP/2 on the shared port. Its code is loaded with the first HTTP/2 connection. */
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { A2AError } from '../model/errors.js'
import type { AnswerExchange } from '../transports/exchange.js'
import type { AnswerGrpc } from '../transports/grpc/server.js'
import type { Assembly } from './assemble.js'
import type { AnswerStream, Http2Server } from './http2.js'
import type { Deadlines } from './listener.js'

interface Http2Endpoint {
  /** Takes over a connection whose unread first bytes are the HTTP/2 preface. */
  accept(socket: Socket): void
  /** Sends GOAWAY on all connections. */
  drain(): void
  close(): Promise<void>
}

interface Http2EndpointOptions {
  readonly answer: AnswerExchange
  /** Returns undefined until the agents are created. */
  readonly assembly: () => Assembly | undefined
  readonly hasGrpc: boolean
  readonly deadlines?: Deadlines | undefined
}

/**
 * Returns the reason why this runtime cannot serve HTTP/2, and so gRPC; undefined if it can.
 *
 * Bun's `performServerHandshake` does not read the bytes that were put back into the socket, so it misses the preface.
 */
export function http2Fault(): string | undefined {
  const { bun } = process.versions
  return bun && `Bun ${bun} cannot serve HTTP/2 on a port that also serves HTTP/1.1`
}

/** Grace period of a closing server. Streams have ended by then; only idle connections are left. */
const closeGraceMs = 500

export function createHttp2Endpoint(options: Http2EndpointOptions): Http2Endpoint {
  let loading: Promise<Http2Server> | undefined
  let isDraining = false
  return {
    accept(socket) {
      loading ??= load(options)
      loading.then(
        (server) => {
          if (isDraining) socket.destroy()
          else server.accept(socket)
        },
        () => socket.destroy(),
      )
    },
    drain() {
      isDraining = true
      loading?.then(
        (server) => server.drain(),
        () => undefined,
      )
    },
    async close() {
      const server = await loading?.catch(() => undefined)
      await server?.close(closeGraceMs)
    },
  }
}

/** The content type distinguishes gRPC from other requests. */
async function load({ answer, assembly, hasGrpc, deadlines }: Http2EndpointOptions): Promise<Http2Server> {
  const [{ createHttp2Server }, { createHttp2Answer }] = await Promise.all([
    import('./http2.js'),
    import('./http2-exchange.js'),
  ])
  const answerHttp = createHttp2Answer(answer, deadlines?.bodyMs)
  const answerGrpc = hasGrpc ? lazyGrpc(assembly, deadlines?.bodyMs) : withoutGrpc
  return createHttp2Server((stream, headers, connection, rawHeaders) => {
    if (isGrpc(headers['content-type'])) answerGrpc(stream, headers, connection, rawHeaders)
    else answerHttp(stream, headers, connection, rawHeaders)
  }, deadlines)
}

/** `application/grpc`, alone or with a suffix or parameters. */
function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc(?:[+;]|$)/i.test(contentType)
}

/** NGHTTP2_INTERNAL_ERROR. Its constant would load `node:http2` at the start. */
const internalError = 2

/** Streams wait unread until gRPC is loaded. */
function lazyGrpc(assembly: () => Assembly | undefined, bodyMs: number | undefined): AnswerStream {
  let loaded: AnswerGrpc | undefined
  let loading: Promise<AnswerGrpc> | undefined
  return (stream, headers, connection, rawHeaders) => {
    if (loaded) {
      loaded(stream, headers, connection, rawHeaders)
      return
    }
    const assembled = assembly()
    if (!assembled) {
      endWith(stream, 14, 'The server is starting')
      return
    }
    loading ??= import('./grpc-endpoint.js').then(({ loadGrpc }) => loadGrpc(assembled, bodyMs))
    loading
      .then(
        (answer) => {
          loaded = answer
          if (!stream.destroyed && !stream.closed) answer(stream, headers, connection, rawHeaders)
        },
        (cause: unknown) => {
          // The next call tries again.
          loading = undefined
          endWith(stream, 13, 'Internal error')
          for (const { onError } of assembled.handlers.values()) onError(A2AError.from(cause))
        },
      )
      // A rejection here would end the process.
      .catch(() => stream.close(internalError))
  }
}

const withoutGrpc: AnswerStream = (stream) => endWith(stream, 12, 'This server does not serve gRPC')

/** Ends a call before gRPC is loaded. */
function endWith(stream: ServerHttp2Stream, code: number, message: string): void {
  if (stream.destroyed || stream.closed) return
  const status = { 'grpc-status': String(code), 'grpc-message': encodeURI(message) }
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...status }, { endStream: true })
}
