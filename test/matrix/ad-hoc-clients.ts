/** Clients of the three ad-hoc dialects, independent of Dragoman's codecs. */
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

interface Part {
  text?: string
  data?: unknown
  file?: { bytes?: string; mimeType?: string; name?: string }
  metadata?: Json
}

interface Task {
  id: string
  contextId: string
  status: { state: string; message?: { parts: Part[] } }
  artifacts?: { parts: Part[] }[]
}

function textIn(parts: readonly Part[]): string {
  return parts.map(({ text }) => text ?? '').join('')
}

function pieceOf({ text, data, file, metadata }: Part): Piece {
  if (text !== undefined) return { text }
  if (file) return { bytes: file.bytes ?? '', mediaType: file.mimeType ?? '', name: file.name ?? '' }
  return { data: metadata?.data_part_compat === true ? (data as { value: unknown }).value : data }
}

function readTask({ id, contextId, status, artifacts = [] }: Task): TaskSummary {
  const parts = artifacts.flatMap((artifact) => artifact.parts)
  const note = status.message && textIn(status.message.parts)
  return { id, contextId, state: status.state, text: textIn(parts), pieces: parts.map(pieceOf), note }
}

function encodePart(piece: Piece, tag: 'type' | 'kind'): Json {
  if ('text' in piece) return { [tag]: 'text', text: piece.text }
  if ('bytes' in piece)
    return { [tag]: 'file', file: { bytes: piece.bytes, mimeType: piece.mediaType, name: piece.name } }
  const isObject = typeof piece.data === 'object' && piece.data !== null && !Array.isArray(piece.data)
  if (isObject) return { [tag]: 'data', data: piece.data }
  return { [tag]: 'data', data: { value: piece.data }, metadata: { data_part_compat: true } }
}

export function taskRest(fetch: Fetch): WireClient {
  const body = (content: string | readonly Piece[], where: TaskTarget = {}): Json => ({
    message: {
      role: 'user',
      messageId: newId('m'),
      parts: piecesOf(content).map((each) => encodePart(each, 'type')),
      ...where,
    },
  })
  const read = async (response: Response): Promise<CallResult> => {
    const answer = (await response.json()) as Json
    if (response.ok) return { result: readTask(answer as unknown as Task) }
    return { refused: { code: response.status, message: String(answer.detail) } }
  }
  const follow = async function* (path: string, given: Json): AsyncGenerator<TaskSummary> {
    for await (const { data } of readEvents(await postJson(fetch, path, given))) {
      const { task, taskId, contextId, artifact } = data as {
        task?: Task
        taskId: string
        contextId: string
        artifact: { parts: Part[] }
      }
      if (task) yield readTask(task)
      else yield { id: taskId, contextId, text: textIn(artifact.parts), pieces: artifact.parts.map(pieceOf) }
    }
  }
  return {
    name: 'task-rest',
    dialect: 'task-rest',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: async (content, where) => read(await postJson(fetch, '/tasks/send', body(content, where))),
    stream: (content, where) => follow('/tasks/sendSubscribe', body(content, where)),
    get: async (id) => read(await fetch(`/tasks/${id}`, { method: 'GET' })),
    cancel: async (id) => read(await fetch(`/tasks/${id}/cancel`, { method: 'POST' })),
    subscribe: (id) => follow('/tasks/resubscribe', { id }),
    async push(id, url) {
      await postJson(fetch, '/tasks/pushNotification/set', { id, pushNotificationConfig: { url } })
      const answer = await postJson(fetch, '/tasks/pushNotification/get', { id })
      return ((await answer.json()) as { pushNotificationConfig: { url: string } }).pushNotificationConfig.url
    },
  }
}

interface Output {
  output?: unknown
  error?: string
  status: string
  task_id?: string
  chat_id?: string
}

const invokeStates: Record<string, string> = {
  success: 'completed',
  processing: 'working',
  input_required: 'input-required',
}

function readOutput({ output, status, task_id, chat_id, error }: Output, isEvent = false): TaskSummary {
  const text = typeof output === 'string' ? output : undefined
  const pieces = output === undefined || text !== undefined ? undefined : [{ data: output }]
  const state = invokeStates[status] ?? 'failed'
  const isQuestion = state === 'input-required'
  return {
    id: task_id,
    contextId: chat_id,
    state,
    text: isQuestion ? undefined : text,
    pieces,
    note: isQuestion ? text : error,
    ...(isEvent && { isLast: status !== 'processing' }),
  }
}

