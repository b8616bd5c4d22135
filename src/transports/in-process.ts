/**
 * The in-process transport: a client calls a service, or a fetch-style handler, of its own process. There is no socket.
 * Errors, timeouts and aborts look the same as over a network.
 */
import { batchesOf, items } from '../model/batches.js'
import { copyJson } from '../model/copy-json.js'
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import { isObject } from '../model/is-object.js'
import type { Operation } from '../model/operations.js'
import { describeValue } from '../model/option-names.js'
import type { AgentService, CallContext, StreamItem } from '../model/service.js'
import { leftBy, TransportError } from '../model/transport-error.js'
import { unlessAborted } from '../model/unless-aborted.js'

/** Answers a request, as `createHandler(…).fetch` and the handlers of most frameworks do. */
export type FetchFunction = (request: Request) => Response | Promise<Response>

/** Makes `fetch` of a handler. As with `fetch`, an aborted signal rejects the call and breaks off the response's body. */
export function inProcessFetch(handle: FetchFunction): (url: string, init: RequestInit) => Promise<Response> {
  return (url, init) => answerUnlessAborted(handle, new Request(url, init), init.signal)
}

/** Hands a request to a handler. If the signal aborts, rejects or breaks off the response's body with its reason. */
export async function answerUnlessAborted(
  handle: FetchFunction,
  request: Request,
  signal: AbortSignal | null | undefined,
): Promise<Response> {
  const response = await unlessAborted(async () => await handle(request), signal)
  assertResponse(response)
  const { body, status, statusText, headers } = response
  if (!body || !signal) return response
  return new Response(body.pipeThrough(new TransformStream(), { signal }), { status, statusText, headers })
}

/** Frameworks have `Response` classes of their own, so the members decide. A retry would get the same value. */
function assertResponse(value: unknown): void {
  const isResponse = isObject(value) && typeof value.status === 'number' && isObject(value.headers) && 'body' in value
  if (!isResponse)
    throw new TransportError('bad-answer', `The handler returned ${describeValue(value)}, expected a Response`)
}

interface InProcessClientOptions {
  /** Limits each unary call. 0: no limit. */
  readonly timeoutMs: number
}

/**
 * Calls a service directly. Calls that are aborted reject at once; what they started goes on (R-SEND-11). Requests and
 * results are copied, so that neither side can change the other's objects.
 */
export function createInProcessClient(service: AgentService, { timeoutMs }: InProcessClientOptions): AgentService {
  const { unary, streaming } = toGeneric(service)
  async function* followed(
    operation: Operation,
    request: unknown,
    { signal, ...context }: CallContext,
  ): AsyncGenerator<readonly StreamItem[], void, void> {
    const gone = new AbortController()
    const batches = batchesOf(streaming(operation, copyJson(request), { ...context, signal: gone.signal }))
    try {
      for (;;) {
        const next = await unlessAborted(() => batches.next(), signal)
        if (next.done) return
        yield next.value.map(({ event, seq }) =>
          seq === undefined ? { event: copyJson(event) } : { event: copyJson(event), seq },
        )
      }
    } catch (error) {
      throw failureOf(error, signal)
    } finally {
      gone.abort()
      // Not awaited: a read that is pending ends with the signal.
      batches.return().catch(() => undefined)
    }
  }
  return fromGeneric({
    async unary(operation, request, { signal, ...context }) {
      const deadline = timeoutMs > 0 ? startDeadline(timeoutMs) : undefined
      const signals = [signal, deadline?.signal].filter((each) => each !== undefined)
      const either = signals.length > 1 ? AbortSignal.any(signals) : signals[0]
      try {
        return copyJson(await unlessAborted(async () => await unary(operation, copyJson(request), context), either))
      } catch (error) {
        throw failureOf(error, either)
      } finally {
        deadline?.stop()
      }
    },
    streaming: (...call) => items(followed(...call)),
  })
}

/** Callers see `A2AError` and `TransportError` only. */
function failureOf(error: unknown, signal: AbortSignal | undefined): unknown {
  if (error instanceof A2AError || error instanceof TransportError) return error
  return signal?.aborted ? leftBy(signal) : A2AError.from(error)
}

function startDeadline(timeoutMs: number) {
  const controller = new AbortController()
  const late = () => controller.abort(new DOMException(`No answer within ${timeoutMs} ms`, 'TimeoutError'))
  const timer = setTimeout(late, timeoutMs)
  return { signal: controller.signal, stop: () => clearTimeout(timer) }
}
