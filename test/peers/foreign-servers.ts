/** Foreign servers: three generations of the official JavaScript SDK, on every binding it has. */
import type { AddressInfo } from 'node:net'
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js'
import { type AgentCard as CardV1, type Message as MessageV1, Role, TaskState } from 'a2a-sdk-v1'
import { LegacyA2AService, legacyGrpcService } from 'a2a-sdk-v1/compat/v0_3/server/grpc'
import { AgentEvent, DefaultRequestHandler as HandlerV1, InMemoryTaskStore as StoreV1 } from 'a2a-sdk-v1/server'
import {
  agentCardHandler as cardV1,
  jsonRpcHandler as jsonRpcV1,
  restHandler as restV1,
} from 'a2a-sdk-v1/server/express'
import { grpcService as grpcV1, A2AService as ServiceV1 } from 'a2a-sdk-v1/server/grpc'
import { A2AExpressApp, DefaultRequestHandler as HandlerV02, InMemoryTaskStore as StoreV02 } from 'a2a-sdk-v02/server'
import type { AgentCard as CardV03, Message as MessageV03, Part as PartV03 } from 'a2a-sdk-v03'
import {
  type AgentExecutor as ExecutorV03,
  DefaultRequestHandler as HandlerV03,
  InMemoryTaskStore as StoreV03,
} from 'a2a-sdk-v03/server'
import {
  agentCardHandler as cardV03,
  jsonRpcHandler as jsonRpcV03,
  restHandler as restV03,
} from 'a2a-sdk-v03/server/express'
import { grpcService as grpcV03, A2AService as ServiceV03 } from 'a2a-sdk-v03/server/grpc'
import express, { type Express } from 'express'
import { type AgentOutput, Running, runAgent, type State } from './foreign-agent.js'

export interface ForeignServer extends AsyncDisposable {
  readonly url: string
}

const anonymousUser = { userBuilder: async () => ({ isAuthenticated: false, userName: '' }) }
const now = () => new Date().toISOString()
const newId = () => crypto.randomUUID()

/** Members that all cards share. */
const about = {
  name: 'Echo',
  description: 'Repeats the text',
  version: '1.0.0',
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'echo', name: 'Echo', description: 'Repeats the text', tags: ['echo'] }],
  capabilities: { streaming: true, pushNotifications: true },
}

/** Release 0.2.5: JSON-RPC only, with a card at the old path that has no version. */
export async function serveV02(): Promise<ForeignServer> {
  return listen(async (app, url) => {
    const handler = new HandlerV02({ ...about, url }, new StoreV02(), executor03() as never) // the events are the same
    new A2AExpressApp(handler).setupRoutes(app as never) // the SDK has its own copy of express
  })
}

/** Release 0.3.14. */
export async function serveV03(): Promise<ForeignServer> {
  return listen(async (app, url, grpc) => {
    const card: CardV03 = {
      ...about,
      protocolVersion: '0.3.0',
      url: `${url}rpc`,
      preferredTransport: 'JSONRPC',
      additionalInterfaces: [
        { url: `${url}rpc`, transport: 'JSONRPC' },
        { url: `${url}rest`, transport: 'HTTP+JSON' },
        { url: grpc.address, transport: 'GRPC' },
      ],
    }
    const requestHandler = new HandlerV03(card, new StoreV03(), executor03())
    app.use('/.well-known/agent-card.json', cardV03({ agentCardProvider: requestHandler }))
    app.use('/rpc', jsonRpcV03({ requestHandler, ...anonymousUser }))
    app.use('/rest', restV03({ requestHandler, ...anonymousUser }))
    grpc.server.addService(ServiceV03, grpcV03({ requestHandler, ...anonymousUser }))
  })
}

/** Release 1.3.0, with its layer for 0.3 when asked. */
export async function serveV1({ isOld = false } = {}): Promise<ForeignServer> {
  return listen(async (app, url, grpc) => {
    const at = (protocolBinding: string, address: string) =>
      ['1.0', ...(isOld ? ['0.3'] : [])].map((protocolVersion) => ({
        url: address,
        protocolBinding,
        protocolVersion,
        tenant: '',
      }))
    const card = {
      ...about,
      capabilities: { ...about.capabilities, extensions: [] },
      supportedInterfaces: [
        ...at('JSONRPC', `${url}rpc`),
        ...at('HTTP+JSON', `${url}rest`),
        ...at('GRPC', grpc.address),
      ],
      securitySchemes: {},
      securityRequirements: [],
      signatures: [],
    } as unknown as CardV1 // the members that the SDK reads
    const requestHandler = new HandlerV1(card, new StoreV1(), executorV1())
    const options = { requestHandler, ...anonymousUser, ...(isOld && { legacyCompat: { enabled: true } }) }
    app.use('/.well-known/agent-card.json', cardV1({ ...options, agentCardProvider: requestHandler }))
    app.use('/rpc', jsonRpcV1(options))
    app.use('/rest', restV1(options))
    grpc.server.addService(ServiceV1, grpcV1({ requestHandler, ...anonymousUser }))
    if (isOld) grpc.server.addService(LegacyA2AService, legacyGrpcService({ requestHandler, ...anonymousUser }))
  })
}

