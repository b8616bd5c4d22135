/**
 * Decodes errors of peers, on each binding, to `A2AError`. A reason determines the code. Without one, the JSON-RPC
 * code, the name of the status and the HTTP status decide, in this order. All other errors are `INTERNAL_ERROR` with
 * the peer's own code in the details (RM-ERR-4).
 */
import { A2AError, clip, type ErrorCode, type ErrorDetails, errorCodes, type FieldViolation } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import type { ErrorCodes } from './error-details.js'
/** Error codes of a dialect by JSON-RPC code. */
export type Meanings = ReadonlyMap<number, ErrorCode>

/** Servers may use this code for any error. */
const anyServerError = -32000

/** Inverts a dialect's table of codes. A JSON-RPC code with several meanings maps to the first. */
export function meaningsOf(errors: Readonly<Record<ErrorCode, Pick<ErrorCodes, 'jsonrpc'>>>): Meanings {
  // Codes of the Go SDK, outside the protocol's range.
  const meanings = new Map<number, ErrorCode>([
    [-31401, 'UNAUTHENTICATED'],
    [-31403, 'PERMISSION_DENIED'],
  ])
  for (const code of errorCodes) {
    const number = errors[code].jsonrpc
    if (number !== anyServerError && !meanings.has(number)) meanings.set(number, code)
  }
  return meanings
}

/** JSON-RPC's `error`. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Statuses that determine the error, even if the body has a general code. */
const clearStatuses: ReadonlyMap<number, ErrorCode> = new Map([
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [409, 'TASK_NOT_CANCELABLE'], // in 1.0.0
  [413, 'PAYLOAD_TOO_LARGE'],
  [415, 'CONTENT_TYPE_NOT_SUPPORTED'], // in 1.0.0
  [429, 'RATE_LIMITED'],
  [503, 'UNAVAILABLE'],
])

const otherStatuses: ReadonlyMap<number, ErrorCode> = new Map([
  [400, 'INVALID_REQUEST'],
  [405, 'METHOD_NOT_FOUND'],
  [406, 'CONTENT_TYPE_NOT_SUPPORTED'],
  [408, 'UNAVAILABLE'],
  [422, 'INVALID_PARAMS'],
  [500, 'INTERNAL_ERROR'],
  [501, 'UNSUPPORTED_OPERATION'],
  [502, 'UNAVAILABLE'],
  [504, 'UNAVAILABLE'],
])

const generalNumbers: ReadonlySet<number | undefined> = new Set([anyServerError, -32600, -32603])

/** `status` is the HTTP status: it is more specific than a general code. */
export function readRpcError({ code: number, message, data }: RpcError, meanings: Meanings, status = 200): A2AError {
  const details = readErrorDetails(data)
  const byStatus = generalNumbers.has(number) ? clearStatuses.get(status) : undefined
  const code = details.code ?? byStatus ?? meanings.get(number)
  return makeError(code, { message, details, peerCode: String(number), data })
}

/**
 * Reads `{"error": {…}}`, 0.3's bare `{code, message, data}`, problem details, FastAPI's `detail`, or text (RM-ERR-3).
 * `otherwise` overrides the HTTP status if the body has no code.
 */
