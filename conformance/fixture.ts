/**
 * A server without a port, and a client for each binding that is independent of the library: routes, error
 * codes and envelopes are literals, so that every test also checks them.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Message, StreamResponse, Task, TaskState } from 'dragoman'
import type { FieldViolation } from 'dragoman/model'
import { type Agents, createHandler, type FetchHandler, type HandlerOptions } from 'dragoman/server'
import { createParser } from 'eventsource-parser'

export type Json = Record<string, unknown>
/** A header set to `undefined` is not sent, not even its default. */
export type HeaderList = Readonly<Record<string, string | undefined>>

export const bindings = ['JSON-RPC', 'HTTP+JSON'] as const
export type Binding = (typeof bindings)[number]

/** JSON-RPC number, HTTP status and gRPC name of every error (v1.0.1). */
export const spellings: Readonly<Record<string, readonly [number, number, string]>> = {
  TASK_NOT_FOUND: [-32001, 404, 'NOT_FOUND'],
  TASK_NOT_CANCELABLE: [-32002, 400, 'FAILED_PRECONDITION'],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400, 'FAILED_PRECONDITION'],
  UNSUPPORTED_OPERATION: [-32004, 400, 'FAILED_PRECONDITION'],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400, 'INVALID_ARGUMENT'],
  INVALID_AGENT_RESPONSE: [-32006, 500, 'INTERNAL'],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: [-32007, 400, 'FAILED_PRECONDITION'],
  EXTENSION_SUPPORT_REQUIRED: [-32008, 400, 'FAILED_PRECONDITION'],
  VERSION_NOT_SUPPORTED: [-32009, 400, 'FAILED_PRECONDITION'],
  PARSE_ERROR: [-32700, 400, 'INVALID_ARGUMENT'],
  INVALID_REQUEST: [-32600, 400, 'INVALID_ARGUMENT'],
  METHOD_NOT_FOUND: [-32601, 404, 'UNIMPLEMENTED'],
  INVALID_PARAMS: [-32602, 400, 'INVALID_ARGUMENT'],
  INTERNAL_ERROR: [-32603, 500, 'INTERNAL'],
  UNAUTHENTICATED: [-32000, 401, 'UNAUTHENTICATED'],
  PERMISSION_DENIED: [-32000, 403, 'PERMISSION_DENIED'],
  RATE_LIMITED: [-32000, 429, 'RESOURCE_EXHAUSTED'],
  PAYLOAD_TOO_LARGE: [-32600, 413, 'RESOURCE_EXHAUSTED'],
  UNAVAILABLE: [-32603, 503, 'UNAVAILABLE'],
}

/** Errors that keep their HTTP status on JSON-RPC. */
const keepsStatus = ['UNAUTHENTICATED', 'PERMISSION_DENIED', 'RATE_LIMITED', 'PAYLOAD_TOO_LARGE', 'UNAVAILABLE']

/** Verb and path of each operation; members in braces leave the request for the path. */
const routes = {
  SendMessage: ['POST', '/message:send'],
  SendStreamingMessage: ['POST', '/message:stream'],
  GetTask: ['GET', '/tasks/{id}'],
  ListTasks: ['GET', '/tasks'],
  CancelTask: ['POST', '/tasks/{id}:cancel'],
  SubscribeToTask: ['POST', '/tasks/{id}:subscribe'],
  CreateTaskPushNotificationConfig: ['POST', '/tasks/{taskId}/pushNotificationConfigs'],
  GetTaskPushNotificationConfig: ['GET', '/tasks/{taskId}/pushNotificationConfigs/{id}'],
  ListTaskPushNotificationConfigs: ['GET', '/tasks/{taskId}/pushNotificationConfigs'],
  DeleteTaskPushNotificationConfig: ['DELETE', '/tasks/{taskId}/pushNotificationConfigs/{id}'],
  GetExtendedAgentCard: ['GET', '/extendedAgentCard'],
} as const

export type OperationName = keyof typeof routes
export const operationNames = Object.keys(routes) as OperationName[]

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

/** An error answer, the same on every binding. */
export interface Refusal {
  readonly reason: string
  readonly message: string
  readonly metadata: Readonly<Record<string, string>>
  readonly violations: readonly FieldViolation[]
}

export interface TestServer extends AsyncDisposable {
  readonly handler: FetchHandler
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Sends a request with default headers and returns the unread response. */
  request(method: string, path: string, body?: unknown, headers?: HeaderList): Promise<Response>
  rpc(method: string, params?: unknown, headers?: HeaderList): Promise<Answer>
  rest(method: string, path: string, body?: unknown, headers?: HeaderList): Promise<Answer>
  stream(method: string, path: string, body?: unknown, headers?: HeaderList): Promise<EventStream>
  over(binding: Binding, headers?: HeaderList): Client
}

/** Handlers that ignore their signal hold a test up for this long, not for five seconds. */
const cancelGraceMs = 100

