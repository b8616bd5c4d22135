/** Sends one delivery to one webhook. */
import { createHash } from 'node:crypto'
import { readRetryAfter } from '../model/retry-after.js'
import { traceContextOf } from '../model/trace-context.js'
import { unlessAborted } from '../model/unless-aborted.js'
import { userAgent } from '../model/user-agent.js'
import { AddressRefused } from '../net/address-rules.js'
import type { GuardedDialer } from '../net/node-dialer.js'
import { type DeliveryClaims, deliveryIdHeader, deliveryTokenHeader } from '../signing/delivery-token.js'
import type { Signer } from '../signing/signer.js'
import type { StoredPushConfig, TaskKey } from '../stores/store.js'
import type { Tracing } from '../telemetry/tracing.js'

export interface Delivery {
  /** The same for every attempt, in every process. */
  readonly id: string
  readonly key: TaskKey
  readonly push: StoredPushConfig
  readonly contentType: string
  readonly body: string
}

/**
 * `failed`: a retry may succeed. `refused`: a retry cannot succeed. `aborted`: this process shuts down; the webhook may have
 * received the request.
 */
export type DeliveryOutcome =
  | { readonly result: 'delivered' | 'aborted' }
  | { readonly result: 'refused'; readonly error: string }
  | {
      readonly result: 'failed'
      readonly error: string
      readonly retryAfterMs?: number
      /** Whether the origin is down or overloaded, so that its other webhooks would fail too. Absent if it was not called. */
      readonly isOverloaded?: boolean
    }

export type Send = (delivery: Delivery, abort: AbortSignal) => Promise<DeliveryOutcome>

export interface SendDeps {
  readonly dialer: Pick<GuardedDialer, 'request'>
  readonly timeoutMs: number
  /** Signs a token for each delivery (R-PDEL-9). */
  readonly signJwt?: Signer['signJwt'] | undefined
  /** Called when the signer fails. Its error is for the log only. */
  readonly onUnsigned: (error: unknown, delivery: Delivery) => void
  /** The URL of an agent, which is the issuer of its tokens. */
  readonly addressOf: (agent: string) => string
}

/** Statuses after which a retry of the same request cannot succeed. */
const final: ReadonlySet<number> = new Set([400, 410, 413, 415, 422])
const unaccepted: ReadonlySet<number> = new Set([401, 403])
const overloaded: ReadonlySet<number> = new Set([429, 503])

/** The rest of a response is not read: its content is not used. */
const maxResponseBytes = 64 * 1024
const tokenLifeSeconds = 5 * 60
const unsigned = 'The delivery could not be signed'

export function deliveryId({ agent, id }: TaskKey, configId: string, seq: number): string {
  const place = JSON.stringify([agent, id, configId, seq])
  return createHash('sha256').update(place).digest('base64url').slice(0, 32)
}

export function createSend(deps: SendDeps): Send {
  const { dialer, timeoutMs } = deps
  return async (delivery, abort) => {
    // Not `AbortSignal.any`: the server's signal would keep a reference to each call.
    const call = new AbortController()
    const timer = setTimeout(() => call.abort(), timeoutMs)
    const onAbort = () => call.abort()
    abort.addEventListener('abort', onAbort, { once: true })
    try {
      if (abort.aborted) return { result: 'aborted' }
      const { signal } = call
      const headers = await headersOf(delivery, deps, signal).catch((error: unknown) => {
        if (!abort.aborted) deps.onUnsigned(error, delivery)
      })
      if (abort.aborted) return { result: 'aborted' }
      if (!headers) return { result: 'failed', error: unsigned }
      const { url } = delivery.push.config
      const answer = await dialer.request(url, { method: 'POST', headers, body: delivery.body, signal })
      // Only the status and headers matter, so errors of the body are ignored.
      await answer.body.dump({ limit: maxResponseBytes, signal }).catch(() => undefined)
      const outcome = outcomeOf(answer.statusCode, answer.headers)
      return deps.signJwt && unaccepted.has(answer.statusCode)
        ? withIssuer(outcome, deps.addressOf(delivery.key.agent))
        : outcome
    } catch (error) {
      if (abort.aborted) return { result: 'aborted' }
      return {
        result: 'failed',
        error: call.signal.aborted ? timedOut(timeoutMs) : describeFailure(error),
        isOverloaded: true,
      }
    } finally {
      clearTimeout(timer)
      abort.removeEventListener('abort', onAbort)
    }
  }
}