export function readHttpError(status: number, body: unknown, meanings: Meanings, otherwise?: ErrorCode): A2AError {
  const { message, number, statusName, type, details } = readBody(body)
  const byNumber = generalNumbers.has(number) ? undefined : meanings.get(number ?? 0)
  const code =
    details.code ??
    byNumber ??
    codeNamed(type?.split(/[/:#]/).at(-1)) ??
    otherwise ??
    clearStatuses.get(status) ??
    meanings.get(number ?? 0) ??
    (statusName === undefined ? undefined : grpcStatuses.get(statusName)) ??
    (status === 404 ? missing(message) : otherStatuses.get(status))
  const peerCode = String(number !== undefined && number < 0 ? number : status)
  return makeError(code, { message: message || `The agent answered HTTP ${status}`, details, peerCode })
}

/** A 404 means an unknown path, unless its message mentions a task. */
function missing(message: string): ErrorCode {
  return /\btask\b/i.test(message) ? 'TASK_NOT_FOUND' : 'METHOD_NOT_FOUND'
}

interface ReadBody {
  readonly message: string
  readonly number?: number
  readonly statusName?: string
  readonly type?: string
  readonly details: PeerErrorDetails
}

function readBody(body: unknown): ReadBody {
  const whole: unknown = Array.isArray(body) ? body[0] : body
  if (!isObject(whole)) return { message: typeof whole === 'string' ? lineOf(whole) : '', details: { rest: {} } }
  const inner = [whole.error, whole.detail].find(isObject) ?? whole
  const { code, status, type } = inner
  const candidates = [inner.message, inner.detail, whole.error_description, whole.error, inner.title]
  const message = candidates.find((each) => typeof each === 'string' && each !== '') as string | undefined // found by its type
  const violations = readViolations(whole.detail)
  return {
    message: message ?? summaryOf(violations),
    ...(Number.isInteger(code) && { number: code as number }), // an integer is a number
    ...(typeof status === 'string' && { statusName: status }),
    ...(typeof type === 'string' && { type }),
    details: { ...readErrorDetails(inner.details ?? inner.data), ...(violations && { violations }) },
  }
}

function summaryOf(violations: readonly FieldViolation[] = []): string {
  return violations
    .slice(0, 3)
    .map(({ field, description }) => (field === '' ? description : `${field}: ${description}`))
    .join('; ')
}

/** The first line of a text; empty for an HTML page. */
function lineOf(text: string): string {
  const start = text.slice(0, 1000).trim()
  return start.startsWith('<') ? '' : clip(start.split(/[\r\n]/)[0] ?? '')
}

const grpcStatuses: ReadonlyMap<string, ErrorCode> = new Map([
  ['NOT_FOUND', 'TASK_NOT_FOUND'],
  ['INVALID_ARGUMENT', 'INVALID_PARAMS'],
  ['OUT_OF_RANGE', 'INVALID_PARAMS'],
  ['FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
  ['UNIMPLEMENTED', 'METHOD_NOT_FOUND'],
  ['UNAUTHENTICATED', 'UNAUTHENTICATED'],
  ['PERMISSION_DENIED', 'PERMISSION_DENIED'],
  ['RESOURCE_EXHAUSTED', 'RATE_LIMITED'],
  ['UNAVAILABLE', 'UNAVAILABLE'],
  ['INTERNAL', 'INTERNAL_ERROR'],
])

/** In 0.3, messages begin with the name of the error; the Python SDK sends no other details (R3-ERR-4). */
const namedFirst = /^\s*([A-Za-z]{3,60}Error)\b(: (?=.))?/

export function readGrpcError(status: string, message: string, given: readonly object[]): A2AError {
  const details = readErrorDetails(given)
  const [prefix = '', name, colon] = namedFirst.exec(message) ?? []
  const named = codeNamed(name)
  const text = named && colon ? message.slice(prefix.length) : message
  const isTooLarge = status === 'RESOURCE_EXHAUSTED' && /message.{0,20} larger than/i.test(message)
  const code = details.code ?? named ?? (isTooLarge ? 'PAYLOAD_TOO_LARGE' : grpcStatuses.get(status))
  return makeError(code, { message: text, details, peerCode: status })
}

interface ErrorInput {
  readonly message: unknown
  readonly details: PeerErrorDetails
  readonly peerCode: string
  readonly data?: unknown
}

const maxMessageLength = 2000

function makeError(known: ErrorCode | undefined, { message, details, peerCode, data }: ErrorInput): A2AError {
  const { violations, retryAfterSeconds, metadata, rest } = details
  const code = known ?? (violations ? 'INVALID_PARAMS' : 'INTERNAL_ERROR')
  const facts = { ...metadata, ...rest, ...(known === undefined && { peerCode, ...peerData(details, data) }) }
  const text = typeof message === 'string' && message !== '' ? message : `The agent failed with ${peerCode}`
  return new A2AError(code, text.length > maxMessageLength ? `${text.slice(0, maxMessageLength)}…` : text, {
    ...(violations && { violations }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...((metadata || Object.keys(facts).length > 0) && { metadata: facts }),
  })
}

/** Keeps data in an unknown form. */
function peerData({ metadata, rest, violations }: PeerErrorDetails, data: unknown): { readonly peerData?: string } {
  if (metadata || violations || Object.keys(rest).length > 0 || data === undefined || data === null) return {}
  try {
    return { peerData: clip(JSON.stringify(data)) }
  } catch {
    return {} // nested too deeply to serialise
  }
}

export interface PeerErrorDetails extends ErrorDetails {
  readonly code?: ErrorCode
  /** An unknown reason, or data in an unknown form: kept for the caller (RM-ERR-4). */
  readonly rest: { readonly [key: string]: string }
}

type Texts = Record<string, string>

const maxEntries = 50
const maxViolations = 20

const codes: ReadonlySet<string> = new Set(errorCodes)

/** Names of the same errors in other versions and SDKs. */
const otherNames: ReadonlyMap<string, ErrorCode> = new Map([
  ['AUTHENTICATED_EXTENDED_CARD_NOT_CONFIGURED', 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
  ['EXTENDED_CARD_NOT_CONFIGURED', 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
  ['JSON_PARSE', 'PARSE_ERROR'],
  ['JSONPARSE', 'PARSE_ERROR'],
  ['INTERNAL', 'INTERNAL_ERROR'],
  ['UNAUTHORIZED', 'PERMISSION_DENIED'],
])

/** The code for `TASK_NOT_FOUND`, `task-not-found` or `TaskNotFound`, each with or without the suffix `Error`. */
export function codeNamed(name: unknown): ErrorCode | undefined {
  if (typeof name !== 'string' || name.length > 80) return undefined
  const text = name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toUpperCase()
  return codeOf(text) ?? codeOf(text.replace(/_?ERROR$/, ''))
}

function codeOf(text: string): ErrorCode | undefined {
  return codes.has(text) ? (text as ErrorCode) : otherNames.get(text)
}

function readErrorDetails(data: unknown): PeerErrorDetails {
  const details: { -readonly [K in keyof PeerErrorDetails]: PeerErrorDetails[K] } = { rest: {} }
  if (Array.isArray(data)) {
    for (const each of data.slice(0, maxEntries)) if (isObject(each)) addDetail(each, details)
  } else if (isObject(data)) {
    // `{"taskId": "x"}`: metadata without a wrapper.
    if (!addDetail(data, details)) details.metadata = textsIn(data)
  } else if (typeof data === 'string' && data !== '') {
    details.rest = { peerData: clip(data) }
  }
  return details
}

/** Every kind of detail has members that no other has, so its type is not needed. */
function addDetail(
  detail: Record<string, unknown>,
  details: { -readonly [K in keyof PeerErrorDetails]: PeerErrorDetails[K] },
): boolean {
  const { reason, metadata } = detail
  const violations = readViolations(detail.fieldViolations ?? detail.field_violations)
  const delay = readSeconds(detail.retryAfterSeconds ?? detail.retryDelay ?? detail.retry_delay)
  if (violations) details.violations = violations
  if (delay !== undefined) details.retryAfterSeconds = delay
  if (typeof reason === 'string' && reason !== '') {
    const code = codeNamed(reason)
    if (code) details.code ??= code
    else details.rest = { ...details.rest, peerReason: clip(reason) }
    if (isObject(metadata) && Object.keys(metadata).length > 0) details.metadata = textsIn(metadata)
    return true
  }
  return violations !== undefined || delay !== undefined
}

/** Numbers and flags become text (R-ERR-2); nested values are dropped. */
function textsIn(value: Record<string, unknown>): Texts {
  const texts: Texts = {}
  for (const [key, each] of Object.entries(value).slice(0, maxEntries)) {
    const isText = typeof each === 'string' || typeof each === 'number' || typeof each === 'boolean'
    if (isText && key !== '__proto__') texts[key] = String(each)
  }
  return texts
}

function readViolations(value: unknown): readonly FieldViolation[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.slice(0, maxViolations).flatMap((each: unknown) => {
    if (!isObject(each)) return []
    const field = typeof each.field === 'string' ? clip(each.field) : fieldAt(each.loc)
    const description = each.description ?? each.msg
    return [{ field, description: typeof description === 'string' ? clip(description) : 'is not valid' }]
  })
}

/** FastAPI's `["body", "message", "parts", 0]` as `message.parts[0]`. */
function fieldAt(location: unknown): string {
  if (!Array.isArray(location)) return ''
  const steps = location.slice(location[0] === 'body' ? 1 : 0, 20) as unknown[]
  const path = steps.reduce<string>(
    (before, step) => before + (typeof step === 'number' ? `[${step}]` : `${before && '.'}${String(step)}`),
    '',
  )
  return clip(path)
}

/** Seconds as a number, as ProtoJSON's `1.5s`, or as the two fields of a duration. */
function readSeconds(value: unknown): number | undefined {
  const seconds = isObject(value)
    ? Number(value.seconds ?? 0) + Number(value.nanos ?? 0) / 1e9
    : typeof value === 'string' && /^\d{1,9}(\.\d{1,9})?s$/.test(value)
      ? Number(value.slice(0, -1))
      : value
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}
