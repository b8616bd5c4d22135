/** A minimal SDK: records spans, and which of them is active. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Attributes,
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'

export interface SeenSpan {
  readonly name: string
  readonly kind: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly attributes: Attributes
  isFailed: boolean
  isEnded: boolean
}

class AsyncContexts implements ContextManager {
  readonly #here = new AsyncLocalStorage<Context>()
  active(): Context {
    return this.#here.getStore() ?? ROOT_CONTEXT
  }
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    of: Context,
    work: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#here.run(of, () => work.apply(self, args))
  }
  bind<T>(_of: Context, target: T): T {
    return target
  }
  enable(): this {
    return this
  }
  disable(): this {
    this.#here.disable()
    return this
  }
}

export class SpanRecorder implements TracerProvider, Disposable {
  readonly spans: SeenSpan[] = []

  constructor() {
    trace.setGlobalTracerProvider(this)
    context.setGlobalContextManager(new AsyncContexts())
  }

  getTracer(): Tracer {
    const startSpan = (name: string, options: SpanOptions = {}, within: Context = context.active()): Span =>
      this.#start(name, options, trace.getSpanContext(within))
    return { startSpan, startActiveSpan: () => undefined } as unknown as Tracer
  }

  #start(name: string, { kind = SpanKind.INTERNAL, attributes = {} }: SpanOptions, parent?: SpanContext): Span {
    const hex = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex')
    const traceId = parent?.traceId ?? hex(16)
    const seen: SeenSpan = {
      name,
      kind: SpanKind[kind],
      traceId,
      spanId: hex(8),
      parentId: parent?.spanId,
      attributes: { ...attributes },
      isFailed: false,
      isEnded: false,
    }
    this.spans.push(seen)
    return {
      spanContext: () => ({
        traceId,
        spanId: seen.spanId,
        traceFlags: 1,
        ...(parent?.traceState && { traceState: parent.traceState }),
      }),
      setAttributes: (more: Attributes) => void Object.assign(seen.attributes, more),
      setStatus: ({ code }: { code: SpanStatusCode }) => {
        seen.isFailed = code === SpanStatusCode.ERROR
      },
      end: () => {
        seen.isEnded = true
      },
    } as unknown as Span
  }

  /** The path of each span from its root: `SendMessage > invoke_agent Echo`. */
  paths(): readonly string[] {
    const byId = new Map(this.spans.map((span) => [span.spanId, span]))
    const pathOf = (span: SeenSpan): string => {
      const parent = span.parentId === undefined ? undefined : byId.get(span.parentId)
      const named = `${span.kind.toLowerCase()} ${span.name}`
      return parent ? `${pathOf(parent)} > ${named}` : named
    }
    return this.spans.map(pathOf)
  }

  named(name: string): SeenSpan {
    const found = this.spans.find((span) => span.name === name)
    if (!found) throw new Error(`No span is called ${name}: ${this.paths().join('; ')}`)
    return found
  }

  [Symbol.dispose](): void {
    trace.disable()
    context.disable()
  }
}
