/**
 * Fills in values that peers omit from responses, from the request: message ids, and the task and context of an update.
 */
import { A2AError, invalidField } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import { isObject } from '../model/is-object.js'
import type { Message } from '../model/message.js'
import type { SendMessageResponse } from '../model/service.js'
import type { Task } from '../model/task.js'
import type { ClientFacts, StreamDecoder, StreamRequest } from './client-dialect.js'

/** Known values of the task that a response is about. */
export interface Known {
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  newId(): string
}

/** Values from a request: task and context of a message; the task of all other requests. */
export function knownFrom(request: unknown, { newId }: ClientFacts): Known {
  if (!isObject(request)) return { newId }
  const { message } = request
  if (isObject(message)) return { taskId: textOf(message.taskId), contextId: textOf(message.contextId), newId }
  return { taskId: textOf(request.taskId ?? request.id), newId }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function filledMessage(message: Message, { newId }: Pick<Known, 'newId'>): Message {
  return message.messageId === '' ? { ...message, messageId: newId() } : message
}

/** An unknown context stays empty. */
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

function filledEvent(event: StreamResponse, known: Known): StreamResponse {
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

/** The response to a send: a task or a message. Updates are refused. */
export function filledAnswer(event: StreamResponse, known: Known): SendMessageResponse {
  if ('task' in event || 'message' in event) return filledEvent(event, known) as SendMessageResponse // filling keeps the kind
  const description = 'must be a task or a message'
  throw new A2AError('INVALID_PARAMS', `The answer ${description}`, { violations: [{ field: '', description }] })
}

/** Decodes the frames of one dialect. */
interface FrameReader {
  /** Decodes an event. Missing values are filled in afterwards. */
  decode(data: unknown): StreamResponse
  /** Whether this event ends the stream, for dialects that mark the end. A message always ends it. */
  isLast?(event: StreamResponse, data: unknown): boolean
}

/** Decodes one stream and remembers its task and context. */
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
    canRepeatChunks: true,
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

/** Frames that only keep the connection open, and `[DONE]`. */
function isNothing(data: unknown): boolean {
  return data === undefined || data === null || data === '' || data === '[DONE]'
}
