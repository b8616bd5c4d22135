/**
 * What became of a call, told when it has ended: for logs, metrics and audits. It says who did what to which
 * task; it never holds what was said, nor a credential.
 */
import type { Binding } from '../model/agent-card.js'
import type { A2AError, ErrorCode } from '../model/errors.js'
import type { Operation } from '../model/operations.js'
import type { Caller, StreamItem } from '../model/service.js'
import type { TraceContext } from '../model/trace-context.js'

export interface CallRecord {
  /** When it arrived, in milliseconds since 1970. */
  readonly at: number
  /** To the answer, or to the end of the stream. */
  readonly durationMs: number
  /** `ok`, or the error it was answered with. A stream whose reader left is `ok`. */
  readonly outcome: 'ok' | ErrorCode
  /** Absent when nobody proved to be anybody. */
  readonly caller?: string
  /** The scheme by which the caller proved who it is, by its name in the card. */
  readonly scheme?: string
  readonly tenant?: string
  /** The path of the route that answered, for requests that no agent answered. */
  readonly route?: string
  readonly binding?: Binding
  /** Absent, with the members below, when the call was not understood. */
  readonly dialect?: string
  readonly operation?: Operation
  readonly taskId?: string
  readonly contextId?: string
  /** The address of the other end, where it is known. */
  readonly peer?: string
  /** The limit that was in the way, by its name in the options. */
  readonly limit?: string
}

export interface CallObserver {
  /** Told of every call when it has ended. */
  ended(record: CallRecord): void
  /** Follows a call, as part of the trace its caller named. Absent when nobody traces. */
  readonly span?: ((call: TracedCall) => CallSpan) | undefined
}

export interface CallSpan {
  /** The trace context of what is done for the call. */
  readonly trace: TraceContext
  end(record: CallRecord): void
}

/** What is known of a call when it arrives. */
export interface CallStart {
  readonly binding?: Binding | undefined
  readonly caller?: Caller | undefined
  readonly tenant?: string | undefined
  readonly route?: string | undefined
  /** Where it comes from; asked for only when somebody wants to know. */
  readonly address?: (() => string | undefined) | undefined
  /** What it says it belongs to, if it comes from somebody. */
  readonly trace?: TraceContext | undefined
}

/** What a call turned out to be. */
export interface UnderstoodCall {
  readonly dialect: { readonly name: string }
  readonly operation: Operation
}

/** What is known of a call when work for it begins, or when it is refused before there was any. */
export interface TracedCall extends Partial<UnderstoodCall> {
  readonly binding?: Binding | undefined
  /** When it arrived. */
  readonly at: number
  readonly trace: TraceContext
}

/** Follows one call from its arrival to its end. */
export class CallTracker {
  /** Who is told; over gRPC the agent is known only when the request has been read. */
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

  /** It is made now. Answers the trace context of what is done for it. */
  begun(): TraceContext | undefined {
    this.#span = this.#startSpan()
    return this.#span?.trace ?? this.#trace
  }

  #startSpan(): CallSpan | undefined {
    const trace = this.#trace ?? this.#start.trace ?? {}
    return this.observe.span?.({ ...this.#call, binding: this.#start.binding, at: this.#at, trace })
  }

  /** The answer, or an event of a stream: the first ones may say which task it is about. */
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

  /** May be said more than once: the first time counts. */
  ended(error?: A2AError): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const { caller, binding, address, route } = this.#start
    const peer = address?.()
    const limit = error?.details.metadata?.limit
    const record: CallRecord = {
      at: this.#at,
      durationMs: performance.now() - this.#startedMs,
      outcome: error?.code ?? 'ok',
      ...(caller && { caller: caller.id }),
      ...(caller?.scheme !== undefined && { scheme: caller.scheme }),
      ...(this.#tenant !== undefined && { tenant: this.#tenant }),
      ...(route !== undefined && { route }),
      ...(binding && { binding }),
      ...(this.#call && { dialect: this.#call.dialect.name, operation: this.#call.operation }),
      ...(this.#taskId !== undefined && { taskId: this.#taskId }),
      ...(this.#contextId !== undefined && { contextId: this.#contextId }),
      ...(peer !== undefined && { peer }),
      ...(limit !== undefined && { limit }),
    }
    // Refused before anything was done for it: that is a span too, or nobody would see why a trace ends here.
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

/** A call that was not let in. */
export function refusedCall(observe: CallObserver | undefined, start: CallStart, error: A2AError): void {
  if (observe) new CallTracker(observe, start).ended(error)
}
