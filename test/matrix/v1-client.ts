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

const headers = { 'a2a-version': '1.0' }

export function v1Message(content: string | readonly Piece[], where: TaskTarget = {}): Json {
  return {
    messageId: newId('m'),
    role: 'ROLE_USER',
    parts: piecesOf(content).map((piece) =>
      'bytes' in piece ? { raw: piece.bytes, mediaType: piece.mediaType, filename: piece.name } : piece,
    ),
    ...where,
  }
}

export function v1JsonRpc(fetch: Fetch): WireClient {
  const call = async (method: string, params: unknown, read: (result: Json) => TaskSummary): Promise<CallResult> => {
    const answer = await rpc(fetch, '/', method, params, headers)
    return 'refused' in answer ? answer : { result: read(answer.result as Json) }
  }
  return {
    name: 'v1 over JSON-RPC',
    dialect: 'v1',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: (content, where) => call('SendMessage', { message: v1Message(content, where) }, readV1),
    async *stream(content, where) {
      const params = { message: v1Message(content, where) }
      for await (const event of rpcStream(fetch, '/', 'SendStreamingMessage', params, headers))
        yield readV1(event as Json)
    },
    get: (id) => call('GetTask', { id }, (task) => readV1({ task })),
    cancel: (id) => call('CancelTask', { id }, (task) => readV1({ task })),
    async *subscribe(id) {
      for await (const event of rpcStream(fetch, '/', 'SubscribeToTask', { id }, headers)) yield readV1(event as Json)
    },
    async push(taskId, url) {
      await call('CreateTaskPushNotificationConfig', { taskId, id: 'v1-hook', url }, () => ({}))
      const answer = await rpc(fetch, '/', 'GetTaskPushNotificationConfig', { taskId, id: 'v1-hook' }, headers)
      return 'refused' in answer ? answer.refused.message : String((answer.result as Json).url)
    },
  }
}

export function v1Rest(fetch: Fetch): WireClient {
  const read = async (response: Response, take: (body: Json) => TaskSummary): Promise<CallResult> => {
    const body = (await response.json()) as Json
    if (response.ok) return { result: take(body) }
    const { message } = body.error as { message: string }
    return { refused: { code: response.status, message } }
  }
  const get = (path: string) => fetch(path, { method: 'GET', headers })
  const post = (path: string, body: unknown) => postJson(fetch, path, body, headers)
  return {
    name: 'v1 over HTTP+JSON',
    dialect: 'v1',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: async (content, where) => read(await post('/message:send', { message: v1Message(content, where) }), readV1),
    async *stream(content, where) {
      const response = await post('/message:stream', { message: v1Message(content, where) })
      for await (const { data } of readEvents(response)) yield readV1(data as Json)
    },
    get: async (id) => read(await get(`/tasks/${id}`), (task) => readV1({ task })),
    cancel: async (id) => read(await post(`/tasks/${id}:cancel`, {}), (task) => readV1({ task })),
    async *subscribe(id) {
      for await (const { data } of readEvents(await get(`/tasks/${id}:subscribe`))) yield readV1(data as Json)
    },
    async push(id, url) {
      await post(`/tasks/${id}/pushNotificationConfigs`, { id: 'rest-hook', url })
      const config = (await (await get(`/tasks/${id}/pushNotificationConfigs/rest-hook`)).json()) as Json
      return String(config.url)
    },
  }
}

interface V1Part {
  text?: string
  data?: unknown
  raw?: string
  mediaType?: string
  filename?: string
}

interface V1Message {
  parts: V1Part[]
  contextId?: string
  taskId?: string
}

interface V1Task {
  id: string
  contextId: string
  status: { state: string; message?: V1Message }
  artifacts?: { parts: V1Part[] }[]
}

/** A send's result or a stream's event. */
export function readV1(response: Json): TaskSummary {
  if ('task' in response) return readTask(response.task as V1Task)
  if ('message' in response) {
    const { parts, contextId, taskId } = response.message as V1Message
    return { id: taskId, contextId, text: textIn(parts), state: 'completed' }
  }
  if ('statusUpdate' in response) {
    const { taskId, contextId, status } = response.statusUpdate as V1Task & { taskId: string }
    return { id: taskId, contextId, state: stateOf(status.state), note: status.message && textIn(status.message.parts) }
  }
  const { taskId, artifact } = response.artifactUpdate as { taskId: string; artifact: { parts: V1Part[] } }
  return { id: taskId, text: textIn(artifact.parts), pieces: artifact.parts.map(pieceOf) }
}

function readTask({ id, contextId, status, artifacts = [] }: V1Task): TaskSummary {
  const parts = artifacts.flatMap((artifact) => artifact.parts)
  return {
    id,
    contextId,
    state: stateOf(status.state),
    text: textIn(parts),
    pieces: parts.map(pieceOf),
    note: status.message && textIn(status.message.parts),
  }
}

function textIn(parts: readonly V1Part[]): string {
  return parts.map(({ text }) => text ?? '').join('')
}

function pieceOf({ text, data, raw, mediaType = '', filename = '' }: V1Part): Piece {
  if (raw !== undefined) return { bytes: raw, mediaType, name: filename }
  return text === undefined ? { data } : { text }
}

export function stateOf(name: string): string {
  return name.replace('TASK_STATE_', '').replace('CANCELLED', 'CANCELED').toLowerCase().replaceAll('_', '-')
}
