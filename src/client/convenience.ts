/** The convenience API of a client, `ask`, `stream`, `conversation` and `task`, on top of the eleven operations. */

import { batchesOf, items } from '../model/batches.js'
import type { Message } from '../model/message.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { textOf } from '../model/part.js'
import {
  type AgentService,
  anonymous,
  type CallContext,
  type SendMessageConfiguration,
  type SendMessageRequest,
  type StreamItem,
} from '../model/service.js'
import { isInterrupted, isTerminal, type Task } from '../model/task.js'
import { TaskFold } from '../model/task-fold.js'
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
import { isSettled, pollChanges, taskAfterRefusal } from './poll.js'
import type { Timing } from './retry.js'

type Convenience = Pick<AgentClient, 'ask' | 'stream' | 'conversation' | 'task'>

interface ConvenienceOptions {
  /** Returns the dialect that is used at the moment. */
  readonly dialect: () => string
  readonly timing: Timing
}

const sendOptionNames = {
  contextId: true,
  taskId: true,
  referenceTaskIds: true,
  metadata: true,
  configuration: {
    acceptedOutputModes: true,
    taskPushNotificationConfig: true,
    historyLength: true,
    returnImmediately: true,
  } satisfies NamesOf<SendMessageConfiguration>,
  extensions: 'strings',
  idempotencyKey: true,
  signal: true,
  timeoutMs: true,
} satisfies NamesOf<SendOptions>

export function createConvenience(service: AgentService, { dialect, timing }: ConvenienceOptions): Convenience {
  const contextOf = (options: SendOptions): CallContext => {
    const signal = signalOf(options)
    return {
      caller: anonymous,
      dialect: dialect(),
      ...(options.extensions?.length && { extensions: options.extensions }),
      ...(options.idempotencyKey !== undefined && { idempotencyKey: options.idempotencyKey }),
      ...(signal && { signal }),
    }
  }
  const ask = async (input: MessageInput, options: SendOptions = {}): Promise<Answer> => {
    assertOptions('ask', options, sendOptionNames)
    const result = await service.sendMessage(requestOf(input, options), contextOf(options))
    if ('message' in result) return messageAnswer(result.message)
    if (isSettled(result.task)) return taskAnswer(result.task)
    // Some agents return before the task ends although they were asked to wait.
    return taskAnswer(await waitFor(service, result.task.id, contextOf(options), timing))
  }
  const stream = (input: MessageInput, options: SendOptions = {}): AsyncIterable<Update> => {
    assertOptions('stream', options, sendOptionNames)
    return items(updatesOf(service.sendStreamingMessage(requestOf(input, options), contextOf(options))))
  }
  const task = (id: string): TaskHandle => ({
    id,
    get: (historyLength) =>
      service.getTask({ id, ...(historyLength !== undefined && { historyLength }) }, contextOf({})),
    async wait(options = {}) {
      assertOptions('wait', options, { signal: true, timeoutMs: true })
      return await waitFor(service, id, contextOf(options), timing)
    },
    cancel: () => service.cancelTask({ id }, contextOf({})),
    watch(options = {}) {
      assertOptions('watch', options, { signal: true })
      return items(updatesOf(service.subscribeToTask({ id }, contextOf(options))))
    },
  })
  return {
    ask,
    stream,
    task,
    conversation(start = {}) {
      assertOptions('conversation', start, { contextId: true, taskId: true })
      return new ConversationState({ ask, stream }, start)
    },
  }
}

