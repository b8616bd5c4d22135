/** The protocol of `useChat` in front of an agent: pages use the AI SDK as it comes. */
import type { UIMessageChunk } from 'ai'
import { A2AError, invalidField } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import type { JsonValue } from '../../model/part.js'
import type { Endpoint, Visit } from '../../server/endpoints.js'
import type { HttpAnswer } from '../../transports/exchange.js'
import { frame } from '../../transports/sse.js'
import { httpStatuses } from '../http-statuses.js'
import { type ChatAgent, newestTask, resumeChat, sendChat, stopChat } from './chat.js'
import type { ChatRequest } from './chat-message.js'

/** Options of `chatEndpoint`. */
export interface ChatEndpointOptions {
  /** The path, which is the `api` of the page's transport. Default `/api/chat`. */
  readonly path?: string
  /** The name of the agent. Required if the port has several agents. */
  readonly agent?: string
}

const optionNames = { path: 'string', agent: 'string' } satisfies NamesOf<ChatEndpointOptions>

/**
 * Answers pages with `useChat`. `POST <path>` sends a message, `GET <path>/<id>/stream` shows the last answer again and
 * follows it, `DELETE <path>/<id>` cancels the task. Chats belong to their caller: use `auth` to separate users.
 *
 * ```ts
 * await serve(tailor, { endpoints: [chatEndpoint()] })
 * ```
 */
export function chatEndpoint(options: ChatEndpointOptions = {}): Endpoint {
  assertOptions('chatEndpoint', options, optionNames)
  const { path = '/api/chat', agent } = options
  return {
    name: 'ai-sdk',
    paths: [path],
    async answer({ method }, visit) {
      const below = visit.path.slice(path.length).split('/').slice(1)
      if (below.length === 0 && method === 'POST') {
        const request = requestOf(await visit.readJson())
        return await streamOf(visit, sendChat(agentOf(visit, agent), request))
      }
      const [id = '', action] = below
      if (below.length === 2 && action === 'stream' && method === 'GET') {
        const chat = agentOf(visit, agent)
        const taskId = await newestTask(chat, idOf(id))
        return taskId === undefined ? noContent : await streamOf(visit, resumeChat(chat, taskId))
      }
      if (below.length === 1 && method === 'DELETE') {
        await stopChat(agentOf(visit, agent), idOf(id))
        return noContent
      }
      throw new A2AError('METHOD_NOT_FOUND', `Method not found: ${method} ${visit.path}`)
    },
    // The AI SDK shows the body of a failed response as the message of its error.
    refuse: (error) => ({
      status: httpStatuses[error.code],
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: error.message,
    }),
  }
}

const noContent: HttpAnswer = { status: 204, headers: {} }

function agentOf({ agents, caller, signal }: Visit, name: string | undefined): ChatAgent {
  const [only = ''] = agents.size === 1 ? agents.keys() : []
  const visited = agents.get(name ?? only)
  if (!visited)
    throw new A2AError(
      'METHOD_NOT_FOUND',
      `Agent not found: ${name ?? 'the port has several; set the option `agent` of `chatEndpoint`'}`,
    )
  const { service } = visited
  return {
    sendStreamingMessage: (request, options) => service.sendStreamingMessage(request, { ...options, caller, signal }),
    subscribeToTask: (request, options) => service.subscribeToTask(request, { ...options, caller, signal }),
    getTask: (request) => service.getTask(request, { caller }),
    listTasks: (request) => service.listTasks(request, { caller }),
    cancelTask: (request) => service.cancelTask(request, { caller }),
  }
}

function requestOf(body: JsonValue): ChatRequest {
  if (!isObject(body)) throw invalidField('body', 'must be an object')
  const { id, messages, trigger = 'submit-message', messageId } = body
  if (typeof id !== 'string') throw invalidField('id', 'must be a string')
  if (!Array.isArray(messages)) throw invalidField('messages', 'must be a list')
  if (trigger !== 'submit-message' && trigger !== 'regenerate-message')
    throw invalidField('trigger', 'must be submit-message or regenerate-message')
  return { chatId: id, messages, trigger, ...(typeof messageId === 'string' && { messageId }) }
}

function idOf(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw invalidField('id', 'must be percent-encoded UTF-8')
  }
}

function streamOf(visit: Visit, chunks: AsyncIterable<UIMessageChunk>): Promise<HttpAnswer> {
  return visit.stream<UIMessageChunk>({
    items: chunks,
    encode: (chunk) => frame(JSON.stringify(chunk)),
    encodeEnd: () => frame('[DONE]'),
    encodeError: ({ message }) => frame(JSON.stringify({ type: 'error', errorText: message })),
    headers: { 'x-vercel-ai-ui-message-stream': 'v1' },
  })
}