/** `jsonrpc` puts the same bodies into an envelope. */
export function invoke(fetch: Fetch, flavour: 'bare' | 'jsonrpc' = 'bare'): WireClient {
  const body = (content: string | readonly Piece[], { taskId, contextId }: TaskTarget = {}): Json => {
    const [piece = { text: '' }] = piecesOf(content)
    return {
      input: 'text' in piece ? piece.text : 'data' in piece ? piece.data : piece.bytes,
      ...(contextId && { chat_id: contextId }),
      ...(taskId && { task_id: taskId }),
      user_id: 'u1',
    }
  }
  const none = () => {
    throw new Error('invoke has no such operation')
  }
  const send = async (given: Json): Promise<CallResult> => {
    if (flavour === 'jsonrpc') {
      const answer = await rpc(fetch, '/a2a/invoke', 'invoke', given)
      return 'refused' in answer ? answer : { result: readOutput(answer.result as Output) }
    }
    const response = await postJson(fetch, '/a2a/invoke', given)
    const answer = (await response.json()) as Output
    if (response.ok) return { result: readOutput(answer) }
    return { refused: { code: response.status, message: String(answer.error) } }
  }
  return {
    name: `invoke, ${flavour}`,
    dialect: 'invoke',
    has: new Set(),
    send: (content, where) => send(body(content, where)),
    async *stream(content, where) {
      if (flavour === 'jsonrpc') {
        for await (const each of rpcStream(fetch, '/a2a/stream', 'stream', body(content, where)))
          yield readOutput(each as Output, true)
        return
      }
      for await (const { data } of readEvents(await postJson(fetch, '/a2a/stream', body(content, where))))
        yield readOutput(data as Output, true)
    },
    get: none,
    cancel: none,
    subscribe: none,
    push: none,
  }
}

interface ChatChunk {
  task: { id: string; state: string; contextId: string }
  events: {
    type: string
    state: string
    messageDelta?: { parts: Part[] }
    message?: { parts: Part[] }
    artifact?: { parts: Part[] }
  }[]
  final: boolean
}

export function chatRpc(fetch: Fetch): WireClient {
  const path = '/api/v1/a2a'
  const params = (content: string | readonly Piece[], where: TaskTarget = {}): Json => ({
    message: { role: 'user', parts: piecesOf(content).map((each) => encodePart(each, 'kind')), ...where },
    metadata: { trace_id: 'x1' },
  })
  const task = async (method: string, id: string): Promise<CallResult> => {
    const answer = await rpc(fetch, path, method, { id })
    return 'refused' in answer ? answer : { result: readTask(answer.result as Task) }
  }
  return {
    name: 'chat-rpc',
    dialect: 'chat-rpc',
    has: new Set(['get', 'cancel']),
    async send(content, where) {
      const answer = await rpc(fetch, path, 'message/send', params(content, where))
      if ('refused' in answer) return answer
      const { kind, parts, contextId, taskId, metadata } = answer.result as Json & { parts: Part[]; metadata?: Json }
      if (kind !== 'message') throw new Error(`No message: ${JSON.stringify(answer.result)}`)
      const state = String(metadata?.state ?? 'completed')
      const isQuestion = state === 'input-required'
      return {
        result: {
          id: taskId as string | undefined,
          contextId: contextId as string,
          state,
          text: isQuestion ? undefined : textIn(parts),
          pieces: parts.map(pieceOf),
          note: isQuestion ? textIn(parts) : undefined,
        },
      }
    },
    async *stream(content, where) {
      let isDone = false
      const response = await postJson(fetch, path, {
        jsonrpc: '2.0',
        id: 7,
        method: 'message/stream',
        params: params(content, where),
      })
      for await (const { data } of readEvents(response)) {
        if (isDone) throw new Error('There is data after [DONE]')
        isDone = data === '[DONE]'
        if (!isDone) yield* readChunk((data as { result: ChatChunk }).result)
      }
      if (!isDone) throw new Error('The stream ended without [DONE]')
    },
    get: (id) => task('tasks/get', id),
    cancel: (id) => task('tasks/cancel', id),
    subscribe: () => {
      throw new Error('chat-rpc has no such operation')
    },
    push: () => {
      throw new Error('chat-rpc has no such operation')
    },
  }
}

function* readChunk({ task, events, final }: ChatChunk): Generator<TaskSummary> {
  for (const { state, messageDelta, message, artifact } of events) {
    const said = (message ?? messageDelta ?? artifact)?.parts ?? []
    yield {
      id: task.id,
      contextId: task.contextId,
      state: state ?? task.state,
      ...(message && state === 'input-required' ? { note: textIn(said) } : { text: textIn(said) }),
      pieces: said.map(pieceOf),
      isLast: final,
    }
  }
}
