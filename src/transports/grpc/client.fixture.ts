/** A dialect as small as can be, and clients of servers on real sockets: ours, and ones that misbehave. */
import { Server, ServerCredentials, type ServerWritableStream, type sendUnaryData } from '@grpc/grpc-js'
import type { ClientDialect, RequestCodec } from '../../dialects/client-dialect.js'
import { A2AError, type ErrorCode, type ErrorDetails, errorCodes, invalidField } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import { type Operation, operations } from '../../model/operations.js'
import type { AgentService, CallContext } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { createGrpcClient, type GrpcClientOptions } from './client.js'

const names = Object.keys(operations) as Operation[]

const codec: RequestCodec = {
  encode: (request) => request,
  decode: (answer) => answer,
}

/** v1.0, where the model is the message; tasks must have a state. */
export const plain: ClientDialect = {
  name: 'v1',
  versions: ['1.0'],
  requiresVersion: true,
  extensionsHeader: 'A2A-Extensions',
  grpc: {
    service: 'lf.a2a.v1.A2AService',
    rpcs: Object.fromEntries(names.map((name) => [name, operations[name].name])),
    operations: {
      ...Object.fromEntries(names.map((name) => [name, codec])),
      getTask: { ...codec, decode: withState },
      deleteTaskPushNotificationConfig: { ...codec, decode: () => undefined },
    },
    createStreamDecoder: () => ({ isOver: false, decode: ({ data }) => [data as StreamResponse] }),
    decodeError(status, message, details) {
      const [info, ...others] = details as { reason?: string; metadata?: ErrorDetails['metadata'] }[]
      const code = errorCodes.find((each) => each === info?.reason) ?? byStatus[status] ?? 'INTERNAL_ERROR'
      const violations = others.flatMap((each) => ('fieldViolations' in each ? each.fieldViolations : []))
      return new A2AError(code, message, {
        ...(info?.metadata && { metadata: info.metadata }),
        ...(violations.length > 0 && { violations: violations as NonNullable<ErrorDetails['violations']> }),
      })
    },
  },
}

const byStatus: Readonly<Record<string, ErrorCode>> = {
  UNAUTHENTICATED: 'UNAUTHENTICATED',
  RESOURCE_EXHAUSTED: 'RATE_LIMITED',
  UNIMPLEMENTED: 'METHOD_NOT_FOUND',
  UNAVAILABLE: 'UNAVAILABLE',
}

function withState(answer: unknown): Task {
  const status = isObject(answer) ? answer.status : undefined
  if (!isObject(status) || status.state === undefined) throw invalidField('status.state', 'is required')
  return answer as unknown as Task
}

export interface TestClient extends AgentService {
  close(): void
  [Symbol.dispose](): void
}

export function testClient(port: number, options: Partial<GrpcClientOptions> = {}): TestClient {
  const { service, close } = createGrpcClient({
    authority: `127.0.0.1:${port}`,
    dialect: plain,
    facts: { newId: () => 'made' },
    metadata: async () => ({}),
    maxMessageBytes: 1_000_000,
    ...options,
  })
  return { ...service, close, [Symbol.dispose]: close }
}

export const context: CallContext = { caller: { id: 'ann' }, dialect: 'v1' }

export interface Hostile {
  unary?(metadata: { get(name: string): unknown[] }, callback: sendUnaryData<Buffer>): void
  stream?(call: ServerWritableStream<Buffer, Buffer>): void
}

/** A server that answers GetTask and SubscribeToTask with whatever bytes it likes. */
export async function hostile({ unary, stream }: Hostile): Promise<{
  readonly port: number
  readonly server: Server
  [Symbol.asyncDispose](): Promise<void>
}> {
  const server = new Server({ 'grpc.max_send_message_length': -1 })
  const same = (bytes: Buffer) => bytes
  const path = (rpc: string) => `/lf.a2a.v1.A2AService/${rpc}`
  if (unary) server.register(path('GetTask'), unaryOf(unary), same, same, 'unary')
  if (stream) server.register(path('SubscribeToTask'), stream, same, same, 'serverStream')
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  return {
    port,
    server,
    async [Symbol.asyncDispose]() {
      server.forceShutdown()
    },
  }
}

function unaryOf(answer: NonNullable<Hostile['unary']>) {
  return (call: { metadata: { get(name: string): unknown[] } }, callback: sendUnaryData<Buffer>) =>
    answer(call.metadata, callback)
}
