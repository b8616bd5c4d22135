/** Clients of 0.3, 0.2 and 0.1, independent of Dragoman's codecs. */

import { stateOf } from './v1-client.js'
import {
  type CallResult,
  type Fetch,
  type Json,
  newId,
  type Piece,
  piecesOf,
  postJson,
  readEvents,
  rpc,
  rpcStream,
  type TaskSummary,
  type TaskTarget,
  type WireClient,
} from './wire-client.js'

/** A part of 0.x: recognised by `kind`, by `type`, or by its members (the Go library). */
interface Part {
  text?: string
  data?: unknown
  file?: { bytes?: string; mimeType?: string; name?: string }
  mimeType?: string
  metadata?: Json
}

interface Message {
  parts: Part[]
  contextId?: string
  taskId?: string
}

interface Task {
  id: string
  contextId?: string
  sessionId?: string
  status: { state: string; message?: Message }
  artifacts?: { parts: Part[] }[]
}

function encodeParts(content: string | readonly Piece[], tag: 'kind' | 'type'): Json[] {
  return piecesOf(content).map((piece) => {
    if ('text' in piece) return { [tag]: 'text', text: piece.text }
    if ('data' in piece) return { [tag]: 'data', ...wrapped(piece.data) }
    return { [tag]: 'file', file: { bytes: piece.bytes, mimeType: piece.mediaType, name: piece.name } }
  })
}

/** The SDKs' wrapper for data that is not an object. */
function wrapped(data: unknown): Json {
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return { data }
  return { data: { value: data }, metadata: { data_part_compat: true } }
}

export function pieceOf(part: Part): Piece {
  const { text, data, file, metadata, mimeType } = part
  if (text !== undefined) return { text }
  if (file) return { bytes: file.bytes ?? '', mediaType: file.mimeType ?? mimeType ?? '', name: file.name ?? '' }
  return { data: metadata?.data_part_compat === true ? (data as { value: unknown }).value : data }
}

function textIn(parts: readonly Part[]): string {
  return parts.map(({ text }) => text ?? '').join('')
}

function noteIn(message: Message | undefined): string | undefined {
  return message && textIn(message.parts)
}

function readTask(task: Task): TaskSummary {
  const parts = (task.artifacts ?? []).flatMap((artifact) => artifact.parts)
  return {
    id: task.id,
    contextId: task.contextId ?? task.sessionId,
    state: task.status.state,
    text: textIn(parts),
    pieces: parts.map(pieceOf),
    note: noteIn(task.status.message),
  }
}

interface Event {
  kind: string
  taskId: string
  contextId: string
  status: Task['status']
  artifact: { parts: Part[] }
  final?: boolean
}

function readV03(result: Json): TaskSummary {
  const { kind } = result
  // Without a version in the call, a task of 0.1 is encoded in 0.1 (RM-DET-4).
  if (kind === 'task' || 'sessionId' in result) return readTask(result as unknown as Task)
  if (kind === 'message') {
    const { parts, contextId, taskId } = result as unknown as Message
    return { id: taskId, contextId, text: textIn(parts), state: 'completed', isLast: true }
  }
  const { taskId, contextId, status, artifact, final } = result as unknown as Event
  if (kind === 'artifact-update') {
    return { id: taskId, contextId, text: textIn(artifact.parts), pieces: artifact.parts.map(pieceOf) }
  }
  if (kind !== 'status-update') throw new Error(`No 0.3 object: ${JSON.stringify(result)}`)
  return { id: taskId, contextId, state: status.state, note: noteIn(status.message), isLast: final }
}

