/**
 * Checks that apply to every response of a server: it is well-formed for its binding, its code belongs to its reason,
 * it is no 500, and it reveals no internals of the server.
 */
import assert from 'node:assert/strict'

export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

/** A parsed response of either binding. Streams have `events`; a failed call has `error`. */
export interface Outcome extends Answer {
  readonly id?: unknown
  readonly result?: unknown
  readonly events: readonly SseEvent[]
  readonly error?: OutcomeError
}

export interface OutcomeError {
  readonly code: number
  readonly message: string
  readonly reason: string
  /** Paths of the invalid fields (R-ERR-3). */
  readonly fields: readonly string[]
}

export interface SseEvent {
  readonly id?: number
  readonly data: Record<string, unknown>
}

/** Section 5 of the protocol reference: reason → JSON-RPC code and HTTP status. */
const errorCodes: Readonly<Record<string, readonly [code: number, http: number]>> = {
  TASK_NOT_FOUND: [-32001, 404],
  TASK_NOT_CANCELABLE: [-32002, 400],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400],
  UNSUPPORTED_OPERATION: [-32004, 400],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400],
  INVALID_AGENT_RESPONSE: [-32006, 500],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: [-32007, 400],
  EXTENSION_SUPPORT_REQUIRED: [-32008, 400],
  VERSION_NOT_SUPPORTED: [-32009, 400],
  PARSE_ERROR: [-32700, 400],
  INVALID_REQUEST: [-32600, 400],
  METHOD_NOT_FOUND: [-32601, 404],
  INVALID_PARAMS: [-32602, 400],
  INTERNAL_ERROR: [-32603, 500],
  UNAUTHENTICATED: [-32000, 401],
  PAYLOAD_TOO_LARGE: [-32600, 413],
  UNAVAILABLE: [-32603, 503],
}

/** Errors that keep their HTTP status over JSON-RPC; all others have status 200 (R-ERR-12). */
const withStatus: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'PAYLOAD_TOO_LARGE', 'UNAVAILABLE'])

