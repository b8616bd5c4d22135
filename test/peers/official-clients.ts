/** Three releases of the official JavaScript SDK as clients of our server. */

import { status } from '@grpc/grpc-js'
import { type Message, Role, type Task, TaskState } from 'a2a-sdk-v1'
import {
  type Client as ClientV1,
  ClientFactory as FactoryV1,
  JsonRpcTransportFactory as JsonRpcV1,
  RestTransportFactory as RestV1,
} from 'a2a-sdk-v1/client'
import { GrpcTransportFactory as GrpcV1 } from 'a2a-sdk-v1/client/grpc'
import { A2AClient } from 'a2a-sdk-v02/client'
import {
  type Client as ClientV03,
  ClientFactory as FactoryV03,
  JsonRpcTransportFactory as JsonRpcV03,
  RestTransportFactory as RestV03,
} from 'a2a-sdk-v03/client'
import { GrpcTransportFactory as GrpcV03 } from 'a2a-sdk-v03/client/grpc'
import { pieceOf } from '../matrix/v0-clients.js'
import { stateOf } from '../matrix/v1-client.js'
import {
  type CallResult,
  newId,
  type Piece,
  piecesOf,
  type Refused,
  type TaskSummary,
  type TaskTarget,
  type WireClient,
} from '../matrix/wire-client.js'

export const transports = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const
export type TransportName = (typeof transports)[number]

// The objects of 0.x: the types of the two SDKs differ in details that these tests do not use.
interface Part {
  kind: string
  text?: string
  data?: unknown
  file?: { bytes?: string; mimeType?: string; name?: string }
  metadata?: Record<string, unknown>
}
interface Object03 {
  kind: string
  id?: string
  taskId?: string
  contextId?: string
  parts?: Part[]
  status?: { state: string; message?: { parts: Part[] } }
  artifact?: { parts: Part[] }
  artifacts?: { parts: Part[] }[]
  final?: boolean
}

function message03(content: string | readonly Piece[], where: TaskTarget = {}) {
  const parts = piecesOf(content).map((piece) => {
    if ('text' in piece) return { kind: 'text' as const, text: piece.text }
    if ('bytes' in piece) {
      const { bytes, mediaType: mimeType, name } = piece
      return { kind: 'file' as const, file: { bytes, mimeType, name } }
    }
    const isObject = typeof piece.data === 'object' && piece.data !== null && !Array.isArray(piece.data)
    const data = (isObject ? piece.data : { value: piece.data }) as Record<string, unknown>
    return { kind: 'data' as const, data, ...(!isObject && { metadata: { data_part_compat: true } }) }
  })
  const { taskId, contextId } = where
  return {
    kind: 'message' as const,
    messageId: newId('m'),
    role: 'user' as const,
    parts,
    ...(taskId && { taskId }),
    ...(contextId && { contextId }),
  }
}

function read03(given: unknown): TaskSummary {
  const object = given as Object03
  const parts = object.parts ?? object.artifact?.parts ?? object.artifacts?.flatMap((artifact) => artifact.parts) ?? []
  const said = object.status?.message?.parts
  return {
    id: object.id ?? object.taskId,
    contextId: object.contextId,
    state: object.kind === 'message' ? 'completed' : object.status?.state,
    text: parts.map(({ text }) => text ?? '').join(''),
    pieces: parts.map(pieceOf),
    note: said?.map(({ text }) => text ?? '').join(''),
    isLast: object.final,
  }
}

/** Release 0.2.5: discovers by `/.well-known/agent.json`, calls over JSON-RPC. */
export function sdk02(url: string): WireClient {
  const client = new A2AClient(url.replace(/\/$/, ''))
  const outcome = (response: unknown): CallResult => {
    const { result, error } = response as { result?: unknown; error?: Refused }
    return error ? { refused: error } : { result: read03(result) }
  }
  return {
    name: 'SDK 0.2.5',
    dialect: 'v0.3',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: async (content, where) => outcome(await client.sendMessage({ message: message03(content, where) })),
    async *stream(content, where) {
      for await (const event of client.sendMessageStream({ message: message03(content, where) })) yield read03(event)
    },
    get: async (id) => outcome(await client.getTask({ id })),
    cancel: async (id) => outcome(await client.cancelTask({ id })),
    async *subscribe(id) {
      for await (const event of client.resubscribeTask({ id })) yield read03(event)
    },
    async push(taskId, url) {
      await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: { url } })
      const answer = (await client.getTaskPushNotificationConfig({ id: taskId })) as {
        result: { pushNotificationConfig: { url: string } }
      }
      return answer.result.pushNotificationConfig.url
    },
  }
}

/** Over its protobuf this release drops file names and the metadata that marks data which is no object. */
function carried03(piece: Piece): Piece | undefined {
  if ('bytes' in piece) return { ...piece, name: '' }
  return 'data' in piece && (typeof piece.data !== 'object' || piece.data === null || Array.isArray(piece.data))
    ? undefined
    : piece
}

function hasNull(piece: Piece): boolean {
  return 'data' in piece && JSON.stringify(piece.data).includes('null')
}

