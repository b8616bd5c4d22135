/** The forms of a dialect with both sides, for the suite: requests and responses pass as JSON, without a transport. */
import assert from 'node:assert/strict'
import type { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { Operation } from '../model/operations.js'
import type { TaskPushNotificationConfig } from '../model/push-config.js'
import type { Task } from '../model/task.js'
import type { ClientDialect, IncomingFrame, RequestCodec, RestRequestCodec, StreamDecoder } from './client-dialect.js'
import type { Dialect, DialectFacts, GrpcCodec, OperationCodec, StreamEncoder } from './dialect.js'
import { createRouter, type Match } from './rest-route.js'

/** Both sides of a dialect. */
export interface DialectSides {
  readonly server: Dialect
  readonly client: ClientDialect
}

export const text = 'The sum is 42'
const message = { messageId: 'm1', contextId: 'c1', role: 'ROLE_USER' as const, parts: [{ text: 'Add 40 and 2' }] }
export const about = { taskId: 't1', contextId: 'c1' }
export const artifact = { artifactId: 'sum', parts: [{ text }] }
export const task: Task = {
  id: 't1',
  contextId: 'c1',
  status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-01-02T03:04:05.000Z' },
  artifacts: [artifact],
}
export const config: TaskPushNotificationConfig = { id: 't1', taskId: 't1', url: 'https://hooks.example/1' }

/** Requests of each operation. */
export const requests: Readonly<Record<Operation, object>> = {
  sendMessage: { message },
  sendStreamingMessage: { message },
  getTask: { id: 't1' },
  listTasks: {},
  cancelTask: { id: 't1' },
  subscribeToTask: { id: 't1' },
  createTaskPushNotificationConfig: config,
  getTaskPushNotificationConfig: { taskId: 't1', id: 't1' },
  listTaskPushNotificationConfigs: { taskId: 't1' },
  deleteTaskPushNotificationConfig: { taskId: 't1', id: 't1' },
  getExtendedAgentCard: {},
}

/** One form of a dialect, from both sides. */
export interface FormSides {
  readonly name: string
  readonly facts: DialectFacts
  /** Operations of the client. */
  readonly operations: readonly Operation[]
  /** The request as the server decodes it. */
  ask(operation: Operation, request: unknown): unknown
  /** The result as the client decodes it. */
  answer(operation: Operation, result: unknown, request: unknown): unknown
  /** The server's decoder of the operation's parameters, as they are on the wire. */
  decode(operation: Operation, params: unknown): unknown
  /** The client's decoder of the operation's response, as it is on the wire. */
  read(operation: Operation, response: unknown): unknown
  follow(operation: Operation): {
    send(event: StreamResponse): readonly IncomingFrame[]
    end(): readonly IncomingFrame[]
    readonly decoder: StreamDecoder
  }
  /** The error as the client decodes it, and its text on the wire. */
  fail(error: A2AError): { readonly decoded: A2AError; readonly wire: string }
}

export function formsOf({ server, client }: DialectSides): readonly FormSides[] {
  return [
    ...(server.jsonrpc && client.jsonrpc ? [jsonRpcSides(server, server.jsonrpc, client.jsonrpc)] : []),
    ...(server.rest && client.rest ? [restSides(server, server.rest, client.rest)] : []),
    ...(server.grpc && client.grpc ? [grpcSides(server, server.grpc, client.grpc)] : []),
  ]
}

function jsonRpcSides(
  facts: DialectFacts,
  server: NonNullable<Dialect['jsonrpc']>,
  client: NonNullable<ClientDialect['jsonrpc']>,
): FormSides {
  const codec = (operation: Operation) => present<RequestCodec>(client.operations[operation], operation)
  const send = (operation: Operation, request: unknown) => onWire(codec(operation).encode(request, callFacts()))
  const serverCodec = (operation: Operation, params: unknown) => {
    const named = present(server.methods.get(client.methods[operation] ?? ''), `method of ${operation}`)
    const meant = server.operations[named]?.instead?.(params) ?? named
    assert.equal(meant, operation, `the server takes the method for ${meant}`)
    return present(server.operations[operation], operation)
  }
  return {
    name: 'JSON-RPC',
    facts,
    operations: Object.keys(client.operations) as Operation[],
    ask: (operation, request) => {
      const params = send(operation, request)
      return serverCodec(operation, params).decode(params, callFacts())
    },
    answer: (operation, result, request) =>
      answered(serverCodec, codec(operation), operation, result, request, send(operation, request)),
    decode: (operation, params) => present(server.operations[operation], operation).decode(params, callFacts()),
    read: (operation, response) => codec(operation).decode(response, requests[operation], callFacts()),
    follow(operation) {
      const params = send(operation, requests[operation])
      return followed(
        server.createStreamEncoder({ operation, params, newId, facts: callFacts() }),
        client.createStreamDecoder({ operation, request: requests[operation], sent: params, facts: callFacts() }),
      )
    },
    fail(error) {
      const wire = server.encodeError(error)
      return {
        decoded: client.decodeError(onWire(wire) as typeof wire, server.httpStatus(error)),
        wire: JSON.stringify(wire),
      }
    },
  }
}

function restSides(
  facts: DialectFacts,
  server: NonNullable<Dialect['rest']>,
  client: NonNullable<ClientDialect['rest']>,
): FormSides {
  const route = createRouter(server.routes)
  const codec = (operation: Operation) => present<RestRequestCodec>(client.operations[operation], operation)
  const send = (operation: Operation, request: unknown) => {
    const { method, path, query, body } = codec(operation).encode(request, callFacts())
    const match = present(route(method, path), `route for ${method} ${path}`)
    const sent = (onWire(body ?? query ?? {}) ?? {}) as object
    return { match, body: onWire(body), params: { ...sent, ...match.pathParams } }
  }
  const serverCodec = (operation: Operation, match: Match, params: unknown) => {
    const named = codecOf(server, match)
    const meant = named?.instead?.(params) ?? match.route.operation
    assert.equal(meant, operation, `the server takes the route for ${meant}`)
    return present(meant === match.route.operation ? named : server.operations[operation], operation)
  }
  return {
    name: 'HTTP+JSON',
    facts,
    operations: Object.keys(client.operations) as Operation[],
    ask(operation, request) {
      const { match, params } = send(operation, request)
      return serverCodec(operation, match, params).decode(params, callFacts())
    },
    answer(operation, result, request) {
      const { match, params } = send(operation, request)
      return answered((name) => serverCodec(name, match, params), codec(operation), operation, result, request, params)
    },
    decode: (operation, params) => present(server.operations[operation], operation).decode(params, callFacts()),
    read: (operation, response) => codec(operation).decode(response, requests[operation], callFacts()),
    follow(operation) {
      const { params, body } = send(operation, requests[operation])
      return followed(
        server.createStreamEncoder({ operation, params, newId, facts: callFacts() }),
        client.createStreamDecoder({ operation, request: requests[operation], sent: body, facts: callFacts() }),
      )
    },
    fail(error) {
      const { status, body } = server.encodeError(error)
      assert.ok(status >= 400 && status < 600, `${error.code} has status ${status}`)
      return { decoded: client.decodeError(status, onWire(body)), wire: JSON.stringify(body) }
    },
  }
}

/** Messages pass as plain objects: the transport converts them to bytes. */
function grpcSides(
  facts: DialectFacts,
  server: NonNullable<Dialect['grpc']>,
  client: NonNullable<ClientDialect['grpc']>,
): FormSides {
  const codec = (operation: Operation) => present<RequestCodec>(client.operations[operation], operation)
  const send = (operation: Operation, request: unknown) => onWire(codec(operation).encode(request, callFacts()))
  const serverCodec = (operation: Operation) => {
    assert.equal(server.service, client.service)
    assert.equal(server.rpcs.get(client.rpcs[operation] ?? ''), operation)
    return present<GrpcCodec>(server.operations[operation], operation)
  }
  return {
    name: 'gRPC',
    facts,
    operations: Object.keys(client.operations) as Operation[],
    ask: (operation, request) => serverCodec(operation).decode(send(operation, request), callFacts()),
    answer(operation, result, request) {
      const message = serverCodec(operation).encode(result, send(operation, request), callFacts())
      return codec(operation).decode(onWire(message), request, callFacts())
    },
    decode: (operation, params) => serverCodec(operation).decode(params, callFacts()),
    read: (operation, response) => codec(operation).decode(response, requests[operation], callFacts()),
    follow(operation) {
      const params = send(operation, requests[operation])
      const encode = server.createStreamEncoder({ operation, params, newId, facts: callFacts() })
      const decoder = client.createStreamDecoder({
        operation,
        request: requests[operation],
        sent: params,
        facts: callFacts(),
      })
      return { decoder, send: (event) => [{ data: onWire(encode({ event })) }], end: () => [] }
    },
    fail(error) {
      const details = onWire(server.errorDetails(error)) as object[]
      const message = server.statusMessage?.(error) ?? error.message
      return {
        decoded: client.decodeError(server.status(error), message, details),
        wire: JSON.stringify([message, details]),
      }
    },
  }
}

function answered(
  serverCodec: (operation: Operation, params: unknown) => OperationCodec,
  client: RequestCodec | RestRequestCodec,
  operation: Operation,
  result: unknown,
  request: unknown,
  params: unknown,
): unknown {
  const response = serverCodec(operation, params).encode(result, params, callFacts())
  return client.decode(response === '' ? undefined : JSON.parse(response), request, callFacts())
}

function followed(encoder: StreamEncoder, decoder: StreamDecoder) {
  const received = (frames: ReturnType<StreamEncoder['encode']>): readonly IncomingFrame[] =>
    (typeof frames === 'string' ? [{ data: frames }] : frames).map(({ data, ...rest }) => ({
      ...rest,
      data: parsed(data),
    }))
  return {
    decoder,
    send: (event: StreamResponse) => received(encoder.encode({ event })),
    end: () => received(encoder.end?.() ?? []),
  }
}

export function codecOf(form: Dialect['rest'], { route }: Match): OperationCodec | undefined {
  return route.codec ?? form?.operations[route.operation]
}

/** Text that is not JSON, such as `[DONE]`, stays text. */
function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}

export function onWire(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

export function present<T>(value: T | undefined, what: string): T {
  assert.ok(value !== undefined, `${what} is missing`)
  return value
}

let count = 0
const newId = () => {
  count += 1
  return `id-${count}`
}

export function callFacts() {
  return { newId, header: () => null }
}