/** Patterns of internals: stack frames, exception texts, modules, files, the database. */
const traces: readonly RegExp[] = [
  /\bat (?:async )?[\w.<>[\] ]+ ?\(/,
  /\.[cm]?[jt]s:\d+/,
  /node:internal|node_modules|file:\/\//,
  /\b(?:Type|Range|Syntax|Reference|Eval|URI|Aggregate)Error\b|\bDOMException\b|\bAbortError\b/,
  /Maximum call stack|Invalid string length|Unexpected (?:token|end|identifier|non-whitespace)|in JSON at position/i,
  /Cannot (?:read|set|convert|destructure)|is not (?:a function|iterable|defined|a constructor)|\bcircular structure\b/,
  /SQLITE_|\blibsql\b|\bE(?:NOENT|ACCES|CONNRESET|PIPE|ISDIR)\b/,
  new RegExp(process.cwd().replace(/[^\w/]/g, '\\$&')),
]

/** Fails if the text contains internals of the server that the request did not contain. */
export function assertNoTraces(text: string, sent = ''): void {
  for (const trace of traces) {
    const [found] = trace.exec(text) ?? []
    if (found !== undefined && !sent.includes(found))
      assert.fail(`An answer shows ${JSON.stringify(found)}: ${start(text)}`)
  }
}

export interface CheckOptions {
  /** The request. Its words may be in the response. */
  readonly sent?: string
  /** Allows `INTERNAL_ERROR`, for servers with a broken dependency. */
  readonly mayBeInternal?: boolean
}

/** Checks a JSON-RPC response: HTTP 200 (or 413 and similar for framing) with one envelope or a stream of envelopes. */
export function readRpc(answer: Answer, options: CheckOptions = {}): Outcome {
  assertNoTraces(answer.text, options.sent)
  if (answer.contentType === 'text/event-stream') {
    assert.equal(answer.status, 200)
    const frames = parseSse(answer.text)
    for (const { data } of frames) assertEnvelope(data, answer.text)
    const failed = frames.find(({ data }) => 'error' in data)
    const error = failed && readError(failed.data.error, ['code', 'message', 'data'], 'data', options)
    if (error) assert.equal(error.code, errorCodes[error.reason]?.[0], `code of ${error.reason}`)
    const events = frames.flatMap((frame) =>
      'result' in frame.data ? [{ ...frame, data: frame.data.result as SseEvent['data'] }] : [],
    )
    return { ...answer, id: frames[0]?.data.id, events, ...(error && { error }) }
  }
  assert.equal(answer.contentType, 'application/json', start(answer.text))
  const body = parse(answer.text)
  assertEnvelope(body, answer.text)
  if ('result' in body) {
    assert.equal(answer.status, 200)
    return { ...answer, id: body.id, result: body.result, events: [] }
  }
  const error = readError(body.error, ['code', 'message', 'data'], 'data', options)
  const [code, http] = errorCodes[error.reason] ?? assert.fail(`unknown reason ${error.reason}`)
  assert.equal(error.code, code, `code of ${error.reason}`)
  assert.equal(answer.status, withStatus.has(error.reason) ? http : 200, `status of ${error.reason}`)
  return { ...answer, id: body.id, events: [], error }
}

/** Checks an HTTP+JSON response: 2xx with JSON or a stream, else a `google.rpc.Status` with the same code (R-ERR-5). */
export function readRest(answer: Answer, options: CheckOptions = {}): Outcome {
  assertNoTraces(answer.text, options.sent)
  if (answer.contentType === 'text/event-stream') {
    assert.equal(answer.status, 200)
    const frames = parseSse(answer.text)
    const failed = frames.find(({ data }) => 'error' in data)
    const error = failed && readError(failed.data.error, ['code', 'status', 'message', 'details'], 'details', options)
    return { ...answer, events: frames.filter((frame) => frame !== failed), ...(error && { error }) }
  }
  assert.match(answer.contentType, /^application\/(a2a\+)?json$/, start(answer.text))
  const body = parse(answer.text)
  if (answer.status >= 200 && answer.status < 300) {
    assert.ok(!('error' in body), `an error with status ${answer.status}: ${start(answer.text)}`)
    return { ...answer, result: body, events: [] }
  }
  const error = readError(body.error, ['code', 'status', 'message', 'details'], 'details', options)
  const [, http] = errorCodes[error.reason] ?? assert.fail(`unknown reason ${error.reason}`)
  assert.equal(error.code, answer.status, 'code of the body is the status')
  assert.equal(answer.status, http, `status of ${error.reason}`)
  return { ...answer, events: [], error }
}

function assertEnvelope(body: Record<string, unknown>, text: string): void {
  assert.equal(body.jsonrpc, '2.0', start(text))
  assert.ok('id' in body, `no id: ${start(text)}`)
  assert.notEqual('result' in body, 'error' in body, `needs either result or error: ${start(text)}`)
}

function readError(
  value: unknown,
  members: readonly string[],
  details: string,
  { mayBeInternal = false }: CheckOptions,
): OutcomeError {
  assert.ok(typeof value === 'object' && value !== null, 'error is an object')
  const error = value as Record<string, unknown>
  assert.deepEqual(Object.keys(error).sort(), [...members].sort(), 'members of the error')
  assert.ok(Number.isInteger(error.code) && typeof error.message === 'string' && error.message !== '')
  const given = error[details] as readonly Record<string, unknown>[]
  assert.ok(Array.isArray(given) && given.every((each) => typeof each['@type'] === 'string'), 'details have types')
  const info = given.find((each) => each['@type'] === 'type.googleapis.com/google.rpc.ErrorInfo')
  const bad = given.find((each) => each['@type'] === 'type.googleapis.com/google.rpc.BadRequest')
  const reason = String(info?.reason)
  assert.equal(info?.domain, 'a2a-protocol.org')
  if (!mayBeInternal)
    assert.ok(reason !== 'INTERNAL_ERROR' && reason !== 'UNAVAILABLE', `the server failed: ${JSON.stringify(error)}`)
  const violations = (bad?.fieldViolations ?? []) as readonly { readonly field: string }[]
  return {
    code: error.code as number,
    message: error.message as string,
    reason,
    fields: violations.map(({ field }) => field),
  }
}

/** Parses SSE as the server documents it: `id:` first, one `data:` line with one space, comments between events. */
export function parseSse(text: string): readonly SseEvent[] {
  const blocks = text.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'))
  return blocks.map((block) => {
    const [, id, json] =
      /^(?:id: (\d+)\n)?data: (\S[^\n\r]*)$/.exec(block) ?? assert.fail(`not an event: ${start(block)}`)
    const data = parse(json ?? '')
    return id === undefined ? { data } : { id: Number(id), data }
  })
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  } catch {
    return assert.fail(`not a JSON object: ${start(text)}`)
  }
}

function start(text: string): string {
  return JSON.stringify(text.slice(0, 400))
}
