/** Connects a client and a server of one dialect, without a transport. */
import { expect } from 'vitest'
import { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { Operation } from '../model/operations.js'
import type { Task } from '../model/task.js'
import { TaskFold } from '../model/task-fold.js'
import type {
  ClientFacts,
  IncomingFrame,
  JsonRpcClientForm,
  RequestCodec,
  RestClientForm,
  RestRequest,
  RestRequestCodec,
} from './client-dialect.js'
import type { CallFacts, Frame, JsonRpcForm, OperationCodec, RestForm } from './dialect.js'

/** Ids are `id-1`, `id-2`, … */
export function numberedFacts(): ClientFacts & CallFacts {
  let last = 0
  return { newId: () => `id-${++last}`, header: () => null }
}

/** The value after a JSON round trip. */
export function sent<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T)
}

/** The request as the server decodes it, and the result as the client decodes it. */
export interface Exchange {
  /** The method or route of the call. */
  readonly call: string
  readonly operation: Operation
  readonly params: unknown
  readonly request: unknown
  answer(result: unknown): unknown
  /** Events of the server, as the client reads them. */
  stream(events: readonly StreamResponse[]): Streamed
  /** Fails the server's stream after the events, and returns what the client decodes. */
  breakWith(error: A2AError, events?: readonly StreamResponse[]): Streamed
}

export interface Streamed {
  readonly events: readonly StreamResponse[]
  readonly isOver: boolean
}

export function exchangeOverJsonRpc(
  client: JsonRpcClientForm,
  server: JsonRpcForm,
  operation: Operation,
  request: unknown,
): Exchange {
  const facts = numberedFacts()
  const codec: RequestCodec | undefined = client.operations[operation]
  const method = client.methods[operation] ?? ''
  const params = sent(codec?.encode(request, facts))
  const called = server.methods.get(method) as Operation // a test names operations that exist
  const answered = server.operations[called]?.instead?.(params) ?? called
  return exchange(client, server, { call: method, operation: answered, asked: operation, params, request, facts })
}

export function exchangeOverRest(
  client: RestClientForm,
  server: RestForm,
  operation: Operation,
  request: unknown,
): Exchange {
  const facts = numberedFacts()
  const codec: RestRequestCodec | undefined = client.operations[operation]
  const { method, path, body } = sent(codec?.encode(request, facts)) as RestRequest
  const [route, params] = matched(server, method, path)
  const merged = { ...(body as object | undefined), ...params }
  const answered = server.operations[route.operation]?.instead?.(merged) ?? route.operation
  const call = `${method} ${path}`
  return exchange(client, server, { call, operation: answered, asked: operation, params: merged, request, facts })
}

interface Call {
  readonly call: string
  readonly operation: Operation
  readonly asked: Operation
  readonly params: unknown
  readonly request: unknown
  readonly facts: ClientFacts & CallFacts
}

function exchange(
  client: JsonRpcClientForm | RestClientForm,
  server: JsonRpcForm | RestForm,
  { call, operation, asked, params, request, facts }: Call,
): Exchange {
  const codec = server.operations[operation] as OperationCodec // a test names operations that exist
  const reader: RequestCodec | RestRequestCodec | undefined = client.operations[asked]
  const createEncoder = () => server.createStreamEncoder({ operation, params, newId: () => 'made' })
  const read = (frames: readonly Frame[]) =>
    streamed(client.createStreamDecoder({ operation: asked, request, sent: params, facts }), frames.map(incoming))
  return {
    call,
    operation,
    params,
    request: codec.decode(params, facts),
    answer: (result) => reader?.decode(JSON.parse(codec.encode(result, params)), request, facts),
    stream(events) {
      const encoder = createEncoder()
      const frames = events.flatMap((event) => framesOf(encoder.encode({ event })))
      return read([...frames, ...(encoder.end?.() ?? [])])
    },
    breakWith(error, events = []) {
      const encoder = createEncoder()
      const frames = events.flatMap((event) => framesOf(encoder.encode({ event })))
      return read([...frames, ...(encoder.encodeError?.(error) ?? [])])
    },
  }
}

function matched({ routes }: RestForm, method: string, path: string) {
  for (const route of routes) {
    const pattern = new RegExp(`^${route.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
    const found = route.method === method ? pattern.exec(path) : null
    if (!found) continue
    const params = Object.entries(found.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)])
    return [route, Object.fromEntries(params) as object] as const
  }
  throw new Error(`There is no route for ${method} ${path}`)
}

function framesOf(encoded: string | readonly Frame[]): readonly Frame[] {
  return typeof encoded === 'string' ? [{ data: encoded }] : encoded
}

function incoming({ event, data }: Frame): IncomingFrame {
  const parsed: unknown = data === '[DONE]' ? data : JSON.parse(data)
  return event === undefined ? { data: parsed } : { event, data: parsed }
}

/** Decodes all frames of a stream, up to its end. */
export function streamed(
  decoder: { decode(frame: IncomingFrame): readonly StreamResponse[]; readonly isOver: boolean },
  frames: readonly IncomingFrame[],
): Streamed {
  const events: StreamResponse[] = []
  for (const frame of frames) {
    events.push(...decoder.decode(frame))
    if (decoder.isOver) break
  }
  return { events, isOver: decoder.isOver }
}

/** Folds the events of a stream to a task. A repeated task starts over. */
export function folded(events: readonly StreamResponse[]): Task | undefined {
  let fold: TaskFold | undefined
  for (const body of events) {
    if ('task' in body) fold = TaskFold.from(body.task, 0)
    else fold?.apply({ seq: fold.seq + 1, time: 0, body })
  }
  return fold?.snapshot()
}

export function textsOf({ artifacts = [] }: Partial<Task>): readonly string[] {
  return artifacts.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')).join(''))
}

export function refusalOf(work: () => unknown): A2AError {
  try {
    work()
  } catch (error) {
    if (error instanceof A2AError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}

/** Decoders may throw `A2AError` only. */
export function expectA2AErrors(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(A2AError)
  }
}
