/** From what the senders log to what users are shown: one kind of entry for every binding. */
import type { GrpcWireEntry } from '../transports/grpc/client.js'
import type { WireEntry } from './connect-options.js'
import { redacted, type WireEvent } from './wire-log.js'

export function fromHttp(
  onWire: (entry: WireEntry) => void,
  binding: WireEntry['binding'],
): (event: WireEvent) => void {
  return (event) => {
    const { exchange } = event
    const what = `${event.method} ${event.url}`
    if (event.kind === 'request') {
      const { headers, body } = event
      onWire({ direction: 'request', exchange, binding, what, headers, ...(body && { body }) })
      return
    }
    const { ms } = event
    if (event.kind === 'response') {
      const { status, headers, body } = event
      onWire({
        direction: 'response',
        exchange,
        binding,
        what,
        status,
        headers,
        ms,
        ...(body !== undefined && { body }),
      })
    } else if (event.kind === 'chunk') onWire({ direction: 'event', exchange, binding, what, body: event.text, ms })
    else onWire({ direction: 'response', exchange, binding, what, status: event.message, ms })
  }
}

/** Metadata that is no secret; everything else is one until somebody says otherwise. */
const harmless =
  /^(a2a-.*|x-a2a-extensions|content-type|user-agent|traceparent|tracestate|last-event-id|idempotency-key|grpc-.*|date)$/i

export function fromGrpc(onWire: (entry: WireEntry) => void): (entry: GrpcWireEntry) => void {
  return ({ direction, exchange, rpc, headers, body, status, ms }) =>
    onWire({
      direction: direction === 'out' ? 'request' : status === undefined ? 'event' : 'response',
      exchange,
      binding: 'GRPC',
      what: rpc,
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, harmless.test(name) ? value : redacted]),
      ),
      ms,
      ...(body && { body }),
      ...(status !== undefined && { status }),
    })
}
