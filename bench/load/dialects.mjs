// How each dialect is spoken over HTTP: what is posted, how answers and events are read, and by which
// bytes a stream is counted. Spelled by hand, so that no codec of a measured server checks itself.
import { randomUUID } from 'node:crypto'

/**
 * @typedef {{ path: string, headers: Record<string, string>, body: string }} Request
 * @typedef {{ state?: string, text?: string }} Answer
 * @typedef {{ isTask?: boolean, state?: string, chunk?: string }} Event
 * @typedef {{ title: string, send(text: string): Request, stream(text: string): Request,
 *   readAnswer(answer: object): Answer, readEvent(event: object): Event,
 *   completed: string, chunkMark: string, isTaskFirst?: boolean, farewell?: string }} Dialect
 *   `completed` is how the state is spelled; `chunkMark` is in every artifact chunk and nowhere else;
 *   `farewell` is the last event where that is not JSON.
 */

const json = { 'content-type': 'application/json' }
const v1 = { ...json, 'a2a-version': '1.0' }

let made = 0

function nextMessageId() {
  return `m-${++made}`
}

function post(path, content, headers = json) {
  return { path, headers, body: JSON.stringify(content) }
}

function rpc(path, { method, params, headers }) {
  return post(path, { jsonrpc: '2.0', id: 1, method, params }, headers)
}

/** Any call of v1 JSON-RPC, for what only v1 is asked. */
export function v1Call(method, params) {
  return rpc('/', { method, params, headers: v1 })
}

export function v1Message(text) {
  return { messageId: nextMessageId(), role: 'ROLE_USER', parts: [{ text }] }
}

export function resultOf(answer) {
  if (answer.error) throw new Error(`The server answered ${JSON.stringify(answer.error)}`)
  return answer.result
}

function textIn(holder) {
  return holder?.parts?.[0]?.text
}

function readTask(task) {
  return { state: task?.status?.state, text: textIn(task?.artifacts?.[0]) }
}

/** An event of v1, and of whatever else names its kind by a member. */
function readNamedEvent({ task, statusUpdate, artifactUpdate }) {
  if (artifactUpdate) return { chunk: textIn(artifactUpdate.artifact) }
  return { isTask: task !== undefined, state: (statusUpdate ?? task)?.status.state }
}

/** An event of the 0.x family, where the members themselves tell what it is. */
function readOldEvent(event) {
  if (event.artifact) return { chunk: textIn(event.artifact) }
  const isTask = event.task !== undefined || event.kind === 'task'
  return { isTask, state: (event.task ?? event).status.state }
}

function v03Params(text) {
  const message = { kind: 'message', messageId: nextMessageId(), role: 'user', parts: [{ kind: 'text', text }] }
  return { message }
}

/** HTTP+JSON of 0.3 is its protobuf, spelled as JSON. */
function v03Proto(text) {
  return { message: { messageId: nextMessageId(), role: 'ROLE_USER', content: [{ text }] } }
}

/** Callers of 0.1 name the task. */
function v01Params(text) {
  return { id: randomUUID(), message: { role: 'user', parts: [{ type: 'text', text }] } }
}

function taskRestBody(text) {
  return { message: { role: 'user', messageId: nextMessageId(), parts: [{ type: 'text', text }] } }
}

function chatRpc(method, text) {
  const message = { role: 'user', messageId: nextMessageId(), parts: [{ kind: 'text', text }] }
  return rpc('/api/v1/a2a', { method, params: { message } })
}

/** @type {Record<string, Dialect>} */
export const dialects = {
  v1: {
    title: 'v1 JSON-RPC',
    send: (text) => v1Call('SendMessage', { message: v1Message(text) }),
    stream: (text) => v1Call('SendStreamingMessage', { message: v1Message(text) }),
    readAnswer: (answer) => readTask(resultOf(answer).task),
    readEvent: (event) => readNamedEvent(resultOf(event)),
    completed: 'TASK_STATE_COMPLETED',
    chunkMark: '"artifactUpdate":',
    isTaskFirst: true,
  },
  'v1-rest': {
    title: 'v1 HTTP+JSON',
    send: (text) => post('/message:send', { message: v1Message(text) }, v1),
    stream: (text) => post('/message:stream', { message: v1Message(text) }, v1),
    readAnswer: ({ task }) => readTask(task),
    readEvent: readNamedEvent,
    completed: 'TASK_STATE_COMPLETED',
    chunkMark: '"artifactUpdate":',
    isTaskFirst: true,
  },
  'v0.3': {
    title: 'v0.3 JSON-RPC',
    send: (text) => rpc('/', { method: 'message/send', params: v03Params(text) }),
    stream: (text) => rpc('/', { method: 'message/stream', params: v03Params(text) }),
    readAnswer: (answer) => readTask(resultOf(answer)),
    readEvent: (event) => readOldEvent(resultOf(event)),
    completed: 'completed',
    chunkMark: '"artifact-update"',
    isTaskFirst: true,
  },
  'v0.3-rest': {
    title: 'v0.3 HTTP+JSON',
    send: (text) => post('/v1/message:send', v03Proto(text)),
    stream: (text) => post('/v1/message:stream', v03Proto(text)),
    readAnswer: ({ task }) => readTask(task),
    readEvent: readNamedEvent,
    completed: 'TASK_STATE_COMPLETED',
    chunkMark: '"artifactUpdate":',
    isTaskFirst: true,
  },
  'v0.1': {
    title: 'v0.1',
    send: (text) => rpc('/', { method: 'tasks/send', params: v01Params(text) }),
    stream: (text) => rpc('/', { method: 'tasks/sendSubscribe', params: v01Params(text) }),
    readAnswer: (answer) => readTask(resultOf(answer)),
    readEvent: (event) => readOldEvent(resultOf(event)),
    completed: 'completed',
    chunkMark: '"artifact":',
  },
  'task-rest': {
    title: 'task-rest',
    send: (text) => post('/tasks/send', taskRestBody(text)),
    stream: (text) => post('/tasks/sendSubscribe', taskRestBody(text)),
    readAnswer: readTask,
    readEvent: readOldEvent,
    completed: 'completed',
    chunkMark: '"artifact":',
    isTaskFirst: true,
  },
  invoke: {
    title: 'invoke',
    send: (text) => post('/a2a/invoke', { input: text }),
    stream: (text) => post('/a2a/stream', { input: text }),
    readAnswer: ({ status, output }) => ({ state: status, text: output }),
    readEvent: ({ status, output }) => (status === 'processing' ? { chunk: output } : { state: status }),
    completed: 'success',
    chunkMark: '"status":"processing"',
  },
  'chat-rpc': {
    title: 'chat-rpc',
    send: (text) => chatRpc('message/send', text),
    stream: (text) => chatRpc('message/stream', text),
    readAnswer(answer) {
      const message = resultOf(answer)
      // Only a state other than completed is told.
      return { state: message.metadata?.state ?? 'completed', text: textIn(message) }
    },
    readEvent(event) {
      const [{ messageDelta, state }] = resultOf(event).events
      return messageDelta ? { chunk: textIn(messageDelta) } : { state }
    },
    completed: 'completed',
    chunkMark: '"messageDelta":',
    farewell: '[DONE]',
  },
}
