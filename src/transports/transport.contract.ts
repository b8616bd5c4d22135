/**
 * The suite that every transport passes, at the level of `AgentService`: a client calls a service over the transport, and
 * both sides compare. It takes `describe` and `it` of any test runner and asserts with `node:assert`.
 */
import assert from 'node:assert/strict'
import { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import { callUnary, fromGeneric } from '../model/generic-service.js'
import type { Message } from '../model/message.js'
import { isStreaming, type Operation, operations } from '../model/operations.js'
import { type AgentService, anonymous, type CallContext, type StreamItem } from '../model/service.js'
import type { Task } from '../model/task.js'
import { TransportError } from '../model/transport-error.js'

/** Calls a service over the transport under test. */
export interface OpenedTransport {
  readonly client: AgentService
  close(): Promise<void>
}

/** Options of `OpenTransport`. */
export interface OpenTransportOptions {
  /** The client must authenticate as the caller of this id. Default: it calls without credentials. */
  readonly callerId?: string
}

/** Serves the service over the transport and connects a client to it. */
export type OpenTransport = (service: AgentService, options: OpenTransportOptions) => Promise<OpenedTransport>

/** Cases that a transport cannot pass because its protocol has no means for them. */
export interface TransportLimits {
  /** Operations that the protocol does not have. */
  readonly without?: readonly Operation[]
  /** The protocol carries codes and messages of errors only. */
  readonly hasNoErrorDetails?: boolean
  /** There is no authentication. */
  readonly hasNoCredentials?: boolean
}

interface TransportTestRunner {
  describe(name: string, body: () => void): void
  it(name: string, body: () => Promise<void>): void
}

const context: CallContext = { caller: anonymous }
const message: Message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
const time = '2026-01-05T08:00:00.000Z'
const task: Task = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED', timestamp: time } }
const config = { taskId: 't1', id: 'p1', url: 'https://hooks.example/a' }

/** A request and its result for each unary operation. */
const examples: Partial<Record<Operation, { readonly request: unknown; readonly result: unknown }>> = {
  sendMessage: { request: { message, configuration: { historyLength: 2 } }, result: { task } },
  getTask: { request: { id: 't1', historyLength: 3 }, result: task },
  listTasks: {
    request: { contextId: 'c1', pageSize: 7, includeArtifacts: true },
    result: { tasks: [task], nextPageToken: 'next', pageSize: 7, totalSize: 8 },
  },
  cancelTask: { request: { id: 't1' }, result: { ...task, status: { ...task.status, state: 'TASK_STATE_CANCELED' } } },
  createTaskPushNotificationConfig: { request: config, result: config },
  getTaskPushNotificationConfig: { request: { taskId: 't1', id: 'p1' }, result: config },
  listTaskPushNotificationConfigs: {
    request: { taskId: 't1' },
    result: { configs: [config], nextPageToken: '' },
  },
  deleteTaskPushNotificationConfig: { request: { taskId: 't1', id: 'p1' }, result: undefined },
}

const events: readonly StreamResponse[] = [
  { task: { ...task, status: { state: 'TASK_STATE_WORKING', timestamp: time } } },
  ...Array.from({ length: 20 }, (_, index) => ({
    artifactUpdate: {
      taskId: 't1',
      contextId: 'c1',
      artifact: { artifactId: 'a1', parts: [{ text: `chunk ${index} ` }] },
      append: index > 0,
    },
  })),
  { statusUpdate: { taskId: 't1', contextId: 'c1', status: task.status } },
]

/** One call as the service saw it. */
interface SeenCall {
  readonly operation: Operation
  readonly request: unknown
  readonly context: CallContext
}

interface Script {
  unary?(call: SeenCall): Promise<unknown>
  streaming?(call: SeenCall): AsyncIterable<StreamItem>
}

function scripted({ unary, streaming }: Script): { readonly service: AgentService; readonly calls: SeenCall[] } {
  const calls: SeenCall[] = []
  const seen = (operation: Operation, request: unknown, context: CallContext) => {
    const call = { operation, request, context }
    calls.push(call)
    return call
  }
  const service = fromGeneric({
    unary: async (...call) => await (unary ?? answered)(seen(...call)),
    streaming: (...call) => (streaming ?? streamed)(seen(...call)),
  })
  return { service, calls }
}

async function answered({ operation }: SeenCall): Promise<unknown> {
  return examples[operation]?.result
}

async function* streamed(): AsyncGenerator<StreamItem> {
  for (const [index, event] of events.entries()) yield { event, seq: index + 3 }
}

/**
 * Defines the tests of a transport.
 *
 * ```ts
 * transportContract({ describe, it }, async (service) => {
 *   const server = await serveOverMyTransport(service)
 *   return { client: connectOverMyTransport(server.address), close: () => server.close() }
 * })
 * ```
 */
export function transportContract(
  { describe, it }: TransportTestRunner,
  open: OpenTransport,
  limits: TransportLimits = {},
): void {
  const { without = [], hasNoErrorDetails, hasNoCredentials } = limits
  const check = (
    name: string,
    script: Script,
    body: (client: AgentService, calls: readonly SeenCall[]) => Promise<void>,
    options: OpenTransportOptions = {},
  ) =>
    it(name, async () => {
      const { service, calls } = scripted(script)
      const { client, close } = await open(service, options)
      try {
        await body(client, calls)
      } finally {
        await close()
      }
    })

  describe('unary calls', () => {
    for (const operation of Object.keys(operations) as Operation[]) {
      const example = examples[operation]
      if (!example || isStreaming(operation) || without.includes(operation)) continue
      check(`${operation} carries its request and its result`, {}, async (client, calls) => {
        const result = await callUnary(client, operation, example.request, context)
        assert.equal(calls.length, 1)
        assert.equal(calls[0]?.operation, operation)
        assert.deepEqual(plain(calls[0]?.request), plain(example.request))
        assert.deepEqual(plain(result), plain(example.result))
      })
    }

    check(
      'carry messages of two megabytes both ways',
      { unary: async ({ request }) => ({ message: { ...asSend(request).message, role: 'ROLE_AGENT' } }) },
      async (client) => {
        const text = 'äöü '.repeat(300_000)
        const answer = await client.sendMessage({ message: { ...message, parts: [{ text }] } }, context)
        assert.ok(JSON.stringify(answer).includes(text))
      },
    )

    check(
      'keep the answers of concurrent calls apart',
      {
        async unary({ request }) {
          const { parts } = asSend(request).message
          await new Promise((resolve) => setImmediate(resolve))
          return { message: { messageId: 'm2', role: 'ROLE_AGENT', parts } }
        },
      },
      async (client) => {
        const texts = Array.from({ length: 50 }, (_, index) => `call ${index}`)
        const answers = await Promise.all(
          texts.map((text) =>
            client.sendMessage({ message: { ...message, messageId: text, parts: [{ text }] } }, context),
          ),
        )
        for (const [index, answer] of answers.entries()) {
          const own = JSON.stringify(answer).match(/call \d+/g) ?? []
          assert.deepEqual(new Set(own), new Set([`call ${index}`]))
        }
      },
    )
  })

  describe('streams', () => {
    for (const operation of ['sendStreamingMessage', 'subscribeToTask'] as const) {
      if (without.includes(operation)) continue
      check(`${operation} delivers events in order and ends`, {}, async (client) => {
        const seen = await all(follow(client, operation))
        assert.deepEqual(plain(seen), plain(events))
      })
    }

    check('run beside each other', {}, async (client) => {
      const streams = await Promise.all(Array.from({ length: 10 }, () => all(follow(client, 'sendStreamingMessage'))))
      for (const seen of streams) assert.deepEqual(chunksIn(seen), chunksIn(events))
    })

    const isGone: PromiseWithResolvers<void>[] = []
    const endless: Script = {
      async *streaming({ context: { signal } }) {
        const gone = deferred()
        isGone.push(gone)
        try {
          for (const event of events.slice(0, 3)) yield { event }
          await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }))
        } finally {
          gone.resolve()
        }
      },
    }

    check('end at the service when the reader leaves', endless, async (client) => {
      for await (const _ of follow(client, 'sendStreamingMessage')) break
      await isGone.at(-1)?.promise
    })

    check('end on both sides when the call is aborted', endless, async (client) => {
      const controller = new AbortController()
      const stream = follow(client, 'sendStreamingMessage', { signal: controller.signal })[Symbol.asyncIterator]()
      await stream.next()
      controller.abort()
      await assert.rejects(drain(stream), isAborted)
      await isGone.at(-1)?.promise
    })
  })

  describe('errors', () => {
    const error = new A2AError('INVALID_PARAMS', 'message.parts[0]: is too sad', {
      violations: [{ field: 'message.parts[0]', description: 'is too sad' }],
      metadata: { mood: 'blue' },
    })
    const isSame = (caught: unknown) => {
      assert.ok(caught instanceof A2AError, `not an A2AError: ${caught}`)
      assert.equal(caught.code, 'INVALID_PARAMS')
      assert.match(caught.message, /is too sad/)
      if (hasNoErrorDetails) return true
      assert.deepEqual(caught.details.violations, error.details.violations)
      assert.equal(caught.details.metadata?.mood, 'blue')
      return true
    }
    const failing: Script = {
      unary: () => Promise.reject(error),
      async *streaming() {
        throw error
      },
    }

    check('of unary calls arrive with their code, message and details', failing, async (client) => {
      await assert.rejects(client.sendMessage({ message }, context), isSame)
    })

    check('before the first event of a stream arrive likewise', failing, async (client) => {
      await assert.rejects(all(follow(client, 'sendStreamingMessage')), isSame)
    })

    check(
      'in the middle of a stream arrive after the events before them',
      {
        async *streaming() {
          for (const event of events.slice(0, 3)) yield { event }
          throw error
        },
      },
      async (client) => {
        const seen: StreamResponse[] = []
        const reading = (async () => {
          for await (const { event } of follow(client, 'sendStreamingMessage')) seen.push(event)
        })()
        await assert.rejects(reading, isSame)
        assert.deepEqual(chunksIn(seen), chunksIn(events.slice(0, 3)))
      },
    )

    check(
      'of unknown kinds arrive without their text',
      {
        unary: () => Promise.reject(new Error('secret reason')),
      },
      async (client) => {
        await assert.rejects(client.sendMessage({ message }, context), (caught) => {
          assert.ok(caught instanceof A2AError, `not an A2AError: ${caught}`)
          assert.equal(caught.code, 'INTERNAL_ERROR')
          assert.doesNotMatch(caught.message, /secret/)
          return true
        })
      },
    )
  })

  describe('aborts', () => {
    const isOver: PromiseWithResolvers<void>[] = []
    const slow: Script = {
      async unary() {
        const [begun, over] = [isOver[0] ?? deferred(), isOver[1] ?? deferred()]
        begun.resolve()
        await over.promise
        return { task }
      },
    }

    check('reject the call, and the service goes on', slow, async (client, calls) => {
      const [begun, over] = [deferred(), deferred()]
      isOver.splice(0, 2, begun, over)
      const controller = new AbortController()
      const sent = client.sendMessage({ message }, { ...context, signal: controller.signal })
      await begun.promise
      controller.abort()
      await assert.rejects(sent, isAborted)
      assert.notEqual(calls[0]?.context.signal?.aborted, true)
      over.resolve()
    })
  })

  describe('call options', () => {
    check('reach the service: idempotency key, position and trace context', {}, async (client, calls) => {
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      await client.sendMessage({ message }, { ...context, idempotencyKey: 'k1', traceparent })
      await all(follow(client, 'subscribeToTask', { resumeAfter: 12 }))
      assert.equal(calls[0]?.context.idempotencyKey, 'k1')
      assert.equal(calls[1]?.context.resumeAfter, 12)
      // Servers that trace start a span of their own in the caller's trace.
      assert.equal(calls[0]?.context.traceparent?.slice(0, 35), traceparent.slice(0, 35))
    })

    if (!hasNoCredentials) {
      check(
        'tell the service who calls',
        {},
        async (client, calls) => {
          await client.sendMessage({ message }, context)
          assert.equal(calls[0]?.context.caller.id, 'ann')
        },
        { callerId: 'ann' },
      )
    }
  })
}

