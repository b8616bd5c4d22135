/** The friendly face of an agent: say something, get an answer. Everything here stands on the eleven operations. */
import { TaskFold } from '../model/apply-event.js'
import { batchesOf, items } from '../model/batches.js'
import type { Message } from '../model/message.js'
import { assertOptions } from '../model/option-names.js'
import { type Part, textOf } from '../model/part.js'
import {
  type AgentService,
  anonymous,
  type CallContext,
  type SendMessageRequest,
  type StreamItem,
} from '../model/service.js'
import { isInterrupted, isTerminal, type Task } from '../model/task.js'
import { TransportError } from '../model/transport-error.js'
import type {
  AgentClient,
  Answer,
  Conversation,
  MessageInput,
  SendOptions,
  TaskHandle,
  Update,
} from './agent-client.js'
import { conversationStart, sayOptions, waitOptions } from './option-names.js'
import { pollChanges, taskAfterRefusal } from './poll.js'
import type { Timing } from './retry.js'

type Convenience = Pick<AgentClient, 'ask' | 'stream' | 'conversation' | 'task'>

interface ConvenienceOptions {
  readonly newId: () => string
  /** For calls that name no time of their own; 0 is none. */
  readonly timeoutMs: number
  /** What is spoken at the moment. */
  readonly dialect: () => string
  readonly timing: Timing
}

export function createConvenience(service: AgentService, options: ConvenienceOptions): Convenience {
  const contextOf = (given: SendOptions): CallContext => {
    const signal = signalOf(given, options.timeoutMs)
    return {
      caller: anonymous,
      dialect: options.dialect(),
      ...(given.idempotencyKey !== undefined && { idempotencyKey: given.idempotencyKey }),
      ...(signal && { signal }),
    }
  }
  const ask = async (say: MessageInput, given: SendOptions = {}): Promise<Answer> => {
    assertOptions('ask', given, sayOptions)
    const result = await service.sendMessage(requestOf(say, given, options.newId), contextOf(given))
    if ('message' in result) return messageAnswer(result.message)
    if (isSettled(result.task)) return taskAnswer(result.task)
    // Some agents answer before they are done, whatever they were asked.
    return taskAnswer(await waitFor(service, result.task.id, contextOf(given), options.timing))
  }
  const stream = (say: MessageInput, given: SendOptions = {}): AsyncIterable<Update> => {
    assertOptions('stream', given, sayOptions)
    const context = contextOf({ timeoutMs: 0, ...given })
    return updates(service.sendStreamingMessage(requestOf(say, given, options.newId), context))
  }
  const task = (id: string): TaskHandle => ({
    id,
    get: (historyLength) =>
      service.getTask({ id, ...(historyLength !== undefined && { historyLength }) }, contextOf({})),
    async wait(given = {}) {
      assertOptions('wait', given, waitOptions)
      return await waitFor(service, id, contextOf({ timeoutMs: 0, ...given }), options.timing)
    },
    cancel: () => service.cancelTask({ id }, contextOf({})),
    watch(given = {}) {
      assertOptions('watch', given, { signal: true })
      return updates(service.subscribeToTask({ id }, contextOf({ timeoutMs: 0, ...given })))
    },
  })
  return {
    ask,
    stream,
    task,
    conversation(start = {}) {
      assertOptions('conversation', start, conversationStart)
      return new Talk({ ask, stream }, start)
    },
  }
}

/** The first `task` begins a stream; another one means that the peer could not go on where it broke. */
function updates(stream: AsyncIterable<StreamItem>): AsyncIterable<Update> {
  return items(told(stream))
}

async function* told(stream: AsyncIterable<StreamItem>): AsyncGenerator<readonly Update[], void, void> {
  let isFirst = true
  for await (const batch of batchesOf(stream)) {
    const updates: Update[] = []
    for (const { event } of batch) {
      updates.push('task' in event && !isFirst ? { reset: event.task } : event)
      isFirst = false
    }
    yield updates
  }
}

/** By subscribing, so that the end is known when it comes; by asking again where that cannot be. */
async function waitFor(service: AgentService, id: string, context: CallContext, timing: Timing): Promise<Task> {
  const now = await service.getTask({ id }, context)
  if (isSettled(now)) return now
  try {
    await settled(service.subscribeToTask({ id }, context))
  } catch (error) {
    await settled(pollChanges(service, await taskAfterRefusal(service, id, context, error), context, timing))
  }
  return await service.getTask({ id }, context)
}

async function settled(items: AsyncIterable<StreamItem>): Promise<void> {
  for await (const { event } of items) {
    const status = 'task' in event ? event.task.status : 'statusUpdate' in event ? event.statusUpdate.status : undefined
    if (status && (isTerminal(status.state) || isInterrupted(status.state))) return
  }
}

