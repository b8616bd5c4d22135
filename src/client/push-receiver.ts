/**
 * Receives push notifications: a handler for the URL of a webhook. It reads the bodies of every dialect (RM-PUSH-3), checks
 * token and signature, and reports each delivery once.
 *
 * A signed delivery carries a recent token, signed with a published key, over its body (R-PDEL-9, RL-01-9). If the keys
 * cannot be read, the receiver answers 503, so that the sender tries again.
 */
import type { errors, JWTPayload } from 'jose'
import type { ClientDialect } from '../dialects/client-dialect.js'
import { type ClientDialects, withClientDialects } from '../dialects/client-dialects.js'
import type { DialectName } from '../dialects/dialect.js'
import { A2AError, clip, type ErrorCode } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { loadJose } from '../net/load-jose.js'
import { type DeliveryClaims, deliveryIdHeader, deliveryTokenHeader } from '../signing/delivery-token.js'
import { parseJson, readBody } from '../transports/read-json.js'

/** An event that an agent delivered to a webhook. */
export interface PushDelivery {
  /** The dialect in which the webhook was registered. */
  readonly dialect: DialectName
  readonly event: StreamResponse
  readonly taskId: string
}

/** Options of `createPushReceiver`. */
export interface PushReceiverOptions {
  /** Called once for each delivery. If it throws, the receiver answers 500 and the sender tries again. */
  readonly onDelivery: (delivery: PushDelivery) => void | Promise<void>
  /** Called with the reason when a delivery is rejected. Must not throw. */
  readonly onRefused?: (reason: string) => void
  /** Required value of `X-A2A-Notification-Token`, or of `A2A-Notification-Token` if the former is absent. */
  readonly token?: string
  /** URL of the sender's keys, a JWK Set. If set, deliveries must carry a signed token. */
  readonly jwksUrl?: string
  /** Required issuer of the signed token: the address of the agent. Default: any. */
  readonly issuer?: string
  /** Required audience of the signed token: the URL of the webhook as it was registered. Default: any. */
  readonly audience?: string
  /** Maximum age of a signed token in milliseconds. Default 5 minutes. */
  readonly maxAgeMs?: number
  /** Maximum size of a body. Default 10 MB. */
  readonly maxBytes?: number
  /** Your own dialects, beside those of this package. */
  readonly dialects?: readonly ClientDialect[]
}

const optionNames = {
  onDelivery: true,
  onRefused: true,
  token: true,
  jwksUrl: true,
  issuer: true,
  audience: true,
  maxAgeMs: true,
  maxBytes: true,
  dialects: true,
} satisfies NamesOf<PushReceiverOptions>

/** Number of delivery ids that are kept to detect repetitions. */
const maxSeenIds = 10_000

/**
 * Creates a handler for the URL of a webhook, for any server with `Request` and `Response`. It answers 200 for deliveries
 * and their repetitions, 401 for a missing or wrong token or signature, and 400 for other bodies.
 *
 * ```ts
 * const receive = createPushReceiver({ token: 'secret', onDelivery: ({ event }) => console.log(event) })
 * const response = await receive(request)
 * ```
 */
