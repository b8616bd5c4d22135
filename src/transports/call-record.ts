/** Records of ended calls for logs, metrics and audits. They hold no content of messages and no credentials. */
import type { Binding } from '../model/agent-card.js'
import type { A2AError, ErrorCode } from '../model/errors.js'
import type { Operation } from '../model/operations.js'
import type { Caller, StreamItem } from '../model/service.js'
import type { TraceContext } from '../model/trace-context.js'

/** One ended call: who called which operation on which task, and how it ended. */
export interface CallRecord {
  /** Arrival, in milliseconds since 1970. */
  readonly at: number
  /** From the arrival to the response, or to the end of the stream. */
  readonly durationMs: number
  /** `ok`, or the code of the error. A stream that its reader left is `ok`. */
  readonly outcome: 'ok' | ErrorCode
  /** The caller's id; absent if the caller is not authenticated. */
  readonly caller?: string
  /** The security scheme that authenticated the caller, by its name in the card. */
  readonly scheme?: string
  readonly tenant?: string
  /** The path of the route, for requests that a route answered instead of an agent. */
  readonly route?: string
  /** The name of the endpoint, for its requests and for the calls that it makes. */
  readonly endpoint?: string
  readonly binding?: Binding
  /** The dialect; it and the next three members are absent if the request was not valid. */
  readonly dialect?: string
  readonly operation?: Operation
  readonly taskId?: string
  readonly contextId?: string
  /** The client's address, if it is known. */
  readonly peer?: string
  /** The limit that refused the call, by its name in the options. */
  readonly limit?: string
}

/** Receives the records of calls, and traces them. */
export interface CallObserver {
  /** Called once for each call, after it has ended. */
  ended(record: CallRecord): void
  /** Starts a span in the caller's trace. Absent if tracing is off. */
  readonly span?: ((call: TracedCall) => CallSpan) | undefined
}

interface CallSpan {
  /** The trace context for work done for the call. */
  readonly trace: TraceContext
  end(record: CallRecord): void
}

/** Facts about a call at its arrival. */
export interface CallStart {
  readonly binding?: Binding | undefined
  readonly caller?: Caller | undefined
  readonly tenant?: string | undefined
  readonly route?: string | undefined
  readonly endpoint?: string | undefined
  /** The client's address. A function, because most calls do not need it. */
  readonly address?: (() => string | undefined) | undefined
  /** The caller's trace context. Ignored for unauthenticated callers. */
  readonly trace?: TraceContext | undefined
}

/** The dialect and operation of a call that was decoded. */
interface UnderstoodCall {
  readonly dialect: { readonly name: string }
  readonly operation: Operation
}

/** Facts about a call when its span starts. */
interface TracedCall extends Partial<UnderstoodCall> {
  readonly binding?: Binding | undefined
  /** Arrival, in milliseconds since 1970. */
  readonly at: number
  readonly trace: TraceContext
}

/** Collects the facts of one call from its arrival to its end. */
export class CallTracker {
  /** Replaced over gRPC, where the agent is known only after the request was read. */
  observe: CallObserver
  readonly #start: CallStart
  readonly #at = Date.now()
  readonly #startedMs = performance.now()
  #call: UnderstoodCall | undefined
  #tenant: string | undefined
  #taskId: string | undefined
  #contextId: string | undefined
  #span: CallSpan | undefined
  #trace: TraceContext | undefined
  #isEnded = false

  constructor(observe: CallObserver, start: CallStart) {
    this.observe = observe
    this.#start = start
    this.#tenant = start.tenant
  }

  understood(call: UnderstoodCall, trace: TraceContext | undefined): void {
    this.#call = call
    this.#trace = trace
  }

  asked(request: unknown, tenant: string | undefined): void {
    this.#tenant = tenant
    const { message, taskId, id } = request as Subject & { readonly message?: Subject }
    this.#taskId = message ? message.taskId : (taskId ?? id)
    this.#contextId = message?.contextId
  }

  /** Starts the span. Returns the trace context for work done for the call. */
  begun(): TraceContext | undefined {
    this.#span = this.#startSpan()
    return this.#span?.trace ?? this.#trace
  }

  #startSpan(): CallSpan | undefined {
    const trace = this.#trace ?? this.#start.trace ?? {}
    return this.observe.span?.({ ...this.#call, binding: this.#start.binding, at: this.#at, trace })
  }

  /** Takes the ids of the task from the result, or from the first events of a stream. */
  answered(result: unknown): void {
    if (this.#taskId !== undefined && this.#contextId !== undefined) return
    const { task, message, statusUpdate, id, contextId } = (result ?? {}) as Answer
    const subject: Subject =
      task ?? message ?? statusUpdate ?? (id !== undefined && contextId !== undefined ? { id, contextId } : {})
    this.#taskId ??= subject.taskId ?? subject.id
    this.#contextId ??= subject.contextId
  }

  event({ event }: StreamItem): void {
    this.answered(event)
  }

  /** Reports the call. Only the first call of this method counts. */
  ended(error?: A2AError): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const { caller, binding, address, route, endpoint } = this.#start
    const peer = address?.()
    const limit = error?.details.metadata?.limit
    // Assigned one by one, because spreads of optional members copy the record several times.
    const record: { -readonly [Member in keyof CallRecord]: CallRecord[Member] } = {
      at: this.#at,
      durationMs: performance.now() - this.#startedMs,
      outcome: error?.code ?? 'ok',
    }
    if (caller) record.caller = caller.id
    if (caller?.scheme !== undefined) record.scheme = caller.scheme
    if (this.#tenant !== undefined) record.tenant = this.#tenant
    if (route !== undefined) record.route = route
    if (endpoint !== undefined) record.endpoint = endpoint
    if (binding) record.binding = binding
    if (this.#call) {
      record.dialect = this.#call.dialect.name
      record.operation = this.#call.operation
    }
    if (this.#taskId !== undefined) record.taskId = this.#taskId
    if (this.#contextId !== undefined) record.contextId = this.#contextId
    if (peer !== undefined) record.peer = peer
    if (limit !== undefined) record.limit = limit
    // Refused calls get a span too, so that traces show why they end here.
    const span = this.#span ?? this.#startSpan()
    span?.end(record)
    this.observe.ended(record)
  }
}

interface Subject {
  readonly id?: string
  readonly taskId?: string
  readonly contextId?: string
}

interface Answer extends Subject {
  readonly task?: Subject
  readonly message?: Subject
  readonly statusUpdate?: Subject
}

/** Reports a call that was refused before it was decoded. */
export function refusedCall(observe: CallObserver | undefined, start: CallStart, error: A2AError): void {
  if (observe) new CallTracker(observe, start).ended(error)
}
