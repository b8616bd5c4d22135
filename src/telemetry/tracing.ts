/**
 * Spans with OpenTelemetry. Created only if the application registered an SDK before it serves or connects. Without one, an
 * incoming trace context is still propagated.
 */
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'
import type { TraceContext } from '../model/trace-context.js'
import { type Api, telemetryApi } from './api.js'

/** All attribute names: the conventions of OpenTelemetry for generative AI and of A2A are still drafts. */
const attributeNames = {
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

/** Attributes of a span, by our names. */
type SpanFacts = { readonly [Name in keyof typeof attributeNames]?: string | number | undefined }

interface SpanStart {
  readonly name: string
  readonly kind: 'server' | 'client' | 'internal'
  readonly facts: SpanFacts
  /** The trace context of the parent. */
  readonly parent: TraceContext | undefined
  /** The start in milliseconds since 1970. Default: now. */
  readonly startMs?: number
}

interface SpanEnd extends SpanFacts {
  /** Whether the span has the status ERROR. */
  readonly isFailure: boolean
}

/** A span that has not ended. */
export interface OpenSpan {
  /** The trace context for children of this span. */
  readonly trace: TraceContext
  /** Runs code with this span active, so that other instrumentations create children of it. */
  run<T>(work: () => T): T
  end(end: SpanEnd): void
}

export interface Tracing {
  start(start: SpanStart): OpenSpan
}

/** Undefined if the application registered no tracer provider. Await `loadTelemetry` before. */
export function applicationTracing(): Tracing | undefined {
  const api = telemetryApi()
  if (api === undefined) return undefined
  const { trace, ProxyTracerProvider } = api
  const provider = trace.getTracerProvider()
  const noProvider = new ProxyTracerProvider().getDelegate()
  if (provider instanceof ProxyTracerProvider && provider.getDelegate() === noProvider) return undefined
  return createTracing(provider.getTracer('dragoman'), api)
}

function createTracing(tracer: Tracer, api: Api): Tracing {
  const { trace, SpanKind } = api
  const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }
  return {
    start({ name, kind, facts, parent, startMs }) {
      const within = contextOf(parent, api)
      const began = startMs === undefined ? undefined : { startTime: startMs }
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes: attributesOf(facts), ...began }, within)
      return openSpan(span, trace.setSpan(within, span), api)
    },
  }
}

function openSpan(span: Span, within: Context, { context, SpanStatusCode }: Api): OpenSpan {
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
 * The parent context. The active span is used if it belongs to the same trace, or if there is no other context: then a call
 * is a child of the span that an instrumentation of the HTTP server created for it.
 */
function contextOf({ traceparent, tracestate }: TraceContext = {}, api: Api): Context {
  const { context, trace, ROOT_CONTEXT, createTraceState } = api
  const active = context.active()
  const [, traceId = '', spanId = '', flags = ''] = traceparent?.split('-') ?? []
  const activeSpan = trace.getSpanContext(active)
  if (traceparent === undefined || activeSpan?.traceId === traceId) return active
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  })
}

/** The binding of a call, as attributes of each convention. */
export function bindingFacts(binding: string | undefined): SpanFacts {
  if (binding === 'JSONRPC') return { binding, system: 'jsonrpc', jsonRpc: '2.0' }
  return binding === 'GRPC' ? { binding, system: 'grpc' } : { binding }
}

function attributesOf(facts: SpanFacts): Attributes {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(facts)) {
    if (value !== undefined) attributes[attributeNames[name as keyof SpanFacts]] = value // names of `SpanFacts`
  }
  return attributes
}