export async function testServer(agents: Agents, options: HandlerOptions = {}): Promise<TestServer> {
  const handler = await createHandler(agents, {
    ...options,
    // No test depends on name resolution.
    push: { lookup: async () => [], ...options.push },
    advanced: { ...options.advanced, engine: { cancelGraceMs, ...options.advanced?.engine } },
  })
  const fetch = (path: string, init?: RequestInit) => handler.fetch(new Request(`http://localhost${path}`, init))
  const request = (method: string, path: string, body?: unknown, headers: HeaderList = {}) =>
    fetch(path, { method, headers: headerList(headers), ...(body !== undefined && { body: textOfBody(body) }) })
  const server: TestServer = {
    handler,
    fetch,
    request,
    rpc: async (method, params, headers) => readAnswer(await request('POST', '/', envelope(method, params), headers)),
    rest: async (method, path, body, headers) => readAnswer(await request(method, path, body, headers)),
    stream: async (method, path, body, headers) => new EventStream(await request(method, path, body, headers)),
    over: (binding, headers = {}) => new Client(server, binding, headers),
    [Symbol.asyncDispose]: () => handler.close({ deadlineMs: 0 }),
  }
  return server
}

/** Calls operations over one binding. Results and errors have the same form on every binding. */
export class Client {
  readonly #server: TestServer
  readonly #binding: Binding
  readonly #headers: HeaderList

  constructor(server: TestServer, binding: Binding, headers: HeaderList) {
    this.#server = server
    this.#binding = binding
    this.#headers = headers
  }

  /** The result of a call that has to succeed. */
  async call<Result = Json>(operation: OperationName, params: object = {}, headers: HeaderList = {}): Promise<Result> {
    const answer = await this.answer(operation, params, headers)
    assert.equal(answer.status, 200, `${operation} was refused: ${JSON.stringify(answer.body)}`)
    if (this.#binding === 'HTTP+JSON') return answer.body as Result
    assert.deepEqual(
      Object.keys(answer.body),
      ['jsonrpc', 'id', 'result'],
      `${operation} was refused: ${JSON.stringify(answer.body)}`,
    )
    return answer.body.result as Result
  }

  /** The error of a call that has to fail. */
  async refusal(operation: OperationName, params: object = {}, headers: HeaderList = {}): Promise<Refusal> {
    return readRefusal(await this.answer(operation, params, headers))
  }

  async stream(
    operation: 'SendStreamingMessage' | 'SubscribeToTask',
    params: object,
    headers: HeaderList = {},
  ): Promise<EventStream> {
    return new EventStream(await this.response(operation, params, headers))
  }

  /** The answer as it is on the wire. */
  async answer(operation: OperationName, params: object = {}, headers: HeaderList = {}): Promise<Answer> {
    return await readAnswer(await this.response(operation, params, headers))
  }

  /** The same, not yet read. */
  async response(operation: OperationName, params: object = {}, headers: HeaderList = {}): Promise<Response> {
    const { method, path, body } = this.#spell(operation, params)
    return await this.#server.request(method, path, body, { ...this.#headers, ...headers })
  }

  /** Sends a message and answers the task that came of it. */
  async send(content: string | Json, more: Json = {}, headers: HeaderList = {}): Promise<Task> {
    const result = await this.call<{ task?: Task }>('SendMessage', { message: userMessage(content), ...more }, headers)
    assert.ok(result.task, `Expected a task: ${JSON.stringify(result)}`)
    return result.task
  }

  async task(id: string): Promise<Task> {
    return await this.call<Task>('GetTask', { id })
  }

  async state(id: string): Promise<TaskState> {
    return (await this.task(id)).status.state
  }

  #spell(operation: OperationName, params: object) {
    if (this.#binding === 'JSON-RPC') return { method: 'POST', path: '/', body: envelope(operation, params) }
    const [method, template] = routes[operation]
    const rest: Json = { ...params }
    let path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = String(rest[name])
      delete rest[name]
      return encodeURIComponent(value)
    })
    if (method === 'POST') return { method, path, body: rest }
    const query = new URLSearchParams(
      Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
    )
    if (query.size > 0) path += `?${query}`
    return { method, path, body: undefined }
  }
}

/** A message of the user: its text, or its members. */
export function userMessage(content: string | Json): Json {
  const base = { messageId: randomUUID(), role: 'ROLE_USER' }
  return typeof content === 'string'
    ? { ...base, parts: [{ text: content }] }
    : { ...base, parts: [{ text: 'hello' }], ...content }
}

