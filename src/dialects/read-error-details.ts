/** What an error of a peer says beside its code and message: v1.0's array of details, 0.x's one object, or anything. */
import { clip, type ErrorCode, type ErrorDetails, errorCodes, type FieldViolation } from '../model/errors.js'
import { isObject } from '../model/is-object.js'

export interface ToldDetails extends ErrorDetails {
  readonly code?: ErrorCode
  /** A reason that is none of ours, or data in no known form: kept for the caller (RM-ERR-4). */
  readonly rest: { readonly [key: string]: string }
}

type Texts = Record<string, string>

const mostEntries = 50
const mostViolations = 20

const codes: ReadonlySet<string> = new Set(errorCodes)

/** Names that other versions and SDKs have for the same. */
const otherNames: ReadonlyMap<string, ErrorCode> = new Map([
  ['AUTHENTICATED_EXTENDED_CARD_NOT_CONFIGURED', 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
  ['EXTENDED_CARD_NOT_CONFIGURED', 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
  ['JSON_PARSE', 'PARSE_ERROR'],
  ['JSONPARSE', 'PARSE_ERROR'],
  ['INTERNAL', 'INTERNAL_ERROR'],
  ['UNAUTHORIZED', 'PERMISSION_DENIED'],
])

/** The code that `TASK_NOT_FOUND`, `task-not-found`, `TaskNotFound` and each of them with `Error` behind it name. */
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

export function readErrorDetails(data: unknown): ToldDetails {
  const told: { -readonly [K in keyof ToldDetails]: ToldDetails[K] } = { rest: {} }
  if (Array.isArray(data)) {
    for (const each of data.slice(0, mostEntries)) if (isObject(each)) addDetail(each, told)
  } else if (isObject(data)) {
    // `{"taskId": "x"}`: facts about the error without words around them.
    if (!addDetail(data, told)) told.metadata = textsIn(data)
  } else if (typeof data === 'string' && data !== '') {
    told.rest = { peerData: clip(data) }
  }
  return told
}

/** Each detail has members that no other one has, so that its type need not be known. */
function addDetail(
  detail: Record<string, unknown>,
  told: { -readonly [K in keyof ToldDetails]: ToldDetails[K] },
): boolean {
  const { reason, metadata } = detail
  const violations = readViolations(detail.fieldViolations ?? detail.field_violations)
  const delay = readSeconds(detail.retryAfterSeconds ?? detail.retryDelay ?? detail.retry_delay)
  if (violations) told.violations = violations
  if (delay !== undefined) told.retryAfterSeconds = delay
  if (typeof reason === 'string' && reason !== '') {
    const code = codeNamed(reason)
    if (code) told.code ??= code
    else told.rest = { ...told.rest, peerReason: clip(reason) }
    if (isObject(metadata) && Object.keys(metadata).length > 0) told.metadata = textsIn(metadata)
    return true
  }
  return violations !== undefined || delay !== undefined
}

/** Numbers and flags are told as text (R-ERR-2); what is deeper is left out. */
function textsIn(value: Record<string, unknown>): Texts {
  const texts: Texts = {}
  for (const [key, each] of Object.entries(value).slice(0, mostEntries)) {
    const isText = typeof each === 'string' || typeof each === 'number' || typeof each === 'boolean'
    if (isText && key !== '__proto__') texts[key] = String(each)
  }
  return texts
}

export function readViolations(value: unknown): readonly FieldViolation[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.slice(0, mostViolations).flatMap((each: unknown) => {
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
