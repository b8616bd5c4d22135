/** One call of one webhook: what is sent, and what became of it. */
import { createHash } from 'node:crypto'
import { readRetryAfter } from '../model/retry-after.js'
import { traceContextOf } from '../model/trace-context.js'
import { userAgent } from '../model/user-agent.js'
import { AddressRefused } from '../net/address-rules.js'
import type { GuardedDialer } from '../net/node-dialer.js'
import { unlessAborted } from '../net/node-dialer.js'
import { type DeliveryClaims, deliveryIdHeader, deliveryTokenHeader } from '../signing/delivery-token.js'
import type { Signer } from '../signing/signer.js'
import type { StoredPushConfig, TaskKey } from '../stores/store.js'
import type { Tracing } from '../telemetry/tracing.js'

export interface Delivery {
  /** The same for every attempt, whoever makes it. */
  readonly id: string
  readonly key: TaskKey
  readonly push: StoredPushConfig
  readonly contentType: string
  readonly body: string
}

/**
 * `failed`: may do better later. `refused`: the same request will never do. `aborted`: we gave up waiting because
 * this process ends; it may have arrived.
 */
export type DeliveryOutcome =
  | { readonly result: 'delivered' | 'aborted' }
  | { readonly result: 'refused'; readonly error: string }
  | {
      readonly result: 'failed'
      readonly error: string
      readonly retryAfterMs?: number
      /**
       * Nobody is there, or has no time: other webhooks at that origin will not do better. Absent when it was never
       * called: then nothing is known of it.
       */
      readonly isOverloaded?: boolean
    }

export type Send = (delivery: Delivery, abort: AbortSignal) => Promise<DeliveryOutcome>

export interface SendDeps {
  readonly dialer: Pick<GuardedDialer, 'request'>
  readonly timeoutMs: number
  /** Signs a token about each delivery (R-PDEL-9). */
  readonly signJwt?: Signer['signJwt'] | undefined
  /** A signer may be a service of its own, with troubles of its own; its words are for the log alone. */
  readonly onUnsigned: (error: unknown, delivery: Delivery) => void
  /** The address of an agent: who signs. */
  readonly addressOf: (agent: string) => string
}

/** Answers that speak of this very request, or of this webhook for good: trying again changes nothing. */
const final: ReadonlySet<number> = new Set([400, 410, 413, 415, 422])
const unaccepted: ReadonlySet<number> = new Set([401, 403])
const overloaded: ReadonlySet<number> = new Set([429, 503])

/** More of an answer is not read: nothing in it matters. */
const longestAnswerBytes = 64 * 1024
const tokenLifeSeconds = 5 * 60
const unsigned = 'The delivery could not be signed'

export function deliveryId({ agent, id }: TaskKey, configId: string, seq: number): string {
  const place = JSON.stringify([agent, id, configId, seq])
  return createHash('sha256').update(place).digest('base64url').slice(0, 32)
}

export function createSend(parts: SendDeps): Send {
  const { dialer, timeoutMs } = parts
  return async (delivery, abort) => {
    // Not `AbortSignal.any`: one that lives as long as the server would keep a trace of every call.
    const call = new AbortController()
    const timer = setTimeout(() => call.abort(), timeoutMs)
    const onAbort = () => call.abort()
    abort.addEventListener('abort', onAbort, { once: true })
    try {
      if (abort.aborted) return { result: 'aborted' }
      const { signal } = call
      const headers = await headersOf(delivery, parts, signal).catch((error: unknown) => {
        if (!abort.aborted) parts.onUnsigned(error, delivery)
      })
      if (abort.aborted) return { result: 'aborted' }
      if (!headers) return { result: 'failed', error: unsigned }
      const { url } = delivery.push.config
      const answer = await dialer.request(url, { method: 'POST', headers, body: delivery.body, signal })
      // Whatever becomes of the rest, the answer is in its head.
      await answer.body.dump({ limit: longestAnswerBytes, signal }).catch(() => undefined)
      const outcome = outcomeOf(answer.statusCode, answer.headers)
      return parts.signJwt && unaccepted.has(answer.statusCode)
        ? withIssuer(outcome, parts.addressOf(delivery.key.agent))
        : outcome
    } catch (error) {
      if (abort.aborted) return { result: 'aborted' }
      return { result: 'failed', error: call.signal.aborted ? late(timeoutMs) : wordsFor(error), isOverloaded: true }
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
  // One that never answers must not keep the cursor.
  const jwt = await unlessAborted(signJwt({ ...claims }), signal)
  // The client's own credentials come first (R-PDEL-2); the token then has a header of its own.
  if (headers.authorization === undefined) headers.authorization = `Bearer ${jwt}`
  else headers[deliveryTokenHeader] = jwt
  return headers
}

function outcomeOf(status: number, headers: AnswerHeaders): DeliveryOutcome {
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

/** A receiver that expects another issuer refuses every delivery, and only this side knows the issuer it signs with. */
function withIssuer(outcome: DeliveryOutcome, issuer: string): DeliveryOutcome {
  return 'error' in outcome
    ? { ...outcome, error: `${outcome.error}; deliveries are signed with issuer ${issuer}` }
    : outcome
}

type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

function firstOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0]
}

function late(timeoutMs: number): string {
  return `The webhook did not answer within ${timeoutMs / 1000} s`
}

/** Operators read this: no address, no header and no body of a client may be in it. */
function wordsFor(error: unknown): string {
  if (error instanceof AddressRefused) return error.message
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth++) {
    if ('code' in each && typeof each.code === 'string') return `The webhook cannot be reached: ${each.code}`
  }
  return 'The webhook cannot be reached'
}

export function traceDeliveries(send: Send, tracing: Tracing): Send {
  return async (delivery, abort) => {
    const { key, push } = delivery
    const span = tracing.start({
      name: 'push',
      kind: 'client',
      parent: push,
      facts: { agent: key.agent, taskId: key.id, peer: new URL(push.config.url).host },
    })
    const told = { ...delivery, push: { ...push, ...span.trace } }
    const outcome = await span.run(() => send(told, abort))
    const isFailure = outcome.result === 'failed' || outcome.result === 'refused'
    span.end({ isFailure, error: isFailure ? outcome.result : undefined })
    return outcome
  }
}