async function listen(
  setUp: (app: Express, url: string, grpc: { server: GrpcServer; address: string }) => Promise<void>,
): Promise<ForeignServer> {
  const app = express()
  const http = await new Promise<ReturnType<Express['listen']>>((resolve) => {
    const opened = app.listen(0, '127.0.0.1', () => resolve(opened))
  })
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/` // it listens on a port
  const server = new GrpcServer()
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  await setUp(app, url, { server, address: `127.0.0.1:${port}` })
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.forceShutdown()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

function textOf(parts: readonly PartV03[] | undefined): string {
  return parts?.map((part) => (part.kind === 'text' ? part.text : '')).join('') ?? ''
}

function executor03(): ExecutorV03 {
  const running = new Running()
  return {
    cancelTask: (taskId) => running.cancel(taskId),
    execute: ({ taskId, contextId, userMessage, task }, bus) =>
      running.run(taskId, async (signal) => {
        const own = { taskId, contextId }
        const messageWith = (text: string): MessageV03 => ({
          ...own,
          kind: 'message',
          role: 'agent',
          messageId: newId(),
          parts: [{ kind: 'text', text }],
        })
        const status = (state: State, note?: string) => ({
          state,
          timestamp: now(),
          ...(note && { message: messageWith(note) }),
        })
        const output: AgentOutput<PartV03> = {
          signal,
          text: textOf(userMessage.parts),
          parts: userMessage.parts,
          began: task && textOf(task.history?.[0]?.parts),
          textPart: (text) => ({ kind: 'text', text }),
          message: (text) => bus.publish(messageWith(text)),
          task(state) {
            if (task) bus.publish({ kind: 'status-update', ...own, status: status(state), final: false })
            else bus.publish({ kind: 'task', id: taskId, contextId, status: status(state), history: [userMessage] })
          },
          status: (state, note) =>
            bus.publish({
              kind: 'status-update',
              ...own,
              status: status(state, note),
              final: state !== 'working',
            }),
          artifact: (parts, more = {}) =>
            bus.publish({ kind: 'artifact-update', ...own, artifact: { artifactId: 'a', parts: [...parts] }, ...more }),
        }
        await runAgent(output)
        bus.finished()
      }),
  }
}

type PartV1 = MessageV1['parts'][number]

function executorV1(): ConstructorParameters<typeof HandlerV1>[2] {
  const running = new Running()
  const textIn = (parts: readonly PartV1[] | undefined) =>
    parts?.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('') ?? ''
  const textPart = (value: string): PartV1 => ({
    content: { $case: 'text', value },
    filename: '',
    mediaType: '',
    metadata: undefined,
  })
  return {
    cancelTask: (taskId) => running.cancel(taskId),
    execute: ({ taskId, contextId, userMessage, task }, bus) =>
      running.run(taskId, async (signal) => {
        const own = { taskId, contextId }
        const messageWith = (text: string): MessageV1 => ({
          ...own,
          role: Role.ROLE_AGENT,
          messageId: newId(),
          parts: [textPart(text)],
          metadata: undefined,
          extensions: [],
          referenceTaskIds: [],
        })
        const status = (state: State, note?: string) => ({
          state: TaskState[`TASK_STATE_${state.toUpperCase().replace('-', '_')}` as keyof typeof TaskState],
          timestamp: now(),
          message: note === undefined ? undefined : messageWith(note),
        })
        const artifact = { artifactId: 'a', name: '', description: '', extensions: [], metadata: undefined }
        await runAgent<PartV1>({
          signal,
          text: textIn(userMessage.parts),
          parts: userMessage.parts,
          began: task && textIn(task.history[0]?.parts),
          textPart,
          message: (text) => bus.publish(AgentEvent.message(messageWith(text))),
          task: (state) =>
            bus.publish(
              AgentEvent.task({
                id: taskId,
                contextId,
                artifacts: [],
                history: [userMessage],
                metadata: undefined,
                ...task,
                status: status(state),
              }),
            ),
          status: (state, note) =>
            bus.publish(AgentEvent.statusUpdate({ ...own, status: status(state, note), metadata: undefined })),
          artifact: (parts, { append = false, lastChunk = true } = {}) =>
            bus.publish(
              AgentEvent.artifactUpdate({
                ...own,
                artifact: { ...artifact, parts: [...parts] },
                append,
                lastChunk,
                metadata: undefined,
              }),
            ),
        })
      }),
  }
}