/** Keeps what makes several calls one conversation. */
class Talk implements Conversation {
  contextId: string | undefined
  taskId: string | undefined
  readonly #face: Pick<Convenience, 'ask' | 'stream'>

  constructor(
    face: Pick<Convenience, 'ask' | 'stream'>,
    start: { readonly contextId?: string; readonly taskId?: string },
  ) {
    this.#face = face
    this.contextId = start.contextId
    this.taskId = start.taskId
  }

  async ask(say: MessageInput, options: SendOptions = {}): Promise<Answer> {
    const answer = await this.#face.ask(say, this.#placed(options))
    if (answer.task) this.#keep(answer.task)
    else this.contextId = answer.message?.contextId ?? this.contextId
    return answer
  }

  async *stream(say: MessageInput, options: SendOptions = {}): AsyncGenerator<Update> {
    const fold = new Progress()
    for await (const update of this.#face.stream(say, this.#placed(options))) {
      fold.see(update)
      if (fold.task) this.#keep(fold.task)
      else if ('message' in update) this.contextId = update.message.contextId ?? this.contextId
      yield update
    }
  }

  #placed(options: SendOptions): SendOptions {
    return {
      ...(this.contextId !== undefined && { contextId: this.contextId }),
      ...(this.taskId !== undefined && { taskId: this.taskId }),
      ...options,
    }
  }

  /** A question keeps its task; an end lets go of it, and the next message begins another in the same context. */
  #keep({ id, contextId, status }: Pick<Task, 'id' | 'contextId' | 'status'>): void {
    this.contextId = contextId
    this.taskId = isTerminal(status.state) ? undefined : id
  }
}

/** The little of a task that a conversation needs to know while it streams. */
class Progress {
  task: Pick<Task, 'id' | 'contextId' | 'status'> | undefined

  see(update: Update): void {
    if ('task' in update) this.task = update.task
    else if ('reset' in update) this.task = update.reset
    else if ('statusUpdate' in update) {
      const { taskId, contextId, status } = update.statusUpdate
      this.task = { id: taskId, contextId, status }
    }
  }
}

/** The task that a stream's updates make, put together as they come. */
export async function collect(stream: AsyncIterable<Update>): Promise<Answer> {
  let fold: TaskFold | undefined
  let seq = 0
  for await (const update of stream) {
    if ('message' in update) return messageAnswer(update.message)
    if ('task' in update || 'reset' in update) {
      seq = 0
      fold = TaskFold.from('task' in update ? update.task : update.reset, seq)
    } else fold?.apply({ seq: ++seq, time: 0, body: update })
  }
  const task = fold?.snapshot()
  if (!task) throw new TransportError('bad-answer', 'The stream named no task')
  return taskAnswer(task)
}

function messageAnswer(message: Message): Answer {
  return { text: textOf(message), artifacts: [], state: 'TASK_STATE_COMPLETED', message }
}

function taskAnswer(task: Task): Answer {
  const { artifacts = [], status } = task
  const said = status.message ? textOf(status.message) : ''
  // A question is what counts while it is open, whatever was made before it.
  const text =
    artifacts.length > 0 && !isInterrupted(status.state) ? artifacts.map(textOf).filter(Boolean).join('\n') : said
  return { text, artifacts, state: status.state, task }
}

function requestOf(say: MessageInput, options: SendOptions, newId: () => string): SendMessageRequest {
  const { contextId, taskId, referenceTaskIds, metadata, configuration } = options
  return {
    message: {
      ...messageOf(say, newId),
      ...(contextId !== undefined && { contextId }),
      ...(taskId !== undefined && { taskId }),
      ...(referenceTaskIds && { referenceTaskIds }),
    },
    ...(configuration && { configuration }),
    ...(metadata && { metadata }),
  }
}

function messageOf(say: MessageInput, newId: () => string): Message {
  if (typeof say === 'object' && 'messageId' in say) return say
  const parts: readonly Part[] = typeof say === 'string' ? [{ text: say }] : say
  return { messageId: newId(), role: 'ROLE_USER', parts }
}

function isSettled({ status }: Task): boolean {
  return isTerminal(status.state) || isInterrupted(status.state)
}

function signalOf({ signal, timeoutMs }: SendOptions, usualMs: number): AbortSignal | undefined {
  const ms = timeoutMs ?? usualMs
  if (ms <= 0) return signal
  const timeout = AbortSignal.timeout(ms)
  return signal ? AbortSignal.any([signal, timeout]) : timeout
}
