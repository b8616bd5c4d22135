/** Log of requests and responses for debugging. Secrets are redacted by header name and by value (R-SEC-5). */
import type { Binding } from '../model/agent-card.js'
import type { TransportError } from '../model/transport-error.js'
import type { ByteReader } from '../net/read-at-most.js'
import type { GrpcWireEntry } from '../transports/grpc/client.js'
import type { HttpResponse } from '../transports/http-client.js'

/** One request, response or stream chunk, as `onWire` of `connect` gets it. Secrets are redacted. */
export interface WireEntry {
  readonly direction: 'request' | 'response' | 'event'
  /** Unique id of the request; its responses and events have the same one. */
  readonly exchange: string
  /** The binding of a call, `card` for reading the card, or `keys` for reading the keys of signatures. */
  readonly binding: Binding | 'in-process' | 'card' | 'keys'
  /** Method and URL, or the name of the rpc. */
  readonly what: string
  /** HTTP status, gRPC status, or the message of a failure. */
  readonly status?: number | string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Milliseconds since the request. */
  readonly ms?: number
}

/** The function that gets the entries, and the `binding` of its entries. */
export interface WireLog {
  readonly onWire: (entry: WireEntry) => void
  readonly binding: WireEntry['binding']
}

interface LoggedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly secrets?: readonly string[]
  readonly isConfidential?: boolean
}

type ResponseHead = Pick<HttpResponse, 'status' | 'headers'>

interface ExchangeLog {
  answered(response: ResponseHead, bytes: Uint8Array | undefined): void
  /** Returns a reader that logs the chunks of the body when they are read. */
  streaming(response: ResponseHead, body: ByteReader): ByteReader
  failed(error: TransportError): void
}

const redacted = '[redacted]'

export function logRequest({ onWire, binding }: WireLog, request: LoggedRequest): ExchangeLog {
  const started = performance.now()
  const ms = () => Math.round(performance.now() - started)
  const redact = redactor(request.secrets ?? [])
  const shown = (body: string) => (request.isConfidential ? redacted : redact(body))
  const base = {
    exchange: crypto.randomUUID(),
    binding,
    what: `${request.method} ${redact(redactQuery(request.url))}`,
  }
  const head = ({ status, headers }: ResponseHead): WireEntry => ({
    ...base,
    direction: 'response',
    status,
    headers: redactHeaders(headers.entries(), redact),
    ms: ms(),
  })
  onWire({
    ...base,
    direction: 'request',
    headers: redactHeaders(Object.entries(request.headers), redact),
    ...(request.body && { body: shown(request.body) }),
  })
  return {
    answered(response, bytes) {
      onWire({ ...head(response), ...(bytes && { body: shown(new TextDecoder().decode(bytes)) }) })
    },
    streaming(response, body) {
      onWire(head(response))
      const decoder = new TextDecoder()
      return {
        async read() {
          const chunk = await body.read()
          if (chunk)
            onWire({ ...base, direction: 'event', body: redact(decoder.decode(chunk, { stream: true })), ms: ms() })
          return chunk
        },
        cancel: () => body.cancel(),
      }
    },
    failed({ message }) {
      onWire({ ...base, direction: 'response', status: redact(message), ms: ms() })
    },
  }
}

/** Metadata that is shown. All other metadata may be a credential. */
const publicMetadata =
  /^(a2a-.*|x-a2a-extensions|content-type|user-agent|traceparent|tracestate|last-event-id|idempotency-key|grpc-.*|date)$/i

export function logGrpc(onWire: (entry: WireEntry) => void): (entry: GrpcWireEntry) => void {
  return ({ direction, exchange, rpc, headers, body, status, ms }) =>
    onWire({
      direction: direction === 'out' ? 'request' : status === undefined ? 'event' : 'response',
      exchange,
      binding: 'GRPC',
      what: rpc,
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, publicMetadata.test(name) ? value : redacted]),
      ),
      ms,
      ...(body && { body }),
      ...(status !== undefined && { status }),
    })
}

const secretNames = /authori[sz]ation|cookie|api-?_?key|token|secret|passw|credential|^key$|^code$|signature/i

function redactHeaders(
  entries: Iterable<readonly [string, string]>,
  redact: (text: string) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...entries].map(([name, value]) => [name, secretNames.test(name) ? redacted : redact(value)]),
  )
}

function redactQuery(address: string): string {
  const url = new URL(address)
  const secrets = [...new Set(url.searchParams.keys())].filter((name) => secretNames.test(name))
  for (const name of secrets) url.searchParams.set(name, redacted)
  return secrets.length > 0 ? url.href : address
}

/** Replaces the secrets as they are, and as they are encoded in URLs, forms and JSON. */
function redactor(secrets: readonly string[]): (text: string) => string {
  const encodings = (secret: string) => [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams([['', secret]]).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
  ]
  const patterns = [...new Set(secrets.flatMap(encodings))].filter(Boolean)
  return (text) => patterns.reduce((result, pattern) => result.replaceAll(pattern, redacted), text)
}