/** The first `task` starts a stream. A later one means that the agent could not resume where the stream broke. */
async function* updatesOf(stream: AsyncIterable<StreamItem>): AsyncGenerator<readonly Update[], void, void> {
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

/** Waits by subscribing, and by polling if the agent refuses a subscription. */
async function waitFor(service: AgentService, id: string, context: CallContext, timing: Timing): Promise<Task> {
  const now = await service.getTask({ id }, context)
  if (isSettled(now)) return now
  try {
    await followUntilSettled(service.subscribeToTask({ id }, context))
  } catch (error) {
    const task = await taskAfterRefusal(service, id, context, error)
    await followUntilSettled(pollChanges(service, task, context, timing))
  }
  return await service.getTask({ id }, context)
}

async function followUntilSettled(stream: AsyncIterable<StreamItem>): Promise<void> {
  for await (const { event } of stream) {
    const status = 'task' in event ? event.task.status : 'statusUpdate' in event ? event.statusUpdate.status : undefined
    if (status && isSettled({ status })) return
  }
}

class ConversationState implements Conversation {
  contextId: string | undefined
  taskId: string | undefined
  readonly #client: Pick<Convenience, 'ask' | 'stream'>

  constructor(
    client: Pick<Convenience, 'ask' | 'stream'>,
    start: { readonly contextId?: string; readonly taskId?: string },
  ) {
    this.#client = client
    this.contextId = start.contextId
    this.taskId = start.taskId
  }

  async ask(input: MessageInput, options: SendOptions = {}): Promise<Answer> {
    const answer = await this.#client.ask(input, this.#withIds(options))
    if (answer.task) this.#remember(answer.task)
    else this.contextId = answer.message?.contextId ?? this.contextId
    return answer
  }

  async *stream(input: MessageInput, options: SendOptions = {}): AsyncGenerator<Update> {
    for await (const update of this.#client.stream(input, this.#withIds(options))) {
      if ('task' in update) this.#remember(update.task)
      else if ('reset' in update) this.#remember(update.reset)
      else if ('statusUpdate' in update) {
        const { taskId, contextId, status } = update.statusUpdate
        this.#remember({ id: taskId, contextId, status })
      } else if ('message' in update) this.contextId = update.message.contextId ?? this.contextId
      yield update
    }
  }

  #withIds(options: SendOptions): SendOptions {
    return {
      ...(this.contextId !== undefined && { contextId: this.contextId }),
      ...(this.taskId !== undefined && { taskId: this.taskId }),
      ...options,
    }
  }

  /** After a question, the next message continues the task. After its end, the next message starts another task. */
  #remember({ id, contextId, status }: Pick<Task, 'id' | 'contextId' | 'status'>): void {
    this.contextId = contextId
    this.taskId = isTerminal(status.state) ? undefined : id
  }
}

/**
 * Reads a stream to its end and returns the task that its updates add up to, or the message. Throws `TransportError` if the
 * stream names no task.
 *
 * ```ts
 * const { text } = await collect(agent.stream('Hello'))
 * ```
 */
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
  const statusText = status.message ? textOf(status.message) : ''
  // While a question is open, its text is the answer, not the artifacts.
  const hasResult = artifacts.length > 0 && !isInterrupted(status.state)
  const text = hasResult ? artifacts.map(textOf).filter(Boolean).join('\n') : statusText
  return { text, artifacts, state: status.state, task }
}

function requestOf(input: MessageInput, options: SendOptions): SendMessageRequest {
  const { contextId, taskId, referenceTaskIds, metadata, configuration } = options
  return {
    message: {
      ...messageOf(input),
      ...(contextId !== undefined && { contextId }),
      ...(taskId !== undefined && { taskId }),
      ...(referenceTaskIds && { referenceTaskIds }),
    },
    ...(configuration && { configuration }),
    ...(metadata && { metadata }),
  }
}

function messageOf(input: MessageInput): Message {
  if (typeof input === 'object' && 'messageId' in input) return input
  const content = typeof input === 'string' ? { parts: [{ text: input }] } : 'parts' in input ? input : { parts: input }
  return { messageId: crypto.randomUUID(), role: 'ROLE_USER', ...content }
}

function signalOf({ signal, timeoutMs = 0 }: SendOptions): AbortSignal | undefined {
  if (timeoutMs <= 0) return signal
  const timeout = AbortSignal.timeout(timeoutMs)
  return signal ? AbortSignal.any([signal, timeout]) : timeout
}
