/** Proxies the calls of the page to agents of any dialect. The page's client uses the newest dialect over JSON-RPC. */
import type { AgentClient } from '../client/agent-client.js'
import { newestDialect } from '../dialects/servers.js'
import type { StreamResponse } from '../model/event.js'
import { fromGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import { type AgentService, anonymous, type CallContext, type ReadAhead, type StreamItem } from '../model/service.js'
import { FetchExchange, toResponse } from '../server/fetch.js'
import { createJsonRpcServer } from '../transports/jsonrpc/server.js'
import { defaultRequestLimits } from '../transports/read-json.js'
import { Heartbeats } from '../transports/sse.js'
import type { LoggedCall } from './call-log.js'
import { type AgentTarget, type Connections, describeError } from './connections.js'
import { callHeader } from './console-api.js'

const maxBodyBytes = 32 * 1024 * 1024

export function createA2aProxy(connections: Connections, heartbeats = new Heartbeats(15_000)) {
  return async (request: Request, target: AgentTarget): Promise<Response> => {
    let logged: LoggedCall | undefined
    const { answer } = createJsonRpcServer({
      service: loggedService(connections, target, (call) => {
        logged = call
      }),
      dialects: [newestDialect],
      newestDialect,
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
    const response = toResponse(await answer(new FetchExchange(request), { caller: anonymous }))
    if (logged) response.headers.set(callHeader, logged.id)
    return response
  }
}

/** The agent as a service that logs its calls. */
function loggedService(
  connections: Connections,
  target: AgentTarget,
  onCall: (call: LoggedCall) => void,
): AgentService {
  return fromGeneric({
    unary: (operation, request, context) =>
      connections.call(target, operation, {
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
      [Symbol.asyncIterator]: () => new LoggedStream(connections, target, { operation, request, context, onCall }),
    }),
  })
}

interface StreamCall {
  readonly operation: Operation
  readonly request: unknown
  readonly context: CallContext
  readonly onCall: (call: LoggedCall) => void
}

/** A stream that attributes all its reads to one call of the log. */
class LoggedStream implements ReadAhead {
  readonly #connections: Connections
  readonly #target: AgentTarget
  readonly #request: StreamCall
  #call: LoggedCall | undefined
  #iterator: ReadAhead | undefined

  constructor(connections: Connections, target: AgentTarget, request: StreamCall) {
    this.#connections = connections
    this.#target = target
    this.#request = request
  }

  async next(): Promise<IteratorResult<StreamItem, undefined>> {
    if (!this.#iterator) await this.#open()
    const [call, iterator] = [this.#call, this.#iterator]
    if (!call || !iterator) return { done: true, value: undefined }
    try {
      const next = await this.#connections.within(call, () => iterator.next())
      if (next.done) {
        if (this.#request.context.signal?.aborted) call.leave()
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
    // First: closing the stream ends the call too, as if it had completed.
    this.#call?.leave()
    await this.#iterator?.return?.()
    this.#end()
    return { done: true, value: undefined }
  }

  async #open(): Promise<void> {
    const { operation, request, context, onCall } = this.#request
    await this.#connections.call(this.#target, operation, {
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

/** The compiler cannot see that the request belongs to the operation. */
function operationOf<Result>(client: AgentClient, operation: Operation): Call<Result> {
  return (client as unknown as Readonly<Record<Operation, Call<Result>>>)[operation]
}

/** Copies the ids of task and context from a request, a response or an event to the call. */
function noteIds(call: LoggedCall, value: unknown): void {
  const { taskId, contextId } = idsIn(value as Partial<Record<string, unknown>>)
  if (typeof taskId === 'string') call.taskId ??= taskId
  if (typeof contextId === 'string') call.contextId ??= contextId
}

function idsIn(value: Partial<Record<string, unknown>> | undefined): { taskId?: unknown; contextId?: unknown } {
  if (!value) return {}
  const event = value as Partial<Record<keyof UnionMembers, { id?: unknown; taskId?: unknown; contextId?: unknown }>>
  if (event.task) return { taskId: event.task.id, contextId: event.task.contextId }
  const body = event.statusUpdate ?? event.artifactUpdate ?? event.message
  if (body) return { taskId: body.taskId, contextId: body.contextId }
  return {
    taskId: value.taskId ?? (value.status || isAboutTask(value) ? value.id : undefined),
    contextId: value.contextId,
  }
}

type UnionMembers = {
  [Member in StreamResponse extends infer Each ? (Each extends Each ? keyof Each : never) : never]: 1
}

/** Requests about one task have its id as `id`. */
function isAboutTask(value: object): boolean {
  return Object.keys(value).every((name) => ['id', 'historyLength', 'tenant', 'metadata'].includes(name))
}
