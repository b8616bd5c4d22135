/**
 * A client for everything before v1.0. It names no version unless a test asks for it; methods, paths and members
 * are typed in by the tests, and the forms of errors are checked against literals here.
 */
import assert from 'node:assert/strict'
import { createParser } from 'eventsource-parser'
import type { Answer, HeaderList, Json, TestServer } from './fixture.js'

/** JSON-RPC's `error` as 0.x dialects have it: details are one object, not v1.0's list (RM-ERR-2); 0.3 has none (R3-ERR-1). */
export interface OldError {
  readonly code: number
  readonly message: string
  readonly data?: {
    readonly reason: string
    readonly domain: string
    readonly metadata: Json
    readonly fieldViolations?: readonly { readonly field: string; readonly description: string }[]
  }
}

export interface SentEvent {
  readonly event: string | undefined
  /** Parsed, unless it is no JSON: `[DONE]`. */
  readonly data: unknown
}

export interface OldTask {
  readonly kind?: string
  readonly id: string
  readonly contextId?: string
  readonly sessionId?: string
  readonly status: { readonly state: string; readonly message?: OldMessage; readonly timestamp?: string }
  readonly artifacts?: readonly { readonly artifactId?: string; readonly parts: readonly Json[] }[]
  readonly history?: readonly OldMessage[]
  readonly metadata?: Json
}

export interface OldMessage extends Json {
  readonly role: string
  readonly parts: readonly Json[]
}

export class OlderClient {
  readonly #server: TestServer
  readonly #headers: HeaderList
  readonly #path: string

  /** `path` is where JSON-RPC goes. */
  constructor(server: TestServer, { path = '/', headers = {} }: { path?: string; headers?: HeaderList } = {}) {
    this.#server = server
    this.#path = path
    this.#headers = { 'A2A-Version': undefined, ...headers }
  }

  /** A request by itself, its answer not yet read. */
  request(method: string, path: string, body?: unknown, headers: HeaderList = {}): Promise<Response> {
    return this.#server.request(method, path, body, { ...this.#headers, ...headers })
  }

  async send(method: string, path: string, body?: unknown, headers: HeaderList = {}): Promise<Answer> {
    const response = await this.request(method, path, body, headers)
    return { status: response.status, headers: response.headers, body: (await response.json()) as Json }
  }

  /** The body of a plain request that has to succeed. */
  async fetch<Body = Json>(method: string, path: string, body?: unknown, headers: HeaderList = {}): Promise<Body> {
    const answer = await this.send(method, path, body, headers)
    assert.equal(answer.status, 200, `${method} ${path} was refused: ${JSON.stringify(answer.body)}`)
    return answer.body as Body
  }

