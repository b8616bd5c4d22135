/**
 * What stands before every call. Where callers must be known, they are told apart by the metadata and the
 * connection, before a byte of the message is read; and a message that was begun has to end, for HTTP/2 keeps no
 * time by itself. (An rpc that does not exist is answered before, by the library: it says no more than the card.)
 */
import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js'
import { type Admission, isRefused, type Refused } from '../../model/admission.js'
import type { Caller } from '../../model/service.js'
import { readTraceContext } from '../../model/trace-context.js'
import { type Access, addressIn, failure, headersOf, listen, type Route } from './answer.js'

export interface Gate {
  readonly interceptor: ServerInterceptor
  /** Who made a call that was let in. */
  callerOf(metadata: Metadata): Caller | undefined
}

export function createGate(
  access: Access,
  routes: ReadonlyMap<string, Route>,
  /** From the metadata to the end of the request. */
  requestMs: number,
): Gate {
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
      // Whoever is nobody cannot have its calls appear in somebody's trace.
      const trace = caller && metadata && readTraceContext((name) => headersOf(metadata).get(name))
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
            const enter = (admission: Admission) => {
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
 * Whether the call's status is on its way. The library sends one by itself when a deadline passes, which nobody is told
 * until it has left; a message written in between would break the stream off, and its reader would wait for ever.
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

/** The library has it only where the server's authorities vouch for it. */
function certificateOf(call: ServerInterceptingCallInterface) {
  return call.getAuthContext().sslPeerCertificate
}