async function headersOf(
  delivery: Delivery,
  { signJwt, addressOf }: SendDeps,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const { id, key, push, contentType } = delivery
  const { token, authentication, url } = push.config
  const headers: Record<string, string> = {
    'content-type': contentType,
    'user-agent': userAgent,
    [deliveryIdHeader]: id,
  }
  if (token !== undefined) headers['x-a2a-notification-token'] = token
  Object.assign(headers, traceContextOf(push))
  if (authentication?.credentials !== undefined)
    headers.authorization = `${authentication.scheme} ${authentication.credentials}`
  if (!signJwt) return headers
  const issued = Math.floor(Date.now() / 1000)
  const claims: DeliveryClaims = {
    iss: addressOf(key.agent),
    aud: url,
    iat: issued,
    exp: issued + tokenLifeSeconds,
    jti: id,
    taskId: key.id,
    request_body_sha256: createHash('sha256').update(delivery.body).digest('hex'),
  }
  // A signer that never answers must not hold the cursor.
  const jwt = await unlessAborted(signJwt({ ...claims }), signal)
  // The client's credentials have priority (R-PDEL-2); the token then goes into a separate header.
  if (headers.authorization === undefined) headers.authorization = `Bearer ${jwt}`
  else headers[deliveryTokenHeader] = jwt
  return headers
}

function outcomeOf(status: number, headers: ResponseHeaders): DeliveryOutcome {
  if (status >= 200 && status < 300) return { result: 'delivered' }
  if (final.has(status)) return { result: 'refused', error: `The webhook answered ${status}` }
  const isRedirect = status >= 300 && status < 400
  const retryAfter = readRetryAfter(firstOf(headers['retry-after']), firstOf(headers.date))
  return {
    result: 'failed',
    error: `The webhook answered ${status}${isRedirect ? ': redirects are not followed' : ''}`,
    isOverloaded: overloaded.has(status),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter * 1000 }),
  }
}

/** Adds the issuer: a receiver that expects another one refuses every delivery. */
function withIssuer(outcome: DeliveryOutcome, issuer: string): DeliveryOutcome {
  return 'error' in outcome
    ? { ...outcome, error: `${outcome.error}; deliveries are signed with issuer ${issuer}` }
    : outcome
}

type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

function firstOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0]
}

function timedOut(timeoutMs: number): string {
  return `The webhook did not answer within ${timeoutMs / 1000} s`
}

/** A message for operators, without addresses, headers or bodies of clients. */
function describeFailure(error: unknown): string {
  if (error instanceof AddressRefused) return error.message
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth++) {
    if ('code' in each && typeof each.code === 'string') return `The webhook cannot be reached: ${each.code}`
  }
  return 'The webhook cannot be reached'
}

/** Creates a span for each attempt, as a child of the call that registered the webhook. */
export function traceDeliveries(send: Send, tracing: Tracing): Send {
  return async (delivery, abort) => {
    const { key, push } = delivery
    const span = tracing.start({
      name: 'push',
      kind: 'client',
      parent: push,
      facts: { agent: key.agent, taskId: key.id, peer: new URL(push.config.url).host },
    })
    const traced = { ...delivery, push: { ...push, ...span.trace } }
    const outcome = await span.run(() => send(traced, abort))
    const isFailure = outcome.result === 'failed' || outcome.result === 'refused'
    span.end({ isFailure, error: isFailure ? outcome.result : undefined })
    return outcome
  }
}