/** Checks the form of a failed response and returns its error. */
export function readRefusal({ status, headers, body }: Answer): Refusal {
  const error = body.error as (Json & { message: string; details?: Json[]; data?: Json[] }) | undefined
  assert.ok(error, `Expected an error: ${status} ${JSON.stringify(body)}`)
  const isRpc = 'jsonrpc' in body
  const details = (isRpc ? error.data : error.details) ?? []
  const info = details.find((detail) => detail['@type'] === 'type.googleapis.com/google.rpc.ErrorInfo')
  const reason = String(info?.reason)
  const [jsonrpc, http, grpc] = spellings[reason] ?? assert.fail(`Unknown reason: ${JSON.stringify(body)}`)
  assert.match(headers.get('content-type') ?? '', /^application\/(a2a\+)?json$/)
  if (isRpc) {
    assert.deepEqual(Object.keys(body), ['jsonrpc', 'id', 'error'])
    assert.deepEqual(Object.keys(error), ['code', 'message', 'data'])
    assert.equal(error.code, jsonrpc)
    assert.equal(status, keepsStatus.includes(reason) ? http : 200)
  } else {
    assert.deepEqual(Object.keys(body), ['error'])
    assert.deepEqual(Object.keys(error), ['code', 'status', 'message', 'details'])
    assert.deepEqual([error.code, error.status, status], [http, grpc, http])
  }
  const request = details.find((detail) => detail['@type'] === 'type.googleapis.com/google.rpc.BadRequest')
  const violations = (request?.fieldViolations ?? []) as FieldViolation[]
  return { reason, message: error.message, metadata: info?.metadata as Record<string, string>, violations }
}

export interface StreamEvent {
  readonly id: string | undefined
  /** The stream response, without the envelope of the binding. */
  readonly data: StreamResponse
  /** The JSON of the event as it came. */
  readonly raw: Json
}

/** Server-sent events, read one by one. */
export class EventStream {
  readonly response: Response
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  readonly #ready: StreamEvent[] = []
  readonly #decoder = new TextDecoder()
  readonly #parser = createParser({
    onEvent: ({ id, data }) => {
      const raw = JSON.parse(data) as Json
      this.#ready.push({ id, raw, data: ('jsonrpc' in raw ? raw.result : raw) as StreamResponse })
    },
    onError: (error) => assert.fail(error.message),
  })

  constructor(response: Response) {
    this.response = response
    this.#reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined
  }

  /** The next event; absent when the stream has ended. */
  async next(): Promise<StreamEvent | undefined> {
    assert.equal(this.response.headers.get('content-type'), 'text/event-stream')
    while (this.#ready.length === 0) {
      const chunk = await this.#reader?.read()
      if (!chunk || chunk.done) return undefined
      this.#parser.feed(this.#decoder.decode(chunk.value, { stream: true }))
    }
    return this.#ready.shift()
  }

  /** Everything up to the end of the stream. */
  async rest(): Promise<StreamEvent[]> {
    return await this.until(() => false)
  }

  /** Everything up to the first event that fits. */
  async until(isLast: (data: StreamResponse) => boolean): Promise<StreamEvent[]> {
    const events: StreamEvent[] = []
    for (let event = await this.next(); event; event = await this.next()) {
      events.push(event)
      if (isLast(event.data)) break
    }
    return events
  }

  /** Leaves before the end. */
  async close(): Promise<void> {
    await this.#reader?.cancel()
  }
}

/** The task that an event carries. */
export function taskIn(event: StreamEvent | undefined): Task {
  assert.ok(event && 'task' in event.data, `Expected a task: ${JSON.stringify(event?.raw)}`)
  return event.data.task
}

/** The events of a stream in short form: `task:WORKING`, `status:COMPLETED`, `artifact:the text`, `message:the text`. */
export function outline(events: readonly StreamEvent[]): string[] {
  return events.map(({ data }) => {
    if ('task' in data) return `task:${short(data.task.status.state)}`
    if ('statusUpdate' in data) return `status:${short(data.statusUpdate.status.state)}`
    if ('artifactUpdate' in data) return `artifact:${textIn(data.artifactUpdate.artifact)}`
    return `message:${textIn(data.message)}`
  })
}

export function isState(state: TaskState): (data: StreamResponse) => boolean {
  return (data) => 'statusUpdate' in data && data.statusUpdate.status.state === state
}

export function textIn({ parts }: Pick<Message, 'parts'>): string {
  return parts.map((part) => ('text' in part ? part.text : '?')).join('')
}

export { type Gate, gate } from 'dragoman/testing'

/** For `expect.poll`: look often, give up before the test does. */
export const soon = { interval: 5, timeout: 3000 } as const

function short(state: TaskState): string {
  return state.replace('TASK_STATE_', '')
}

function envelope(method: string, params: unknown): Json {
  return { jsonrpc: '2.0', id: 1, method, ...(params !== undefined && { params }) }
}

function headerList(given: HeaderList): [string, string][] {
  const headers = new Map<string, [string, string]>()
  for (const [name, value] of Object.entries({ 'A2A-Version': '1.0', 'Content-Type': 'application/json', ...given })) {
    if (value === undefined) headers.delete(name.toLowerCase())
    else headers.set(name.toLowerCase(), [name, value])
  }
  return [...headers.values()]
}

/** Text and bytes go out as they are: for what is not JSON, or not quite. */
function textOfBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body)
}

async function readAnswer(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json }
}