/** Release 0.3.14 over each of its transports. */
export async function sdk03(url: string, transport: TransportName): Promise<WireClient> {
  const factory = new FactoryV03({
    transports: [new JsonRpcV03(), new RestV03(), new GrpcV03()],
    preferredTransports: [transport],
  })
  const client: ClientV03 = await factory.createFromUrl(url)
  return {
    name: `SDK 0.3.14 over ${transport}`,
    ...(transport === 'HTTP+JSON' && { carries: carried03 }),
    // This release cannot write null either.
    ...(transport === 'GRPC' && { carries: (piece) => (hasNull(piece) ? undefined : carried03(piece)) }),
    dialect: 'v0.3',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: (content, where) =>
      attempt(async () => read03(await client.sendMessage({ message: message03(content, where) }))),
    async *stream(content, where) {
      for await (const event of client.sendMessageStream({ message: message03(content, where) })) yield read03(event)
    },
    get: (id) => attempt(async () => read03(await client.getTask({ id }))),
    cancel: (id) => attempt(async () => read03(await client.cancelTask({ id }))),
    async *subscribe(id) {
      for await (const event of client.resubscribeTask({ id })) yield read03(event)
    },
    async push(taskId, url) {
      await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: { id: 'sdk', url } })
      const read = { id: taskId, pushNotificationConfigId: 'sdk' }
      return (await client.getTaskPushNotificationConfig(read)).pushNotificationConfig.url
    },
  }
}

type PartV1 = Message['parts'][number]

function partV1(piece: Piece): PartV1 {
  const rest = { metadata: undefined, filename: '', mediaType: '' }
  if ('text' in piece) return { ...rest, content: { $case: 'text', value: piece.text } }
  if ('data' in piece) return { ...rest, content: { $case: 'data', value: piece.data } }
  const value = Buffer.from(piece.bytes, 'base64')
  return { ...rest, content: { $case: 'raw', value }, mediaType: piece.mediaType, filename: piece.name }
}

function pieceV1({ content, mediaType, filename }: PartV1): Piece {
  if (content?.$case === 'text') return { text: content.value }
  if (content?.$case === 'raw') return { bytes: content.value.toString('base64'), mediaType, name: filename }
  return { data: content?.value as unknown }
}

function requestV1(content: string | readonly Piece[], { taskId = '', contextId = '' }: TaskTarget = {}) {
  const message: Message = {
    messageId: newId('m'),
    taskId,
    contextId,
    role: Role.ROLE_USER,
    parts: piecesOf(content).map(partV1),
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
  return { tenant: '', message, configuration: undefined, metadata: undefined }
}

function readV1(given: Task | Message): TaskSummary {
  if ('role' in given) {
    const text = textV1(given.parts)
    return { id: given.taskId, contextId: given.contextId, state: 'completed', text }
  }
  const parts = given.artifacts.flatMap((artifact) => artifact.parts)
  return {
    id: given.id,
    contextId: given.contextId,
    state: stateV1(given.status?.state),
    text: textV1(parts),
    pieces: parts.map(pieceV1),
    note: given.status?.message && textV1(given.status.message.parts),
  }
}

function textV1(parts: readonly PartV1[]): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
}

function stateV1(state: TaskState | undefined): string | undefined {
  return state === undefined ? undefined : stateOf(TaskState[state])
}

type EventV1 = Awaited<ReturnType<ReturnType<ClientV1['sendMessageStream']>['next']>>['value']

function readEventV1(event: EventV1): TaskSummary {
  const payload = event?.payload
  if (payload?.$case === 'task' || payload?.$case === 'message') return readV1(payload.value)
  if (payload?.$case === 'statusUpdate') {
    const { taskId, contextId, status } = payload.value
    return {
      id: taskId,
      contextId,
      state: stateV1(status?.state),
      note: status?.message && textV1(status.message.parts),
    }
  }
  const { taskId, artifact } = payload?.value ?? {}
  const parts = artifact?.parts ?? []
  return { id: taskId, text: textV1(parts), pieces: parts.map(pieceV1) }
}

/** Release 1.3.0 over each of its transports. */
export async function sdk1(url: string, transport: TransportName): Promise<WireClient> {
  const factory = new FactoryV1({
    transports: [new JsonRpcV1(), new RestV1(), new GrpcV1()],
    preferredTransports: [transport],
  })
  const client: ClientV1 = await factory.createFromUrl(url)
  const own = { tenant: '' }
  return {
    name: `SDK 1.3.0 over ${transport}`,
    // This release ignores null values in JSON.
    carries: (piece) => ('data' in piece && piece.data === null ? undefined : piece),
    dialect: 'v1',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: (content, where) => attempt(async () => readV1(await client.sendMessage(requestV1(content, where)))),
    async *stream(content, where) {
      for await (const event of client.sendMessageStream(requestV1(content, where))) yield readEventV1(event)
    },
    get: (id) => attempt(async () => readV1(await client.getTask({ ...own, id }))),
    cancel: (id) => attempt(async () => readV1(await client.cancelTask({ ...own, id, metadata: undefined }))),
    async *subscribe(id) {
      for await (const event of client.resubscribeTask({ ...own, id })) yield readEventV1(event)
    },
    async push(taskId, url) {
      const config = { ...own, id: 'sdk1', taskId, url, token: '', authentication: undefined }
      await client.createTaskPushNotificationConfig(config)
      return (await client.getTaskPushNotificationConfig({ ...own, id: 'sdk1', taskId })).url
    },
  }
}

/** SDKs throw classes; the numbers are those of the protocol. */
const codes: Readonly<Record<string, number>> = {
  TaskNotFoundError: -32001,
  TaskNotCancelableError: -32002,
  PushNotificationNotSupportedError: -32003,
  UnsupportedOperationError: -32004,
}

async function attempt(call: () => Promise<TaskSummary>): Promise<CallResult> {
  try {
    return { result: await call() }
  } catch (error) {
    const { name, message } = error as Error
    const kind = (error as Error).constructor.name
    const [, grpc] = /GRPC error for \w+! (\d+)/.exec(message) ?? []
    const code = codes[kind] ?? codes[name] ?? (grpc && status[Number(grpc)]) ?? `${kind}: ${message}`
    return { refused: { code, message } }
  }
}