function follow(
  client: AgentService,
  operation: 'sendStreamingMessage' | 'subscribeToTask',
  options: Partial<CallContext> = {},
): AsyncIterable<StreamItem> {
  const call = { ...context, ...options }
  return operation === 'subscribeToTask'
    ? client.subscribeToTask({ id: 't1' }, call)
    : client.sendStreamingMessage({ message }, call)
}

async function all(stream: AsyncIterable<StreamItem>): Promise<readonly StreamResponse[]> {
  const seen: StreamResponse[] = []
  for await (const { event } of stream) seen.push(event)
  return seen
}

async function drain(iterator: AsyncIterator<StreamItem>): Promise<void> {
  while (!(await iterator.next()).done);
}

function chunksIn(seen: readonly StreamResponse[]): readonly string[] {
  return seen.flatMap(
    (event) =>
      JSON.stringify(event)
        .match(/chunk \d+ /g)
        ?.slice(-1) ?? [],
  )
}

/** Without members that are undefined or at their protobuf default, which bindings may add or drop. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (_, member: unknown) =>
      member === '' || member === false || (Array.isArray(member) && member.length === 0) ? undefined : member,
    ),
  )
}

function asSend(request: unknown): { readonly message: Message } {
  return request as { readonly message: Message } // the script answers sends only
}

function isAborted(error: unknown): boolean {
  return error instanceof TransportError && error.failure === 'aborted'
}

interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
}

function deferred(): PromiseWithResolvers<void> {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve: () => resolve() }
}
