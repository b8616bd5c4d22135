/** An A2A agent as the transport of `useChat`: pages talk to the agent without a server of their own. */
import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai'
import { A2AError } from '../../model/errors.js'
import { followTurn } from '../follow-turn.js'
import { type ClientOrAddress, lazyClient } from '../lazy-client.js'
import { type ChatAgent, newestTask, resumeChat, sendChat } from './chat.js'
import { placeIn } from './chunks.js'

/**
 * Makes a transport for `useChat`. The id of the chat is the contextId. `stop()` cancels the task; a page that is reloaded
 * or closed does not. With `resume: true` a reloaded page shows the last answer again and follows it.
 *
 * ```tsx
 * const chat = useChat({ id, transport: asChatTransport('https://agent.example'), resume: true })
 * ```
 */
export function asChatTransport<Shown extends UIMessage = UIMessage>(client: ClientOrAddress): ChatTransport<Shown> {
  const open = lazyClient(client)
  const tasks = new TaskIds()
  /** The latest reconnection of each chat. */
  const resumes = new Map<string, AbortSignal | undefined>()
  return {
    resumeStreamIsReplay: true,
    async sendMessages({ chatId, trigger, messageId, messages, abortSignal: signal }) {
      const agent = await open()
      const chunks = sendChat(agent, { chatId, trigger, messageId, messages }, (events, taskId) =>
        followTurn(agent, events, { taskId, signal }),
      )
      return await streamOf(
        noting(chunks, (taskId) => tasks.set(chatId, taskId)),
        signal,
      )
    },
    async reconnectToStream({ chatId, abortSignal: signal }) {
      resumes.set(chatId, signal)
      const agent = await open()
      const taskId = await lastTask(agent, chatId, tasks)
      if (taskId === undefined) return null
      // A second reconnection aborts the first one. Only `stop()` cancels.
      const cancels = () => resumes.get(chatId) === signal
      const chunks = resumeChat(agent, taskId, (events) => followTurn(agent, events, { taskId, signal, cancels }))
      return await streamOf(chunks, signal)
    },
  }
}

async function lastTask(agent: ChatAgent, chatId: string, tasks: TaskIds): Promise<string | undefined> {
  try {
    return (await newestTask(agent, chatId)) ?? tasks.get(chatId)
  } catch (error) {
    // Older protocol versions cannot list tasks.
    if (error instanceof A2AError) return tasks.get(chatId)
    throw error
  }
}

/** The part of `Storage` that is used; its type exists only in projects for browsers. */
interface SessionStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

/** The newest task of each chat, kept over reloads of the page. */
class TaskIds {
  readonly #known = new Map<string, string>()

  get(chatId: string): string | undefined {
    return this.#known.get(chatId) ?? storage()?.getItem(keyOf(chatId)) ?? undefined
  }

  set(chatId: string, taskId: string): void {
    this.#known.set(chatId, taskId)
    try {
      storage()?.setItem(keyOf(chatId), taskId)
    } catch {
      // The storage is full: a reload finds the task only if the agent can list tasks.
    }
  }
}

function keyOf(chatId: string): string {
  return `dragoman:chat:${chatId}`
}

/** Absent outside browsers. Reading it throws in pages that may not store anything. */
function storage(): SessionStorage | undefined {
  try {
    return (globalThis as { readonly sessionStorage?: SessionStorage }).sessionStorage
  } catch {
    return undefined
  }
}

async function* noting(
  chunks: AsyncIterable<UIMessageChunk>,
  note: (taskId: string) => void,
): AsyncGenerator<UIMessageChunk, void, void> {
  for await (const chunk of chunks) {
    if (chunk.type === 'start' && chunk.messageId !== undefined) {
      const place = placeIn(chunk.messageId)
      if (place) note(place.taskId)
    }
    yield chunk
  }
}

/** A stream of chunks. Errors before the first one reject, as the AI SDK expects it from transports. */
async function streamOf(
  chunks: AsyncGenerator<UIMessageChunk, void, void>,
  signal: AbortSignal | undefined,
): Promise<ReadableStream<UIMessageChunk>> {
  let next: Promise<IteratorResult<UIMessageChunk, void>> | undefined = chunks.next()
  await next
  return new ReadableStream<UIMessageChunk>({
    async pull(controller) {
      try {
        const result = await (next ?? chunks.next())
        next = undefined
        if (result.done) controller.close()
        else controller.enqueue(result.value)
      } catch (error) {
        controller.error(signal?.aborted ? signal.reason : error)
      }
    },
    cancel() {
      // The turn ends with its next event, which may be hours away; the page does not wait for it.
      chunks.return().catch(() => undefined)
    },
  })
}
