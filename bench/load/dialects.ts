/**
 * The wire format of each dialect over HTTP: requests, the readers of answers and events, and the bytes by which the
 * chunks of a stream are counted. Written by hand, so that the measured codecs do not check themselves.
 */
import { randomUUID } from 'node:crypto'

export interface HttpRequest {
  /** Default POST. */
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface WireContent {
  readonly parts?: readonly { readonly text?: string }[]
}

export interface WireTask {
  readonly id?: string
  readonly status?: { readonly state?: string }
  readonly artifacts?: readonly WireContent[]
}

/** An event of v1, and of other dialects that name the kind of an event by a member. */
export interface NamedEvent {
  readonly task?: WireTask
  readonly statusUpdate?: WireTask
  readonly artifactUpdate?: { readonly taskId?: string; readonly artifact?: WireContent }
}

/** An event of the v0.x dialects. Its members tell its kind. */
interface UnnamedEvent extends WireTask {
  readonly kind?: string
  readonly task?: WireTask
  readonly artifact?: WireContent
}

interface InvokeAnswer {
  readonly status?: string
  readonly output?: string
}

interface ChatMessage extends WireContent {
  readonly metadata?: { readonly state?: string }
}

interface ChatEvents {
  readonly events?: readonly { readonly messageDelta?: WireContent; readonly state?: string }[]
}

export interface RpcAnswer<Result = NamedEvent> {
  readonly error?: unknown
  readonly result?: Result
}

export interface TaskSummary {
  readonly state?: string | undefined
  readonly text?: string | undefined
}

export interface EventSummary {
  readonly isTask?: boolean
  readonly state?: string | undefined
  readonly chunk?: string | undefined
}

export interface Dialect {
  readonly title: string
  send(text: string): HttpRequest
  stream(text: string): HttpRequest
  /** Reads the parsed JSON of an answer. Each dialect declares the members that it reads. */
  readAnswer(answer: object): TaskSummary
  readEvent(event: object): EventSummary
  /** The spelling of the state COMPLETED. */
  readonly completed: string
  /** A text that each artifact chunk contains, and no other event. */
  readonly chunkMarker: string
  /** Whether a stream begins with the task. Default false. */
  readonly isTaskFirst?: boolean
  /** Whether the last event of a stream repeats the whole task or its text, by definition. Default false. */
  readonly repeatsTask?: boolean
  /** The last event, where that is not JSON. */
  readonly endMarker?: string
}

const json: Readonly<Record<string, string>> = { 'content-type': 'application/json' }
const v1 = { ...json, 'a2a-version': '1.0' }

let messageCount = 0

function nextMessageId(): string {
  return `m-${++messageCount}`
}

function post(path: string, content: object, headers = json): HttpRequest {
  return { path, headers, body: JSON.stringify(content) }
}

interface RpcCall {
  readonly method: string
  readonly params: object
}

function rpc(path: string, { method, params }: RpcCall, headers = json): HttpRequest {
  return post(path, { jsonrpc: '2.0', id: 1, method, params }, headers)
}

/** A call of v1 JSON-RPC, for operations that the other dialects do not have. */
export function v1Call(method: string, params: object): HttpRequest {
  return rpc('/', { method, params }, v1)
}

export interface V1Message {
  readonly messageId: string
  readonly role: 'ROLE_USER'
  readonly parts: readonly { readonly text: string }[]
}

export function v1Message(text: string): V1Message {
  return { messageId: nextMessageId(), role: 'ROLE_USER', parts: [{ text }] }
}

/** Throws on a JSON-RPC error. */
export function resultOf<Result>({ error, result }: RpcAnswer<Result>): Result {
  if (error || result === undefined) throw new Error(`The server answered ${JSON.stringify(error)}`)
  return result
}

function textIn(content: WireContent | undefined): string | undefined {
  return content?.parts?.[0]?.text
}

function readTask(task: WireTask | undefined): TaskSummary {
  return { state: task?.status?.state, text: textIn(task?.artifacts?.[0]) }
}

function readNamedEvent({ task, statusUpdate, artifactUpdate }: NamedEvent): EventSummary {
  if (artifactUpdate) return { chunk: textIn(artifactUpdate.artifact) }
  return { isTask: task !== undefined, state: (statusUpdate ?? task)?.status?.state }
}

function readUnnamedEvent(event: UnnamedEvent): EventSummary {
  if (event.artifact) return { chunk: textIn(event.artifact) }
  const isTask = event.task !== undefined || event.kind === 'task'
  return { isTask, state: (event.task ?? event).status?.state }
}

function v03Params(text: string) {
  const message = { kind: 'message', messageId: nextMessageId(), role: 'user', parts: [{ kind: 'text', text }] }
  return { message }
}

/** HTTP+JSON of v0.3 is the JSON form of its protobuf messages. */
function v03Proto(text: string) {
  return { message: { messageId: nextMessageId(), role: 'ROLE_USER', content: [{ text }] } }
}

/** In v0.1 the caller chooses the task id. */
function v01Params(text: string) {
  return { id: randomUUID(), message: { role: 'user', parts: [{ type: 'text', text }] } }
}

function taskRestBody(text: string) {
  return { message: { role: 'user', messageId: nextMessageId(), parts: [{ type: 'text', text }] } }
}

function chatRpc(method: string, text: string): HttpRequest {
  const message = { role: 'user', messageId: nextMessageId(), parts: [{ kind: 'text', text }] }
  return rpc('/api/v1/a2a', { method, params: { message } })
}

export const dialects: Readonly<Record<string, Dialect>> = {
  v1: {
    title: 'v1 JSON-RPC',
    send: (text) => v1Call('SendMessage', { message: v1Message(text) }),
    stream: (text) => v1Call('SendStreamingMessage', { message: v1Message(text) }),
    readAnswer: (answer: RpcAnswer) => readTask(resultOf(answer).task),
    readEvent: (event: RpcAnswer) => readNamedEvent(resultOf(event)),
    completed: 'TASK_STATE_COMPLETED',
    chunkMarker: '"artifactUpdate":',
    isTaskFirst: true,
  },
  'v1-rest': {
    title: 'v1 HTTP+JSON',
    send: (text) => post('/message:send', { message: v1Message(text) }, v1),
    stream: (text) => post('/message:stream', { message: v1Message(text) }, v1),
    readAnswer: ({ task }: NamedEvent) => readTask(task),
    readEvent: readNamedEvent,
    completed: 'TASK_STATE_COMPLETED',
    chunkMarker: '"artifactUpdate":',
    isTaskFirst: true,
  },
  'v0.3': {
    title: 'v0.3 JSON-RPC',
    send: (text) => rpc('/', { method: 'message/send', params: v03Params(text) }),
    stream: (text) => rpc('/', { method: 'message/stream', params: v03Params(text) }),
    readAnswer: (answer: RpcAnswer<WireTask>) => readTask(resultOf(answer)),
    readEvent: (event: RpcAnswer<UnnamedEvent>) => readUnnamedEvent(resultOf(event)),
    completed: 'completed',
    chunkMarker: '"artifact-update"',
    isTaskFirst: true,
  },
  'v0.3-rest': {
    title: 'v0.3 HTTP+JSON',
    send: (text) => post('/v1/message:send', v03Proto(text)),
    stream: (text) => post('/v1/message:stream', v03Proto(text)),
    readAnswer: ({ task }: NamedEvent) => readTask(task),
    readEvent: readNamedEvent,
    completed: 'TASK_STATE_COMPLETED',
    chunkMarker: '"artifactUpdate":',
    isTaskFirst: true,
  },
  'v0.1': {
    title: 'v0.1',
    send: (text) => rpc('/', { method: 'tasks/send', params: v01Params(text) }),
    stream: (text) => rpc('/', { method: 'tasks/sendSubscribe', params: v01Params(text) }),
    readAnswer: (answer: RpcAnswer<WireTask>) => readTask(resultOf(answer)),
    readEvent: (event: RpcAnswer<UnnamedEvent>) => readUnnamedEvent(resultOf(event)),
    completed: 'completed',
    chunkMarker: '"artifact":',
  },
  'task-rest': {
    title: 'task-rest',
    repeatsTask: true,
    send: (text) => post('/tasks/send', taskRestBody(text)),
    stream: (text) => post('/tasks/sendSubscribe', taskRestBody(text)),
    readAnswer: readTask,
    readEvent: readUnnamedEvent,
    completed: 'completed',
    chunkMarker: '"artifact":',
    isTaskFirst: true,
  },
  invoke: {
    title: 'invoke',
    repeatsTask: true,
    send: (text) => post('/a2a/invoke', { input: text }),
    stream: (text) => post('/a2a/stream', { input: text }),
    readAnswer: ({ status, output }: InvokeAnswer) => ({ state: status, text: output }),
    readEvent: ({ status, output }: InvokeAnswer) => (status === 'processing' ? { chunk: output } : { state: status }),
    completed: 'success',
    chunkMarker: '"status":"processing"',
  },
  'chat-rpc': {
    title: 'chat-rpc',
    repeatsTask: true,
    send: (text) => chatRpc('message/send', text),
    stream: (text) => chatRpc('message/stream', text),
    readAnswer(answer: RpcAnswer<ChatMessage>) {
      const message = resultOf(answer)
      // The state is absent when it is completed.
      return { state: message.metadata?.state ?? 'completed', text: textIn(message) }
    },
    readEvent(event: RpcAnswer<ChatEvents>) {
      const first = resultOf(event).events?.[0]
      const text = textIn(first?.messageDelta)
      return text ? { chunk: text } : { state: first?.state }
    },
    completed: 'completed',
    // The first delta of a stream is empty. The text of each chunk ends with a space.
    chunkMarker: ' "}]}}],"final":false',
    endMarker: '[DONE]',
  },
}
