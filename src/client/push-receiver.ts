/**
 * The other end of push notifications: a handler for the address a webhook was registered with. It knows the
 * body of every dialect (RM-PUSH-3), checks token and signature, and tells of each delivery once.
 */
import type { ClientDialect } from '../dialects/client-dialect.js'
import { type ClientDialects, withClientDialects } from '../dialects/clients.js'
import type { DialectName } from '../dialects/dialect.js'
import { A2AError, clip, type ErrorCode } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { deliveryIdHeader } from '../signing/delivery-token.js'
import { parseJson, readBody } from '../transports/read-json.js'
import { createSignatureCheck, type PushSignatureOptions, type SignedClaims } from './push-signature.js'

export interface PushDelivery {
  /** The dialect the webhook was registered in. */
  readonly dialect: DialectName
  readonly event: StreamResponse
  readonly taskId: string
}

export interface PushReceiverOptions extends PushSignatureOptions {
  /** Told of every delivery once. When it throws, the sender is told to try again. */
  readonly onDelivery: (delivery: PushDelivery) => void | Promise<void>
  /** Called with the reason when a delivery is refused: a wrong token, issuer or body, keys that cannot be read. Must not throw. */
  readonly onRefused?: (reason: string) => void
  /** Required value of `X-A2A-Notification-Token`, or of `A2A-Notification-Token` if the former is absent. */
  readonly token?: string
  /** Default 10 MB. */
  readonly maxBytes?: number
  /** Dialects of your own, beside those of this package. */
  readonly dialects?: readonly ClientDialect[]
}

const optionNames = {
  onDelivery: true,
  onRefused: true,
  token: true,
  maxBytes: true,
  dialects: true,
  jwksUrl: true,
  issuer: true,
  audience: true,
  maxAgeMs: true,
} satisfies NamesOf<PushReceiverOptions>

/** Deliveries that are remembered to tell of each once. */
const mostRemembered = 10_000

/**
 * ```ts
 * const receive = createPushReceiver({ token: 'secret', onDelivery: ({ event }) => console.log(event) })
 * const response = await receive(request)
 * ```
 */
export function createPushReceiver(options: PushReceiverOptions): (request: Request) => Promise<Response> {
  assertOptions('createPushReceiver', options, optionNames)
  const seen = new Set<string>()
  const dialects = withClientDialects(options.dialects)
  const check = options.jwksUrl === undefined ? undefined : createSignatureCheck(options.jwksUrl, options)
  /** Throws `A2AError` for a delivery that is refused. */
  const accept = async (request: Request): Promise<Accepted> => {
    const bytes = await readBody(request, options.maxBytes ?? 10 * 1024 * 1024)
    await assertToken(request.headers, options.token)
    const body = await digest(bytes)
    const claims = await check?.(request.headers, body)
    const deliveries = readDelivery(parseJson(bytes), dialects)
    assertAbout(deliveries, claims)
    // An attacker that repeats an overheard token can change its name, not its body.
    const ids = [request.headers.get(deliveryIdHeader) ?? body, ...(claims?.jti ? [`${claims.jti} ${body}`] : [])]
    return { deliveries, ids }
  }
  return async (request) => {
    // Senders may ask whether this address wants to be told (RL-01-9).
    if (request.method === 'GET') return echoValidation(request.url)
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'GET, POST' } })
    let accepted: Accepted
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
    // Remembered only now: a delivery that was not taken may come again.
    for (const id of ids) remember(seen, id)
    return new Response(null, { status: 200 })
  }
}

interface Accepted {
  readonly deliveries: readonly PushDelivery[]
  /** Ids that mark a repetition of this delivery. */
  readonly ids: readonly string[]
}

/** HTTP status of a refusal; 400 for every other code. */
const statuses: ReadonlyMap<ErrorCode, number> = new Map<ErrorCode, number>([
  ['UNAUTHENTICATED', 401],
  ['PAYLOAD_TOO_LARGE', 413],
  ['INTERNAL_ERROR', 500],
  ['UNAVAILABLE', 503],
])

function remember(seen: Set<string>, id: string): void {
  seen.add(id)
  const [oldest] = seen
  if (seen.size > mostRemembered && oldest !== undefined) seen.delete(oldest)
}

/** Tokens of 0.1 senders name no task; a token that names one must name this one. */
function assertAbout(deliveries: readonly PushDelivery[], claims: SignedClaims | undefined): void {
  const about = claims?.taskId
  const other = about === undefined ? undefined : deliveries.find(({ taskId }) => taskId !== about)
  if (!other) return
  const reason = `The signed token is about task ${clip(String(about))}, the body about task ${clip(other.taskId)}`
  throw new A2AError('UNAUTHENTICATED', reason)
}

/** Reads a body in the first dialect that recognises it. Throws `A2AError` for bodies that are no notification. */
function readDelivery(body: unknown, dialects: ClientDialects): readonly PushDelivery[] {
  if (isObject(body)) {
    for (const { name: dialect, jsonrpc, rest, toPushFrame } of dialects.values()) {
      const data = toPushFrame?.(body)
      const form = data === undefined ? undefined : (jsonrpc ?? rest)
      if (!form) continue
      const id = taskIdIn(body)
      const facts = { newId: () => crypto.randomUUID() }
      const decoder = form.createStreamDecoder({ operation: 'subscribeToTask', request: { id }, sent: { id }, facts })
      return decoder.decode({ data }).map((event) => ({ dialect, event, taskId: idIn(event) ?? id }))
    }
  }
  throw new A2AError('INVALID_PARAMS', 'The body is no notification of any known version')
}

function taskIdIn({ id, taskId }: Readonly<Record<string, unknown>>): string {
  return typeof id === 'string' ? id : typeof taskId === 'string' ? taskId : ''
}

function idIn(event: StreamResponse): string | undefined {
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
  if (given === null) throw new A2AError('UNAUTHENTICATED', 'The delivery carries no X-A2A-Notification-Token')
  const encoder = new TextEncoder()
  // Digests have one length, so that the comparison takes the same time for every token.
  if ((await digest(encoder.encode(given))) !== (await digest(encoder.encode(wanted))))
    throw new A2AError('UNAUTHENTICATED', 'The X-A2A-Notification-Token differs from the one of the config')
}
