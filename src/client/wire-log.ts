/**
 * What went over the wire, for people who look for a fault. Secrets are taken out by the names they usually
 * have and by their values, wherever they stand (R-SEC-5).
 */
import type { TransportError } from '../model/transport-error.js'
import type { GrpcWireEntry } from '../transports/grpc/client.js'
import type { WireEntry } from './connect-options.js'

type Headers = Readonly<Record<string, string>>

interface Exchange {
  /** The same for a request and everything that follows from it. */
  readonly exchange: string
  readonly method: string
  readonly url: string
}

export type WireEvent = Exchange & ExchangeEvent

type ExchangeEvent =
  | { readonly kind: 'request'; readonly headers: Headers; readonly body?: string }
  | {
      readonly kind: 'response'
      readonly status: number
      readonly headers: Headers
      /** Absent for streams. */
      readonly body?: string
      readonly ms: number
    }
  /** A piece of a stream. */
  | { readonly kind: 'chunk'; readonly text: string; readonly ms: number }
  | { readonly kind: 'failure'; readonly message: string; readonly ms: number }

interface Logged {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body?: string
  readonly secrets?: readonly string[]
  readonly isConfidential?: boolean
}

export interface ExchangeLog {
  answered(response: Response, bytes: Uint8Array | undefined): void
  /** The same response; its pieces are logged as they are read. */
  streaming(response: Response): Response
  failed(error: TransportError): void
}

export interface WireLog {
  begin(request: Logged): ExchangeLog
}

export const redacted = '[redacted]'

export function createWireLog(onWire: (event: WireEvent) => void): WireLog {
  return {
    begin(request) {
      const started = performance.now()
      const ms = () => Math.round(performance.now() - started)
      const clean = cleaner(request.secrets ?? [])
      const shown = (body: string) => (request.isConfidential ? redacted : clean(body))
      const exchange: Exchange = {
        exchange: crypto.randomUUID(),
        method: request.method,
        url: clean(withoutSecrets(request.url)),
      }
      onWire({
        ...exchange,
        kind: 'request',
        headers: cleanHeaders(Object.entries(request.headers), clean),
        ...(request.body !== undefined && { body: shown(request.body) }),
      })
      const head = ({ status, headers }: Response) =>
        ({ ...exchange, kind: 'response', status, headers: cleanHeaders(headers.entries(), clean), ms: ms() }) as const
      return {
        answered(response, bytes) {
          onWire({ ...head(response), ...(bytes && { body: shown(new TextDecoder().decode(bytes)) }) })
        },
        streaming(response) {
          onWire(head(response))
          const decoder = new TextDecoder()
          const listen = new TransformStream<Uint8Array, Uint8Array>({
            transform(chunk, controller) {
              onWire({ ...exchange, kind: 'chunk', text: clean(decoder.decode(chunk, { stream: true })), ms: ms() })
              controller.enqueue(chunk)
            },
          })
          const { status, statusText, headers } = response
          return new Response(response.body?.pipeThrough(listen) ?? null, { status, statusText, headers })
        },
        failed({ message }) {
          onWire({ ...exchange, kind: 'failure', message: clean(message), ms: ms() })
        },
      }
    },
  }
}

const secretNames = /authori[sz]ation|cookie|api-?_?key|token|secret|passw|credential|^key$|^code$|signature/i

function cleanHeaders(entries: Iterable<readonly [string, string]>, clean: (text: string) => string): Headers {
  return Object.fromEntries(
    [...entries].map(([name, value]) => [name, secretNames.test(name) ? redacted : clean(value)]),
  )
}

function withoutSecrets(address: string): string {
  const url = new URL(address)
  const hasSecrets = [...url.searchParams.keys()].some((name) => secretNames.test(name))
  if (!hasSecrets) return address
  for (const name of new Set(url.searchParams.keys())) if (secretNames.test(name)) url.searchParams.set(name, redacted)
  return url.href
}

/** In the spellings a value may have on its way: as it is, as a part of an address, of a form, and of JSON. */
function cleaner(secrets: readonly string[]): (text: string) => string {
  const spellingsOf = (secret: string) => [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams([['', secret]]).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
  ]
  const spellings = [...new Set(secrets.flatMap(spellingsOf))].filter(Boolean)
  return (text) => spellings.reduce((cleaned, secret) => cleaned.replaceAll(secret, redacted), text)
}

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