/** `0.2` omits members that were optional in its messages. */
export function v03JsonRpc(fetch: Fetch, release: '0.3' | '0.2' = '0.3'): WireClient {
  const message = (content: string | readonly Piece[], where: TaskTarget = {}): Json => ({
    ...(release === '0.3' && { kind: 'message' }),
    messageId: newId('m'),
    role: 'user',
    parts: encodeParts(content, 'kind'),
    ...where,
  })
  const call = async (method: string, params: unknown): Promise<CallResult> => {
    const answer = await rpc(fetch, '/', method, params)
    return 'refused' in answer ? answer : { result: readV03(answer.result as Json) }
  }
  return {
    name: `v${release} over JSON-RPC`,
    dialect: 'v0.3',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: (content, where) =>
      call('message/send', {
        message: message(content, where),
        configuration: { acceptedOutputModes: ['text/plain'] },
      }),
    async *stream(content, where) {
      const params = { message: message(content, where) }
      for await (const event of rpcStream(fetch, '/', 'message/stream', params)) yield readV03(event as Json)
    },
    get: (id) => call('tasks/get', { id }),
    cancel: (id) => call('tasks/cancel', { id }),
    async *subscribe(id) {
      for await (const event of rpcStream(fetch, '/', 'tasks/resubscribe', { id })) yield readV03(event as Json)
    },
    async push(taskId, url) {
      await rpc(fetch, '/', 'tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig: { url } })
      const answer = await rpc(fetch, '/', 'tasks/pushNotificationConfig/get', { id: taskId })
      if ('refused' in answer) return answer.refused.message
      return (answer.result as { pushNotificationConfig: { url: string } }).pushNotificationConfig.url
    },
  }
}

// HTTP+JSON of 0.3 is its protobuf, spelled as ProtoJSON.

interface ProtoPart {
  text?: string
  file?: { fileWithBytes?: string; mimeType?: string; name?: string }
  data?: { data: unknown }
  metadata?: Json
}

interface ProtoMessage {
  content: ProtoPart[]
  contextId?: string
  taskId?: string
}

interface ProtoTask {
  id: string
  contextId: string
  status: { state: string; message?: ProtoMessage; update?: ProtoMessage }
  artifacts?: { parts: ProtoPart[] }[]
}

export function protoParts(content: string | readonly Piece[]): Json[] {
  return piecesOf(content).map((piece) => {
    if ('text' in piece) return { text: piece.text }
    if ('bytes' in piece) return { file: { fileWithBytes: piece.bytes, mimeType: piece.mediaType, name: piece.name } }
    const { data, ...flags } = wrapped(piece.data)
    return { data: { data }, ...flags }
  })
}

function plainPart({ text, file, data, metadata }: ProtoPart): Part {
  if (file) {
    const { fileWithBytes = '', mimeType = '', name = '' } = file
    return { file: { bytes: fileWithBytes, mimeType, name } }
  }
  return text === undefined ? { data: data?.data, ...(metadata && { metadata }) } : { text }
}

export function readProto(response: Json): TaskSummary {
  const message = (response.message ?? response.msg) as ProtoMessage | undefined
  if (message) {
    return {
      id: message.taskId,
      contextId: message.contextId,
      text: textIn(message.content.map(plainPart)),
      state: 'completed',
    }
  }
  if ('task' in response) {
    const { id, contextId, status, artifacts = [] } = response.task as ProtoTask
    const plain = artifacts.map(({ parts }) => ({ parts: parts.map(plainPart) }))
    return {
      ...readTask({ id, contextId, status: { state: stateOf(status.state) }, artifacts: plain }),
      note: protoNote(status),
    }
  }
  if ('statusUpdate' in response) {
    const { taskId, contextId, status, final } = response.statusUpdate as ProtoTask & {
      taskId: string
      final?: boolean
    }
    return { id: taskId, contextId, state: stateOf(status.state), note: protoNote(status), isLast: final === true }
  }
  const { taskId, artifact } = response.artifactUpdate as { taskId: string; artifact: { parts: ProtoPart[] } }
  const parts = artifact.parts.map(plainPart)
  return { id: taskId, text: textIn(parts), pieces: parts.map(pieceOf) }
}

function protoNote({ message, update }: ProtoTask['status']): string | undefined {
  const said = message ?? update
  return said && textIn(said.content.map(plainPart))
}

/** Writes and reads raw file content, as Node's user agent announces (R3-PB-12). */
export function v03Rest(plainFetch: Fetch): WireClient {
  const fetch: Fetch = (path, init) =>
    plainFetch(path, { ...init, headers: { ...init?.headers, 'user-agent': 'node' } as Record<string, string> })
  const message = (content: string | readonly Piece[], where: TaskTarget = {}): Json => ({
    messageId: newId('m'),
    role: 'ROLE_USER',
    content: protoParts(content),
    ...where,
  })
  const read = async (response: Response, take: (body: Json) => TaskSummary): Promise<CallResult> => {
    const body = (await response.json()) as Json
    if (response.ok) return { result: take(body) }
    return { refused: { code: response.status, message: String(body.message) } }
  }
  const get = (path: string) => fetch(path, { method: 'GET' })
  return {
    name: 'v0.3 over HTTP+JSON',
    dialect: 'v0.3',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: async (content, where) =>
      read(await postJson(fetch, '/v1/message:send', { message: message(content, where) }), readProto),
    async *stream(content, where) {
      const response = await postJson(fetch, '/v1/message:stream', { message: message(content, where) })
      for await (const { data } of readEvents(response)) yield readProto(data as Json)
    },
    get: async (id) => read(await get(`/v1/tasks/${id}`), (task) => readProto({ task })),
    cancel: async (id) =>
      read(await fetch(`/v1/tasks/${id}:cancel`, { method: 'POST' }), (task) => readProto({ task })),
    async *subscribe(id) {
      for await (const { data } of readEvents(await get(`/v1/tasks/${id}:subscribe`))) yield readProto(data as Json)
    },
    async push(id, url) {
      const path = `/v1/tasks/${id}/pushNotificationConfigs`
      await postJson(fetch, path, {
        parent: `tasks/${id}`,
        configId: 'c3',
        config: { pushNotificationConfig: { url } },
      })
      const config = (await (await get(`${path}/c3`)).json()) as { pushNotificationConfig: { url: string } }
      return config.pushNotificationConfig.url
    },
  }
}

export function v01JsonRpc(fetch: Fetch): WireClient {
  const params = (content: string | readonly Piece[], { taskId, contextId }: TaskTarget = {}): Json => ({
    id: taskId ?? newId('job'),
    ...(contextId && { sessionId: contextId }),
    message: { role: 'user', parts: encodeParts(content, 'type') },
  })
  const call = async (method: string, given: unknown): Promise<CallResult> => {
    const answer = await rpc(fetch, '/', method, given)
    return 'refused' in answer ? answer : { result: readTask(answer.result as Task) }
  }
  return {
    name: 'v0.1 over JSON-RPC',
    dialect: 'v0.1',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: (content, where) => call('tasks/send', params(content, where)),
    async *stream(content, where) {
      for await (const event of rpcStream(fetch, '/', 'tasks/sendSubscribe', params(content, where)))
        yield readV01Event(event as Json)
    },
    get: (id) => call('tasks/get', { id }),
    cancel: (id) => call('tasks/cancel', { id }),
    async *subscribe(id) {
      for await (const event of rpcStream(fetch, '/', 'tasks/resubscribe', { id })) yield readV01Event(event as Json)
    },
    async push(id, url) {
      await rpc(fetch, '/', 'tasks/pushNotification/set', { id, pushNotificationConfig: { url } })
      const answer = await rpc(fetch, '/', 'tasks/pushNotification/get', { id })
      if ('refused' in answer) return answer.refused.message
      return (answer.result as { pushNotificationConfig: { url: string } }).pushNotificationConfig.url
    },
  }
}

/** Resubscribing answers in the form the task was made in, so 0.3's events may come too (RM-DET-4). */
function readV01Event(event: Json): TaskSummary {
  if ('kind' in event) return readV03(event)
  const { id, status, artifact, final } = event as unknown as Event & { id: string }
  if (artifact) return { id, text: textIn(artifact.parts), pieces: artifact.parts.map(pieceOf) }
  return { id, state: status.state, note: noteIn(status.message), isLast: final }
}

/** The community Go library: named events, bodies without envelopes, and its own states. */
export function v01Go(fetch: Fetch): WireClient {
  const path = '/go'
  const states: Record<string, string> = { pending: 'submitted', processing: 'working' }
  const common = (state: string) => states[state] ?? state
  const read = (task: Task): TaskSummary => {
    const seen = readTask(task)
    return { ...seen, state: common(task.status.state) }
  }
  const params = (content: string | readonly Piece[], { taskId, contextId }: TaskTarget = {}): Json => ({
    id: taskId ?? newId('go'),
    ...(contextId && { sessionId: contextId }),
    message: { role: 'user', parts: encodeParts(content, 'type') },
  })
  const call = async (method: string, given: unknown): Promise<CallResult> => {
    const answer = await rpc(fetch, path, method, given)
    return 'refused' in answer ? answer : { result: read(answer.result as Task) }
  }
  const follow = async function* (method: string, given: Json): AsyncGenerator<TaskSummary> {
    const response = await postJson(fetch, path, { jsonrpc: '2.0', id: 7, method, params: given })
    for await (const { event, data } of readEvents(response)) {
      if (event === 'rpc_result') {
        const { result } = data as { result: Task | { status: string } }
        if ('id' in result) yield read(result)
      } else if (event === 'task_status_update') {
        const { id, status, final } = data as Event & { id: string }
        yield { id, state: common(status.state), note: noteIn(status.message), isLast: final }
      } else if (event === 'task_artifact_update') {
        const { id, artifact } = data as Event & { id: string }
        yield { id, text: textIn(artifact.parts), pieces: artifact.parts.map(pieceOf) }
      } else throw new Error(`An event without a name: ${JSON.stringify(data)}`)
    }
  }
  return {
    name: 'v0.1-go over JSON-RPC',
    dialect: 'v0.1-go',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: (content, where) => call('tasks/send', params(content, where)),
    stream: (content, where) => follow('tasks/sendSubscribe', params(content, where)),
    get: (id) => call('tasks/get', { id }),
    cancel: (id) => call('tasks/cancel', { id }),
    subscribe: (id) => follow('tasks/resubscribe', { id }),
    async push(id, url) {
      await rpc(fetch, path, 'tasks/pushNotification/set', { id, pushNotificationConfig: { url } })
      const answer = await rpc(fetch, path, 'tasks/pushNotification/get', { id })
      return 'refused' in answer ? answer.refused.message : (answer.result as { url: string }).url
    },
  }
}
