/**
 * Spans with OpenTelemetry, if the application has registered an SDK by the time it serves or connects. Without one
 * there are none, and nothing is done for them; a trace context that comes in goes out again all the same.
 */
import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { TraceContext } from '../model/trace-context.js'

/**
 * All names, in one place: the conventions for agents are still in development (OpenTelemetry's for generative AI,
 * and A2A's draft).
 */
export const attributeNames = {
  operation: 'gen_ai.operation.name',
  agent: 'gen_ai.agent.name',
  contextId: 'gen_ai.conversation.id',
  method: 'rpc.method',
  system: 'rpc.system',
  jsonRpc: 'jsonrpc.protocol.version',
  binding: 'a2a.protocol.binding',
  dialect: 'a2a.protocol.dialect',
  taskId: 'a2a.task.id',
  state: 'a2a.task.state',
  turn: 'dragoman.turn',
  attempt: 'dragoman.attempt',
  peer: 'server.address',
  caller: 'client.address',
  card: 'a2a.agent.card.url',
  step: 'dragoman.step',
  error: 'error.type',
} as const

export const operationNames = { agent: 'invoke_agent', workflow: 'invoke_workflow' } as const

/** What is known of a span, in our words. */
export type SpanFacts = { readonly [Name in keyof typeof attributeNames]?: string | number | undefined }

export interface SpanStart {
  readonly name: string
  readonly kind: 'server' | 'client' | 'internal'
  readonly facts: SpanFacts
  /** The trace context of what it is done for. */
  readonly parent: TraceContext | undefined
  /** When it began, in milliseconds since 1970. Default: now. */
  readonly startMs?: number
}

export interface SpanEnd extends SpanFacts {
  /** Whether it went wrong, in the eyes of whoever looks at it. */
  readonly isFailure: boolean
}

/** Something that is being done. */
export interface OpenSpan {
  /** For what is done for it, here and elsewhere. */
  readonly trace: TraceContext
  /** Does a part of it: spans that others start meanwhile are its children. */
  run<T>(work: () => T): T
  end(end: SpanEnd): void
}

export interface Tracing {
  start(start: SpanStart): OpenSpan
}

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }

/** Absent when nobody traces. */
export function applicationTracing(): Tracing | undefined {
  const provider = trace.getTracerProvider()
  const nobody = new ProxyTracerProvider().getDelegate()
  if (provider instanceof ProxyTracerProvider && provider.getDelegate() === nobody) return undefined
  return createTracing(provider.getTracer('dragoman'))
}

function createTracing(tracer: Tracer): Tracing {
  return {
    start({ name, kind, facts, parent, startMs }) {
      const within = contextOf(parent)
      const began = startMs === undefined ? undefined : { startTime: startMs }
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes: attributesOf(facts), ...began }, within)
      return openSpan(span, trace.setSpan(within, span))
    },
  }
}

function openSpan(span: Span, within: Context): OpenSpan {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  const tracestate = traceState?.serialize()
  return {
    trace: tracestate ? { traceparent, tracestate } : { traceparent },
    run: (work) => context.with(within, work),
    end({ isFailure, ...facts }) {
      span.setAttributes(attributesOf(facts))
      if (isFailure) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

/**
 * The span that is active here, where it belongs to the same trace or nothing else is known: it is nearer. So a call
 * is below the span that an instrumentation of the HTTP server made for it.
 */
function contextOf({ traceparent, tracestate }: TraceContext = {}): Context {
  const active = context.active()
  const [, traceId = '', spanId = '', flags = ''] = traceparent?.split('-') ?? []
  const here = trace.getSpanContext(active)
  if (traceparent === undefined || here?.traceId === traceId) return active
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  })
}

/** How a call is spoken, in the words of each convention. */
export function bindingFacts(binding: string | undefined): SpanFacts {
  if (binding === 'JSONRPC') return { binding, system: 'jsonrpc', jsonRpc: '2.0' }
  return binding === 'GRPC' ? { binding, system: 'grpc' } : { binding }
}

function attributesOf(facts: SpanFacts): Attributes {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(facts)) {
    if (value !== undefined) attributes[attributeNames[name as keyof SpanFacts]] = value // the names of the map
  }
  return attributes
}