export function createPushReceiver(options: PushReceiverOptions): (request: Request) => Promise<Response> {
  assertOptions('createPushReceiver', options, optionNames)
  const { jwksUrl, maxBytes = 10 * 1024 * 1024 } = options
  const seen = new Set<string>()
  const dialects = withClientDialects(options.dialects)
  const checkSignature = jwksUrl === undefined ? undefined : createSignatureCheck(jwksUrl, options)
  const accept = async (request: Request): Promise<AcceptedRequest> => {
    const bytes = await readBody(request, maxBytes)
    await assertToken(request.headers, options.token)
    const body = await digest(bytes)
    const claims = await checkSignature?.(request.headers, body)
    const deliveries = await readDeliveries(parseJson(bytes), dialects)
    assertSameTask(deliveries, claims)
    // An attacker who replays a token can change the delivery id, but not the body.
    const ids = [request.headers.get(deliveryIdHeader) ?? body, ...(claims?.jti ? [`${claims.jti} ${body}`] : [])]
    return { deliveries, ids }
  }
  return async (request) => {
    // Senders may validate the URL with a GET request (RL-01-9).
    if (request.method === 'GET') return echoValidation(request.url)
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'GET, POST' } })
    let accepted: AcceptedRequest
    try {
      accepted = await accept(request)
    } catch (error) {
      const { code, message } = A2AError.from(error)
      options.onRefused?.(message)
      return new Response(null, { status: statuses.get(code) ?? 400 })
    }
    const { deliveries, ids } = accepted
    if (ids.some((id) => seen.has(id))) return new Response(null, { status: 200 })
    try {
      for (const delivery of deliveries) await options.onDelivery(delivery)
    } catch {
      return new Response(null, { status: 500 })
    }
    // Recorded only now, so that a failed delivery can be repeated.
    for (const id of ids) remember(seen, id)
    return new Response(null, { status: 200 })
  }
}

interface AcceptedRequest {
  readonly deliveries: readonly PushDelivery[]
  /** Ids that repetitions of this request share. */
  readonly ids: readonly string[]
}

/** HTTP status by error code. 400 for all others. */
const statuses: ReadonlyMap<ErrorCode, number> = new Map<ErrorCode, number>([
  ['UNAUTHENTICATED', 401],
  ['PAYLOAD_TOO_LARGE', 413],
  ['INTERNAL_ERROR', 500],
  ['UNAVAILABLE', 503],
])

function remember(seen: Set<string>, id: string): void {
  seen.add(id)
  const [oldest] = seen
  if (seen.size > maxSeenIds && oldest !== undefined) seen.delete(oldest)
}

/** Tokens of 0.1 senders name no task. A token that names one must name the task of the body. */
function assertSameTask(deliveries: readonly PushDelivery[], claims: SignedClaims | undefined): void {
  const signed = claims?.taskId
  const other = signed === undefined ? undefined : deliveries.find(({ taskId }) => taskId !== signed)
  if (!other) return
  throw unauthenticated(
    `The signed token is about task ${clip(String(signed))}, the body about task ${clip(other.taskId)}`,
  )
}

/** Reads a body in the first dialect that recognises it. Throws `A2AError` for bodies that are no notification. */
async function readDeliveries(body: unknown, dialects: ClientDialects): Promise<readonly PushDelivery[]> {
  if (isObject(body)) {
    for (const dialect of dialects.outlines.keys()) {
      const { jsonrpc, rest, toPushFrame } = await dialects.load(dialect)
      const data = toPushFrame?.(body)
      const form = data === undefined ? undefined : (jsonrpc ?? rest)
      if (!form) continue
      const id = taskIdIn(body)
      const facts = { newId: () => crypto.randomUUID() }
      const decoder = form.createStreamDecoder({ operation: 'subscribeToTask', request: { id }, sent: { id }, facts })
      return decoder.decode({ data }).map((event) => ({ dialect, event, taskId: taskIdOf(event) ?? id }))
    }
  }
  throw new A2AError('INVALID_PARAMS', 'The body is no notification of any known version')
}

function taskIdIn({ id, taskId }: Readonly<Record<string, unknown>>): string {
  return typeof id === 'string' ? id : typeof taskId === 'string' ? taskId : ''
}

function taskIdOf(event: StreamResponse): string | undefined {
  if ('task' in event) return event.task.id
  if ('statusUpdate' in event) return event.statusUpdate.taskId
  return 'artifactUpdate' in event ? event.artifactUpdate.taskId : event.message.taskId
}

