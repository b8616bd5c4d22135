/**
 * What stands before every call where callers must be known: they are told apart by the metadata, before a
 * byte of the message is read, and a message that was begun has to end. HTTP/2 keeps no time by itself.
 */
import { type Metadata, ServerInterceptingCall, type ServerInterceptor, status } from '@grpc/grpc-js'
import { A2AError } from '../../model/errors.js'
import type { Caller } from '../../model/service.js'
import { type Access, failure, headersOf, type Route } from './answer.js'

/** From the metadata to the end of the request. */
const requestMs = 60_000

export interface Gate {
  readonly interceptor: ServerInterceptor
  /** Who made a call that was let in. */
  callerOf(metadata: Metadata): Caller | undefined
}

export function createGate(
  authenticate: NonNullable<Access['authenticate']>,
  access: Access,
  routes: ReadonlyMap<string, Route>,
): Gate {
  const admitted = new WeakMap<Metadata, Caller>()
  const interceptor: ServerInterceptor = ({ path }, call) => {
    const refuse = (error: A2AError) => {
      const route = routes.get(path)
      const { code, details, metadata } = route
        ? failure(access, route, access, error)
        : { code: status.UNAUTHENTICATED, details: error.message, metadata: undefined }
      call.sendStatus({ code, details, ...(metadata && { metadata }) })
    }
    let timer: NodeJS.Timeout | undefined
    return new ServerInterceptingCall(call, {
      start(next) {
        next({
          onReceiveMetadata(metadata, go) {
            timer = setTimeout(() => {
              call.sendStatus({ code: status.DEADLINE_EXCEEDED, details: 'The request never ended' })
            }, requestMs)
            timer.unref()
            authenticate(headersOf(metadata)).then(
              (caller) => {
                if (!caller) {
                  refuse(new A2AError('UNAUTHENTICATED', 'Missing or invalid credentials'))
                  return
                }
                admitted.set(metadata, caller)
                go(metadata)
              },
              (error: unknown) => refuse(A2AError.from(error)),
            )
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
