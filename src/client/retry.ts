/**
 * Retries calls that are safe to repeat: idempotent operations, sends with an `Idempotency-Key`, and calls that were not
 * sent. All other calls fail with their first error.
 */
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import type { AgentService, CallContext } from '../model/service.js'
import { leftBy, TransportError, wasNotSent } from '../model/transport-error.js'

export interface RetryOptions {
  /** Maximum number of attempts, the first included. Default 4. */
  readonly attempts?: number
  /** Delay before the second attempt. Doubled for each further attempt, with jitter. Default 200 ms. */
  readonly firstDelayMs?: number
  /** Maximum delay. If `Retry-After` of the peer is longer, there is no retry. Default 5 s. */
  readonly maxDelayMs?: number
}

/** Delays and randomness, which tests replace. */
export interface Timing {
  /** Resolves after the delay. Rejects with a `TransportError` if the signal aborts. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>
  /** Returns a number from 0 to 1. */
  random(): number
}

export const systemTiming: Timing = {
  random: Math.random,
  wait: (ms, signal) =>
    new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        if (signal?.aborted) reject(leftBy(signal))
        else resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done)
      if (signal?.aborted) done()
    }),
}

const idempotent: ReadonlySet<Operation> = new Set<Operation>([
  'getTask',
  'listTasks',
  'cancelTask',
  'subscribeToTask',
  'getTaskPushNotificationConfig',
  'listTaskPushNotificationConfigs',
  'deleteTaskPushNotificationConfig',
  'getExtendedAgentCard',
])

/** Whether a call may be repeated although the peer may have received it. */
export function isRepeatable(operation: Operation, { idempotencyKey }: CallContext): boolean {
  return idempotent.has(operation) || idempotencyKey !== undefined
}

/** Adds retries to unary calls. Streams are reopened by `reconnect-stream.ts`. */
export function withRetries(service: AgentService, options: RetryOptions, timing: Timing): AgentService {
  const { unary, streaming } = toGeneric(service)
  return fromGeneric({
    unary(operation, request, context) {
      const isSafe = isRepeatable(operation, context)
      const call = () => unary(operation, request, context)
      const canRetry = (error: unknown) => isSafe || wasNotSent(error)
      const { attempts = options.attempts } = context
      return retry(call, { ...options, ...(attempts && { attempts }), canRetry }, timing, context.signal)
    },
    streaming,
  })
}

/** Repeats a call while `canRetry` allows it and the error is temporary. */
export async function retry<T>(
  call: () => Promise<T>,
  options: RetryOptions & { readonly canRetry: (error: unknown) => boolean },
  timing: Timing,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { attempts = 4, canRetry } = options
  for (let made = 1; ; made++) {
    try {
      return await call()
    } catch (error) {
      const delayMs = made < attempts && canRetry(error) ? retryDelay(error, made, options, timing) : undefined
      if (delayMs === undefined || signal?.aborted) throw error
      await timing.wait(delayMs, signal)
    }
  }
}

const defaultMaxDelayMs = 5_000

/** Returns the delay before the next attempt, or undefined if there must be none. */
export function retryDelay(error: unknown, made: number, options: RetryOptions, timing: Timing): number | undefined {
  const requested = requestedDelay(error)
  if (requested === undefined || requested > (options.maxDelayMs ?? defaultMaxDelayMs)) return undefined
  return Math.max(requested, backoffDelay(made, options, timing))
}

/** Exponential backoff. Jitter takes off up to half, so that callers that failed together do not retry together. */
export function backoffDelay(
  made: number,
  { firstDelayMs = 200, maxDelayMs = defaultMaxDelayMs }: RetryOptions,
  { random }: Timing,
): number {
  return Math.min(maxDelayMs, firstDelayMs * 2 ** (made - 1)) * (0.5 + random() / 2)
}

/** Returns the delay that the peer asks for, 0 if it names none, or undefined if the error is permanent. */
export function requestedDelay(error: unknown): number | undefined {
  if (error instanceof TransportError) return error.isRetryable ? (error.retryAfterMs ?? 0) : undefined
  const isTemporary = error instanceof A2AError && (error.code === 'UNAVAILABLE' || error.code === 'RATE_LIMITED')
  return isTemporary ? (error.details.retryAfterSeconds ?? 0) * 1000 : undefined
}
