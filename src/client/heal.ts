/**
 * Streams that heal. When a connection breaks, the stream goes on: behind the last event where the peer
 * numbers them (ours do), else with the task as it is now, which the caller sees as another `task` event:
 * whatever was put together before is to be forgotten. A caller never gets an event twice.
 *
 * A stream is whole when it ended at a state that ends it, or when the peer said so.
 */
import { A2AError } from '../model/errors.js'
import type { AgentService, CallContext, SendMessageRequest, StreamItem } from '../model/service.js'
import { isInterrupted, isTerminal, type TaskState } from '../model/task.js'
import { TransportError } from '../transports/transport-error.js'
import { delayBefore, type RetryOptions, type Waiting } from './retry.js'

/** What is known of the task that a stream is about. */
interface Progress {
  taskId: string | undefined
  seq: number | undefined
  state: TaskState | undefined
  isMessage: boolean
  /** Failures since the last event. */
  failures: number
}

export function healing(service: AgentService, options: RetryOptions, waiting: Waiting): AgentService {
  const heal = (first: (progress: Progress) => AsyncIterable<StreamItem>, context: CallContext) =>
    healed(service, first, context, { options, waiting })
  return {
    ...service,
    sendStreamingMessage: (request, context) =>
      heal((progress) => sendAgain(service, request, context, progress), context),
    subscribeToTask: (request, context) =>
      heal((progress) => {
        progress.taskId = request.id
        return service.subscribeToTask(request, context)
      }, context),
  }
}

/** A send is opened again only under its key: the peer then attaches instead of running it twice. */
function sendAgain(
  service: AgentService,
  request: SendMessageRequest,
  context: CallContext,
  { failures }: Progress,
): AsyncIterable<StreamItem> {
  if (failures > 0 && context.idempotencyKey === undefined) {
    throw new TransportError('broken-stream', 'The connection broke before the agent named a task', {
      isRetryable: false,
    })
  }
  return service.sendStreamingMessage(request, context)
}

async function* healed(
  service: AgentService,
  first: (progress: Progress) => AsyncIterable<StreamItem>,
  context: CallContext,
  { options, waiting }: { readonly options: RetryOptions; readonly waiting: Waiting },
): AsyncGenerator<StreamItem, void, void> {
  const progress: Progress = {
    taskId: undefined,
    seq: context.resumeAfter,
    state: undefined,
    isMessage: false,
    failures: 0,
  }
  const { attempts = 4 } = options
  let isFirst = true
  for (;;) {
    let cause: unknown
    try {
      const items = isFirst || progress.taskId === undefined ? first(progress) : reopened(service, progress, context)
      isFirst = false
      // What comes behind a whole task is told on top of it, whatever was told before.
      let seenUpTo = progress.seq
      for await (const item of items) {
        if ('task' in item.event) seenUpTo = undefined
        if (item.seq !== undefined && seenUpTo !== undefined && item.seq <= seenUpTo) continue
        note(item, progress)
        yield item
      }
      if (isWhole(progress)) return
      cause = new TransportError('broken-stream', 'The stream ended in the middle of the task')
    } catch (error) {
      // An error of the agent is an answer; only what broke on the way heals.
      if (error instanceof A2AError && error.code !== 'UNAVAILABLE') throw error
      if (progress.isMessage || context.signal?.aborted) throw error
      cause = error
    }
    progress.failures += 1
    const delayMs = progress.failures < attempts ? delayBefore(cause, progress.failures, options, waiting) : undefined
    if (delayMs === undefined) throw cause
    await waiting.wait(delayMs, context.signal)
  }
}

/** Behind the last event if the peer numbers them, else from the task as it is; else the task once. */
async function* reopened(
  service: AgentService,
  { taskId = '', seq }: Progress,
  context: CallContext,
): AsyncGenerator<StreamItem, void, void> {
  const { resumeAfter: _old, idempotencyKey: _key, ...rest } = context
  const resumed: CallContext = seq === undefined ? rest : { ...rest, resumeAfter: seq }
  try {
    yield* service.subscribeToTask({ id: taskId }, resumed)
  } catch (error) {
    const isOver =
      error instanceof A2AError && (error.code === 'UNSUPPORTED_OPERATION' || error.code === 'METHOD_NOT_FOUND')
    if (!isOver) throw error
    // It has ended meanwhile, or the peer cannot be subscribed to: what it has become.
    yield { event: { task: await service.getTask({ id: taskId }, rest) } }
  }
}

function note({ event, seq }: StreamItem, progress: Progress): void {
  progress.failures = 0
  if (seq !== undefined) progress.seq = seq
  if ('message' in event) progress.isMessage = true
  else if ('task' in event) {
    progress.taskId = event.task.id
    progress.state = event.task.status.state
  } else if ('statusUpdate' in event) {
    progress.taskId = event.statusUpdate.taskId
    progress.state = event.statusUpdate.status.state
  } else progress.taskId = event.artifactUpdate.taskId
}

function isWhole({ state, isMessage }: Progress): boolean {
  return isMessage || (state !== undefined && (isTerminal(state) || isInterrupted(state)))
}