function echoValidation(url: string): Response {
  const token = new URL(url).searchParams.get('validationToken')
  if (token === null || token.length > 1024) return new Response(null, { status: 405, headers: { allow: 'POST' } })
  return new Response(token, { headers: { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' } })
}

async function digest(bytes: Uint8Array): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Go and Rust SDKs send the header without `X-`. */
async function assertToken(headers: Headers, wanted: string | undefined): Promise<void> {
  if (wanted === undefined) return
  const given = headers.get('x-a2a-notification-token') ?? headers.get('a2a-notification-token')
  if (given === null) throw unauthenticated('The delivery carries no X-A2A-Notification-Token')
  const encoder = new TextEncoder()
  // Digests have equal lengths, so the comparison does not reveal the length of the token.
  if ((await digest(encoder.encode(given))) !== (await digest(encoder.encode(wanted))))
    throw unauthenticated('The X-A2A-Notification-Token differs from the one of the config')
}

type SignedClaims = JWTPayload & Partial<DeliveryClaims>

/** Returns the claims of a valid token. Throws UNAUTHENTICATED, or UNAVAILABLE if the keys cannot be read. */
type SignatureCheck = (headers: Headers, bodyDigest: string) => Promise<SignedClaims>

const clockToleranceSeconds = 30

function createSignatureCheck(
  jwksUrl: string,
  { issuer, audience, maxAgeMs = 5 * 60_000 }: Pick<PushReceiverOptions, 'issuer' | 'audience' | 'maxAgeMs'>,
): SignatureCheck {
  const url = new URL(jwksUrl)
  const jose = loadJose()
  const keys = jose.then(({ createRemoteJWKSet }) => createRemoteJWKSet(url))
  return async (headers, bodyDigest) => {
    const token = tokenIn(headers)
    if (token === undefined) throw unauthenticated('The delivery carries no signed token')
    const { jwtVerify, errors } = await jose
    const expected = { ...(issuer !== undefined && { issuer }), ...(audience !== undefined && { audience }) }
    const verified = await jwtVerify<SignedClaims>(token, await keys, {
      algorithms: ['ES256', 'RS256', 'EdDSA'],
      maxTokenAge: Math.ceil(maxAgeMs / 1000),
      clockTolerance: clockToleranceSeconds,
      ...expected,
    }).catch((error: unknown) => {
      if (isTokenError(error, errors)) throw unauthenticated(reasonOf(error, expected, errors), error)
      throw new A2AError('UNAVAILABLE', `The keys at ${clip(jwksUrl)} cannot be read`, { cause: error })
    })
    if (verified.payload.request_body_sha256 !== bodyDigest)
      throw unauthenticated('The signed token is about another body')
    return verified.payload
  }
}

function unauthenticated(reason: string, cause?: unknown): A2AError {
  return new A2AError('UNAUTHENTICATED', reason, { cause })
}

/** Adds the actual and the expected value, which the messages of jose leave out. */
function reasonOf(
  error: errors.JOSEError,
  { issuer, audience }: Pick<PushReceiverOptions, 'issuer' | 'audience'>,
  { JWTClaimValidationFailed }: typeof errors,
): string {
  if (error instanceof JWTClaimValidationFailed) {
    const { iss = 'missing', aud = 'missing' } = error.payload
    if (error.claim === 'iss') return `The issuer of the signed token is ${clip(String(iss))}, expected ${issuer}`
    if (error.claim === 'aud') return `The audience of the signed token is ${clip(String(aud))}, expected ${audience}`
  }
  return `The signed token is invalid: ${clip(error.message)}`
}

function tokenIn(headers: Headers): string | undefined {
  const own = headers.get(deliveryTokenHeader)
  if (own !== null) return own
  const [, bearer] = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '') ?? []
  return bearer
}

/** Whether the token is invalid. All other errors are about the keys. */
function isTokenError(
  error: unknown,
  { JOSEError, JWKSInvalid, JWKSTimeout }: typeof errors,
): error is errors.JOSEError {
  if (!(error instanceof JOSEError) || error instanceof JWKSInvalid || error instanceof JWKSTimeout) return false
  return error.code !== 'ERR_JOSE_GENERIC' // the response was no key set
}
