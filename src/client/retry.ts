/**
 * Calls that are made again when that is safe: operations that change nothing or change it once, sends that carry an
 * `Idempotency-Key`, and whatever was never sent. Everything else fails with what it failed with.
 */
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import type { AgentService, CallContext } from '../model/service.js'
import { leftBy, TransportError, wasNotSent } from '../model/transport-error.js'

export interface RetryOptions {
  /** Attempts in all. Default 4. */
  readonly attempts?: number
  /** Before the second attempt; doubled from then on, and never the same twice. Default 200 ms. */
  readonly firstDelayMs?: number
  /** Default 5 s. A peer that asks for longer in `Retry-After` is not asked again. */
  readonly longestDelayMs?: number
}

export interface Timing {
  /** Resolves after a while, or rejects when the signal fires. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>
  random(): number
}

const usualLongestDelayMs = 5_000

/** May be made twice without harm: reading, and changes that are the same the second time. */
const idempotent: ReadonlySet<Operation> = new Set<Operation>([
  'getTask',
  'listTasks',
  'cancelTask',
  'getTaskPushNotificationConfig',
  'listTaskPushNotificationConfigs',
  'deleteTaskPushNotificationConfig',
  'getExtendedAgentCard',
])

/** Whether a call may be made again although the peer may have got it. */
export function isRepeatable(operation: Operation, { idempotencyKey }: CallContext): boolean {
  return idempotent.has(operation) || operation === 'subscribeToTask' || idempotencyKey !== undefined
}

export function withRetries(service: AgentService, options: RetryOptions, timing: Timing): AgentService {
  const { unary, streaming } = toGeneric(service)
  return fromGeneric({
    unary(operation, request, context) {
      const isSafe = isRepeatable(operation, context)
      const call = () => unary(operation, request, context)
      const isWorthIt = (error: unknown) => isSafe || wasNotSent(error)
      const { attempts = options.attempts } = context
      return retry(call, { ...options, ...(attempts && { attempts }), isWorthIt }, timing, context.signal)
    },
    // Streams heal by themselves.
    streaming,
  })
}

/** Makes a call again while that is worth it, and its failures are of the kind that passes. */
export async function retry<T>(
  call: () => Promise<T>,
  options: RetryOptions & { readonly isWorthIt: (error: unknown) => boolean },
  timing: Timing,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { attempts = 4, isWorthIt } = options
  for (let made = 1; ; made++) {
    try {
      return await call()
    } catch (error) {
      const delayMs = made < attempts && isWorthIt(error) ? retryDelay(error, made, options, timing) : undefined
      if (delayMs === undefined || signal?.aborted) throw error
      await timing.wait(delayMs, signal)
    }
  }
}

/** How long to wait before trying again; absent when trying again makes no sense. */
export function retryDelay(error: unknown, made: number, options: RetryOptions, timing: Timing): number | undefined {
  const asked = requestedDelay(error)
  if (asked === undefined || asked > (options.longestDelayMs ?? usualLongestDelayMs)) return undefined
  return Math.max(asked, backoffDelay(made, options, timing))
}

/** Longer each time. Between half and the whole: callers that failed together do not come back together. */
export function backoffDelay(
  made: number,
  { firstDelayMs = 200, longestDelayMs = usualLongestDelayMs }: RetryOptions,
  { random }: Timing,
): number {
  return Math.min(longestDelayMs, firstDelayMs * 2 ** (made - 1)) * (0.5 + random() / 2)
}

/** How long the peer wants to be left alone. 0: it did not say. Absent: the same call would fail again. */
export function requestedDelay(error: unknown): number | undefined {
  if (error instanceof TransportError) return error.isRetryable ? (error.retryAfterMs ?? 0) : undefined
  const isPassing = error instanceof A2AError && (error.code === 'UNAVAILABLE' || error.code === 'RATE_LIMITED')
  return isPassing ? (error.details.retryAfterSeconds ?? 0) * 1000 : undefined
}

/** Real time and real chance. */
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
