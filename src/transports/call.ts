/** Calls an operation of a service for a transport: the part that is the same on every HTTP binding. */
import type { Dialect } from '../dialects/dialect.js'
import { A2AError } from '../model/errors.js'
import { isStreaming, type Operation } from '../model/operations.js'
import type { AgentService, CallContext, StreamItem } from '../model/service.js'
import { sseBody, sseHeaders } from './sse.js'
import {
  type Arrival,
  activatedExtensions,
  contextOf,
  type Endpoint,
  type Parameters,
  parameterHeaders,
  tenantOf,
} from './transport.js'

export interface Call {
  readonly operation: Operation
  readonly dialect: Dialect
  readonly parameters: Parameters
  /** What the dialect decodes. */
  readonly params: unknown
}

/** How a binding wraps what a dialect has spelled. */
export interface Envelope {
  readonly contentType: string
  result(json: string): string
  error(error: A2AError, dialect: Dialect): string
}

export async function answerCall(
  endpoint: Endpoint,
  request: Request,
  arrival: Arrival,
  call: Call,
  envelope: Envelope,
): Promise<Response> {
  const { operation, dialect, parameters } = call
  const codec = dialect.operations[operation]
  if (!codec) throw new A2AError('METHOD_NOT_FOUND', `Version ${dialect.version} has no such operation`)
  const decoded = codec.decode(call.params)
  const tenant = tenantOf(endpoint, arrival, decoded)
  const extensions = activatedExtensions(endpoint, parameters)
  const headers: Record<string, string> = extensions === undefined ? {} : { [parameterHeaders.extensions]: extensions }
  if (isStreaming(operation)) {
    // Leaving the stream ends the reading, not the task: the signal is this stream's own.
    const gone = new AbortController()
    const context = contextOf(request, arrival, { dialect, parameters, tenant, signal: gone.signal })
    let onOpen: () => void = () => undefined
    const opened = new Promise<void>((resolve) => {
      onOpen = resolve
    })
    const items = callStreaming(endpoint.service, operation, decoded, { ...context, onOpen })
    return await streamAnswer(endpoint, { items, opened, gone, dialect, envelope, headers })
  }
  // A caller that leaves during a unary call changes nothing (R-SEND-11), so nobody listens for it.
  const context = contextOf(request, arrival, { dialect, parameters, tenant })
  const result = await callUnary(endpoint.service, operation, decoded, context)
  return new Response(envelope.result(codec.encode(result)), {
    headers: { 'content-type': envelope.contentType, ...headers },
  })
}

interface StreamAnswer {
  readonly items: AsyncIterable<StreamItem>
  readonly opened: Promise<void>
  readonly gone: AbortController
  readonly dialect: Dialect
  readonly envelope: Envelope
  readonly headers: Record<string, string>
}

async function streamAnswer(
  endpoint: Endpoint,
  { items, opened, gone, dialect, envelope, headers }: StreamAnswer,
): Promise<Response> {
  const rest = items[Symbol.asyncIterator]()
  // What fails before the first event is an ordinary error answer (R-STRM-11).
  const first = rest.next()
  await Promise.race([first, opened])
  const encodeItem = dialect.createStreamEncoder()
  const body = sseBody({
    first,
    rest,
    encode: (item) => envelope.result(encodeItem(item)),
    encodeError: (error) => {
      endpoint.onError(error)
      return envelope.error(error, dialect)
    },
    onGone: () => gone.abort(),
    heartbeats: endpoint.heartbeats,
  })
  return new Response(body, { headers: { ...sseHeaders, ...headers } })
}

// The decoder of an operation makes the request of that operation: the tables guarantee it, the
// compiler cannot see it through the operation's name.
function callUnary(
  service: AgentService,
  operation: Operation,
  request: unknown,
  context: CallContext,
): Promise<unknown> {
  const call = service[operation] as (request: unknown, context: CallContext) => Promise<unknown>
  return call(request, context)
}

function callStreaming(
  service: AgentService,
  operation: Operation,
  request: unknown,
  context: CallContext,
): AsyncIterable<StreamItem> {
  const call = service[operation] as (request: unknown, context: CallContext) => AsyncIterable<StreamItem>
  return call(request, context)
}
