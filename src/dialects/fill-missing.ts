/** What peers leave out of their answers and the call knows: ids of messages, the task and context of an update. */
import { A2AError, invalidField } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import { isObject } from '../model/is-object.js'
import type { Message } from '../model/message.js'
import type { SendMessageResponse } from '../model/service.js'
import type { Task } from '../model/task.js'
import type { ClientFacts, StreamDecoder, StreamRequest } from './client-dialect.js'

/** What is known of the task that an answer is about. */
export interface Known {
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  newId(): string
}

/** What a request says about it: a message its task and context, all other requests the task. */
export function knownFrom(request: unknown, { newId }: ClientFacts): Known {
  if (!isObject(request)) return { newId }
  const { message } = request
  if (isObject(message)) return { taskId: textOf(message.taskId), contextId: textOf(message.contextId), newId }
  return { taskId: textOf(request.taskId ?? request.id), newId }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function filledMessage(message: Message, { newId }: Pick<Known, 'newId'>): Message {
  return message.messageId === '' ? { ...message, messageId: newId() } : message
}

/** A context that nobody knows stays empty. */
export function filledTask(task: Task, known: Known): Task {
  const { contextId, status, history } = task
  const isWhole =
    contextId !== '' && status.message?.messageId !== '' && !history?.some(({ messageId }) => messageId === '')
  if (isWhole) return task
  return {
    ...task,
    contextId: contextId || (known.contextId ?? ''),
    status: status.message ? { ...status, message: filledMessage(status.message, known) } : status,
    ...(history && { history: history.map((message) => filledMessage(message, known)) }),
  }
}

export function filledEvent(event: StreamResponse, known: Known): StreamResponse {
  if ('artifactUpdate' in event) {
    const update = event.artifactUpdate
    return isPlaced(update) ? event : { artifactUpdate: { ...update, ...placeOf(update, known) } }
  }
  if ('statusUpdate' in event) {
    const update = event.statusUpdate
    const { status } = update
    if (isPlaced(update) && status.message?.messageId !== '') return event
    const filled = status.message ? { ...status, message: filledMessage(status.message, known) } : status
    return { statusUpdate: { ...update, ...placeOf(update, known), status: filled } }
  }
  if ('task' in event) return { task: filledTask(event.task, known) }
  return { message: filledMessage(event.message, known) }
}

interface Placed {
  readonly taskId: string
  readonly contextId: string
}

function isPlaced({ taskId, contextId }: Placed): boolean {
  return taskId !== '' && contextId !== ''
}

function placeOf({ taskId, contextId }: Placed, known: Known): Placed {
  const place = taskId || known.taskId
  if (place === undefined) throw invalidField('taskId', 'is required')
  return { taskId: place, contextId: contextId || (known.contextId ?? '') }
}

/** The answer to a send: a task or a message, and nothing that only happens to one. */
export function filledAnswer(event: StreamResponse, known: Known): SendMessageResponse {
  if ('task' in event || 'message' in event) return filledEvent(event, known) as SendMessageResponse // filling keeps the kind
  const description = 'must be a task or a message'
  throw new A2AError('INVALID_PARAMS', `The answer ${description}`, { violations: [{ field: '', description }] })
}

/** How a dialect reads one frame. */
export interface FrameReader {
  /** Reads an event. Gaps are filled afterwards. */
  decode(data: unknown): StreamResponse
  /** Whether nothing comes after this one, in a dialect that says so. A message is always the last. */
  isLast?(event: StreamResponse, data: unknown): boolean
}

/** Reads one stream and keeps in mind what it is about. */
export function createStreamDecoder({ request, facts }: StreamRequest, reader: FrameReader): StreamDecoder {
  const known: { -readonly [K in keyof Known]: Known[K] } = knownFrom(request, facts)
  let isOver = false
  return {
    decode({ data }) {
      if (data === '[DONE]') isOver = true
      if (isNothing(data)) return []
      const event = filledEvent(reader.decode(data), known)
      keepInMind(event)
      isOver ||= 'message' in event || (reader.isLast?.(event, data) ?? false)
      return [event]
    },
    get isOver() {
      return isOver
    },
  }

  function keepInMind(event: StreamResponse): void {
    if ('message' in event) return
    const { taskId, contextId } =
      'task' in event
        ? { taskId: event.task.id, contextId: event.task.contextId }
        : 'statusUpdate' in event
          ? event.statusUpdate
          : event.artifactUpdate
    known.taskId = taskId
    if (contextId !== '') known.contextId = contextId
  }
}

/** Frames that only keep a connection open, and the word of the peers that end their streams with one. */
function isNothing(data: unknown): boolean {
  return data === undefined || data === null || data === '' || data === '[DONE]'
}