  call(method: string, params?: unknown, headers: HeaderList = {}): Promise<Answer> {
    return this.send('POST', this.#path, rpc(method, params), headers)
  }

  /** The result of a method that has to succeed. */
  async result<Result = Json>(method: string, params?: unknown, headers: HeaderList = {}): Promise<Result> {
    const { status, body } = await this.call(method, params, headers)
    assert.deepEqual(Object.keys(body), ['jsonrpc', 'id', 'result'], `${method} was refused: ${JSON.stringify(body)}`)
    assert.deepEqual([status, body.jsonrpc, body.id], [200, '2.0', 7])
    return body.result as Result
  }

  /** The error of a method that has to fail. */
  async error(method: string, params?: unknown, headers: HeaderList = {}): Promise<OldError> {
    return readOldError(await this.call(method, params, headers))
  }

  /** Every event of a streaming method, without the envelope. */
  async events<Event = Json>(method: string, params?: unknown, headers: HeaderList = {}): Promise<Event[]> {
    const sent = await readEvents(await this.request('POST', this.#path, rpc(method, params), headers))
    return sent.map(({ data }) => {
      const { jsonrpc, id, result } = data as Json
      assert.deepEqual([jsonrpc, id], ['2.0', 7], `Not in its envelope: ${JSON.stringify(data)}`)
      return result as Event
    })
  }
}

export function rpc(method: string, params?: unknown, id: unknown = 7): Json {
  return { jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) }
}

/** Checks the 0.x form of a failed JSON-RPC response and returns its error. */
export function readOldError({ status, headers, body }: Answer, httpStatus = 200): OldError {
  assert.deepEqual(Object.keys(body), ['jsonrpc', 'id', 'error'], JSON.stringify(body))
  const error = body.error as OldError
  assert.deepEqual([status, headers.get('content-type')], [httpStatus, 'application/json'], JSON.stringify(error))
  return checkOldError(error)
}

export function checkOldError(error: OldError): OldError {
  const { data, ...others } = error
  assert.deepEqual(Object.keys(others), ['code', 'message'])
  assert.ok(Number.isInteger(error.code) && error.message !== '', JSON.stringify(error))
  if (data) {
    assert.equal(Array.isArray(data), false, '`data` is v1.0’s')
    assert.equal(data.domain, 'a2a-protocol.org')
    assert.match(data.reason, /^[A-Z_]+$/)
  }
  return error
}

/** The body of a refusal over 0.3's HTTP+JSON: the bare error and what other SDKs read beside it (R3-ERR-4). */
export function checkRestError(body: Json, status: number): OldError {
  const { type, error, ...bare } = body as Json & { error: { code: number; message: string; details: Json[] } }
  const { data } = bare as unknown as OldError
  assert.deepEqual([error.code, error.message], [status, bare.message])
  assert.deepEqual(error.details[0], {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: data?.reason,
    domain: 'a2a-protocol.org',
    metadata: data?.metadata,
  })
  assert.equal(type, classNames[String(data?.reason)])
  return checkOldError(bare as unknown as OldError)
}

/** Some of the official SDKs' error classes; of errors that 0.3 does not know there are none. */
const classNames: Readonly<Record<string, string>> = {
  TASK_NOT_FOUND: 'TaskNotFoundError',
  TASK_NOT_CANCELABLE: 'TaskNotCancelableError',
  UNSUPPORTED_OPERATION: 'UnsupportedOperationError',
  CONTENT_TYPE_NOT_SUPPORTED: 'ContentTypeNotSupportedError',
  PARSE_ERROR: 'JSONParseError',
  INVALID_PARAMS: 'InvalidParamsError',
  VERSION_NOT_SUPPORTED: 'VersionNotSupportedError',
  INTERNAL_ERROR: 'InternalError',
}

/** Server-sent events to their end. */
export async function readEvents(response: Response): Promise<SentEvent[]> {
  const text = await response.text()
  assert.equal(response.headers.get('content-type'), 'text/event-stream', text)
  assert.equal(response.status, 200)
  const events: SentEvent[] = []
  const parser = createParser({
    onEvent: ({ event, data }) =>
      events.push({ event, data: data.startsWith('{') ? (JSON.parse(data) as Json) : data }),
    onError: (error) => assert.fail(error.message),
  })
  parser.feed(text)
  return events
}

/** A message of 0.3: its text, or its members. */
export function message03(content: string | Json): Json {
  const base = { kind: 'message', messageId: crypto.randomUUID(), role: 'user' }
  return typeof content === 'string'
    ? { ...base, parts: [{ kind: 'text', text: content }] }
    : { ...base, parts: [{ kind: 'text', text: 'hello' }], ...content }
}

/** The same in its protobuf’s JSON. */
export function protoMessage(content: string | Json): Json {
  const base = { messageId: crypto.randomUUID(), role: 'ROLE_USER' }
  return typeof content === 'string'
    ? { ...base, content: [{ text: content }] }
    : { ...base, content: [{ text: 'hello' }], ...content }
}

/** A send of 0.1 with a task id chosen by the caller. */
export function params01(id: string, text: string, more: Json = {}): Json {
  return { id, message: { role: 'user', parts: [{ type: 'text', text }] }, ...more }
}

/** A send of task-rest. */
export function body01(text: string, more: Json = {}): Json {
  return { message: { role: 'user', parts: [{ type: 'text', text }], ...more } }
}

/** All text of all artifacts. */
export function textOfTask({ artifacts = [] }: OldTask): string {
  return artifacts.flatMap(({ parts }) => parts.map(({ text }) => text ?? '?')).join('')
}
