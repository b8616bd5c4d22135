/**
 * The agents a session has named, as v1.0 over JSON-RPC for the page: whatever an agent speaks, the page's own client
 * speaks the newest version to this door.
 */
import type { AgentClient } from '../client/agent-client.js'
import { newestDialect } from '../dialects/servers.js'
import type { StreamResponse } from '../model/event.js'
import { fromGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import { type AgentService, anonymous, type CallContext, type ReadAhead, type StreamItem } from '../model/service.js'
import { createJsonRpcServer } from '../transports/jsonrpc/server.js'
import { defaultRequestLimits } from '../transports/read-json.js'
import { Heartbeats } from '../transports/sse.js'
import type { LoggedCall } from './call-log.js'
import { type AgentTarget, type Connections, describeError } from './connections.js'
import { callHeader } from './console-api.js'

const maxBodyBytes = 32 * 1024 * 1024

export function createA2aProxy(connections: Connections, heartbeats = new Heartbeats(15_000)) {
  return async (request: Request, way: AgentTarget): Promise<Response> => {
    let made: LoggedCall | undefined
    const { answer } = createJsonRpcServer({
      service: loggedService(connections, way, (call) => {
        made = call
      }),
      dialects: [newestDialect],
      assumeV1: true,
      extensions: [],
      hasTenant: () => false,
      limits: { ...defaultRequestLimits, bodyBytes: maxBodyBytes },
      vary: '',
      heartbeats,
      newId: () => crypto.randomUUID(),
      createdIn: async () => undefined,
      onError: () => undefined,
    })
    const response = await answer(request, { caller: anonymous })
    if (made) response.headers.set(callHeader, made.id)
    return response
  }
}

/** The agent as a service whose calls can be looked at later. */
function loggedService(connections: Connections, way: AgentTarget, onCall: (call: LoggedCall) => void): AgentService {
  return fromGeneric({
    unary: (operation, request, context) =>
      connections.call(way, operation, {
        begun: onCall,
        async work(client, call) {
          noteIds(call, request)
          const result = await operationOf<Promise<unknown>>(client, operation)(request, context)
          noteIds(call, result)
          call.end()
          connections.over(call)
          return result
        },
      }),
    streaming: (operation, request, context) => ({
      [Symbol.asyncIterator]: () => new LoggedStream(connections, way, { operation, request, context, onCall }),
    }),
  })
}

interface StreamCall {
  readonly operation: Operation
  readonly request: unknown
  readonly context: CallContext
  readonly onCall: (call: LoggedCall) => void
}

/** A stream every step of which is taken in the name of its call. */
class LoggedStream implements ReadAhead {
  readonly #connections: Connections
  readonly #way: AgentTarget
  readonly #asked: StreamCall
  #call: LoggedCall | undefined
  #iterator: ReadAhead | undefined

  constructor(connections: Connections, way: AgentTarget, asked: StreamCall) {
    this.#connections = connections
    this.#way = way
    this.#asked = asked
  }

  async next(): Promise<IteratorResult<StreamItem, undefined>> {
    if (!this.#iterator) await this.#open()
    const [call, iterator] = [this.#call, this.#iterator]
    if (!call || !iterator) return { done: true, value: undefined }
    try {
      const next = await this.#connections.within(call, () => iterator.next())
      if (next.done) {
        if (this.#asked.context.signal?.aborted) call.leave()
        this.#end()
        return { done: true, value: undefined }
      }
      noteIds(call, next.value.event)
      return next
    } catch (caught) {
      this.#connections.failed(call, caught)
      throw describeError(caught)
    }
  }

  takeReady(): StreamItem | undefined {
    return this.#iterator?.takeReady?.()
  }

  async return(): Promise<IteratorResult<StreamItem, undefined>> {
    // Before the rest of it winds up: that ends the call too, as if it had been over.
    this.#call?.leave()
    await this.#iterator?.return?.()
    this.#end()
    return { done: true, value: undefined }
  }

  async #open(): Promise<void> {
    const { operation, request, context, onCall } = this.#asked
    await this.#connections.call(this.#way, operation, {
      begun: onCall,
      work: async (client, call) => {
        noteIds(call, request)
        this.#call = call
        const stream = operationOf<AsyncIterable<StreamItem>>(client, operation)(request, context)
        this.#iterator = stream[Symbol.asyncIterator]()
      },
    })
  }

  #end(): void {
    if (!this.#call) return
    this.#call.end()
    this.#connections.over(this.#call)
  }
}

type Call<Result> = (request: unknown, context: CallContext) => Result

/** The compiler cannot see that the request came from the same operation's caller. */
function operationOf<Result>(client: AgentClient, operation: Operation): Call<Result> {
  return (client as unknown as Readonly<Record<Operation, Call<Result>>>)[operation]
}

/** Learns from a request, an answer or an event which task and context a call is about. */
function noteIds(call: LoggedCall, value: unknown): void {
  const { taskId, contextId } = namesIn(value as Partial<Record<string, unknown>>)
  if (typeof taskId === 'string') call.taskId ??= taskId
  if (typeof contextId === 'string') call.contextId ??= contextId
}

function namesIn(value: Partial<Record<string, unknown>> | undefined): { taskId?: unknown; contextId?: unknown } {
  if (!value) return {}
  const event = value as Partial<Record<keyof UnionMembers, { id?: unknown; taskId?: unknown; contextId?: unknown }>>
  if (event.task) return { taskId: event.task.id, contextId: event.task.contextId }
  const told = event.statusUpdate ?? event.artifactUpdate ?? event.message
  if (told) return { taskId: told.taskId, contextId: told.contextId }
  return {
    taskId: value.taskId ?? (value.status || isAboutTask(value) ? value.id : undefined),
    contextId: value.contextId,
  }
}

type UnionMembers = {
  [Member in StreamResponse extends infer Each ? (Each extends Each ? keyof Each : never) : never]: 1
}

/** Requests about one task name it by `id` alone, beside a few members that are no names. */
function isAboutTask(value: object): boolean {
  return Object.keys(value).every((name) => ['id', 'historyLength', 'tenant', 'metadata'].includes(name))
}
