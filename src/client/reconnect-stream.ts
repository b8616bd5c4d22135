/**
 * Streams that heal. When a connection breaks, the stream goes on: behind the last event where the peer
 * numbers them (ours do), else with the task as it is now, which the caller sees as another `task` event:
 * whatever was put together before is to be forgotten. A caller never gets an event twice.
 *
 * A stream is whole when it ended at a state that ends it, or when the peer said so.
 */
import { type ClientDialects, withClientDialects } from '../dialects/clients.js'
import { batchesOf, items } from '../model/batches.js'
import type { AgentService, CallContext, SendMessageRequest, StreamItem } from '../model/service.js'
import { isInterrupted, isTerminal, type Task, type TaskState } from '../model/task.js'
import { TransportError, wasNotSent } from '../model/transport-error.js'
import { isRefusal, pollChanges, taskAfterRefusal } from './poll.js'
import { type RetryOptions, retryDelay, type Timing } from './retry.js'

/** What is known of the task that a stream is about. */
interface Progress {
  taskId: string | undefined
  seq: number | undefined
  state: TaskState | undefined
  isMessage: boolean
  /** The task that a reopened stream began with, as text: the same again is no progress. */
  shown: string | undefined
  /** Failures since the last event. */
  failures: number
}

interface Opening {
  open(): AsyncIterable<StreamItem>
  readonly taskId?: string
  /** A send without a key happens once; everything else may be opened again before a task is known. */
  readonly canRepeat: boolean
  /** A question ends it. */
  readonly endsAtQuestions: boolean
}

interface Healing {
  readonly service: AgentService
  readonly options: RetryOptions
  readonly timing: Timing
  readonly dialects: ClientDialects
}

export function withReconnect(
  service: AgentService,
  options: RetryOptions,
  timing: Timing,
  dialects: ClientDialects = withClientDialects(),
): AgentService {
  const parts: Healing = { service, options, timing, dialects }
  return {
    ...service,
    sendStreamingMessage: (request: SendMessageRequest, context) =>
      items(
        healed(parts, context, {
          open: () => service.sendStreamingMessage(request, context),
          canRepeat: context.idempotencyKey !== undefined,
          endsAtQuestions: true,
        }),
      ),
    subscribeToTask: (request, context) =>
      items(
        healed(parts, context, {
          open: () => service.subscribeToTask(request, context),
          taskId: request.id,
          canRepeat: true,
          endsAtQuestions: false,
        }),
      ),
  }
}

async function* healed(
  parts: Healing,
  context: CallContext,
  opening: Opening,
): AsyncGenerator<readonly StreamItem[], void, void> {
  const { options, timing } = parts
  const { attempts = options.attempts ?? 4 } = context
  const progress: Progress = {
    taskId: opening.taskId,
    seq: context.resumeAfter,
    state: undefined,
    isMessage: false,
    shown: undefined,
    failures: 0,
  }
  for (let isFirst = true; ; isFirst = false) {
    let cause: unknown
    try {
      const isAgain = !isFirst && progress.taskId !== undefined
      // What comes behind a whole task is told on top of it, whatever was told before.
      let seenUpTo = progress.seq
      for await (const batch of batchesOf(isAgain ? reopened(parts, progress, context) : opening.open())) {
        const news: StreamItem[] = []
        for (const item of batch) {
          if ('task' in item.event) {
            seenUpTo = undefined
            if (isAgain && isShown(item.event.task, progress)) continue
          }
          if (item.seq !== undefined && seenUpTo !== undefined && item.seq <= seenUpTo) continue
          note(item, progress)
          news.push(item)
        }
        yield news
      }
      if (isWhole(progress)) return
      cause = new TransportError('broken-stream', 'The stream ended in the middle of the task')
    } catch (error) {
      if (isEnded(progress, opening)) return
      // An error of the agent is an answer; only what broke on the way heals.
      if (isRefusal(error) || context.signal?.aborted) throw error
      cause = error
    }
    if (progress.taskId === undefined && !opening.canRepeat && !wasNotSent(cause)) throw brokenSend(cause)
    progress.failures += 1
    const delayMs = progress.failures < attempts ? retryDelay(cause, progress.failures, options, timing) : undefined
    if (delayMs === undefined) throw cause
    await timing.wait(delayMs, context.signal)
  }
}

/** Whether the send had an effect is not known, so that it must not just be made again. */
function brokenSend(cause: unknown): unknown {
  const isBroken = cause instanceof TransportError && cause.failure === 'broken-stream'
  if (!isBroken) return cause
  return new TransportError('broken-stream', 'The connection broke before the agent named a task', {
    cause,
    isRetryable: false,
  })
}

/**
 * Behind the last event if the peer numbers them, else from the task as it is. A peer that does not begin with
 * the task, or has nothing to say behind it, or cannot be subscribed to at all, is asked again and again.
 */
async function* reopened(
  { service, timing, dialects }: Healing,
  { taskId: id = '', seq }: Progress,
  context: CallContext,
): AsyncGenerator<StreamItem, void, void> {
  const { resumeAfter: _old, idempotencyKey: _key, ...rest } = context
  let task: Task | undefined
  try {
    const resumed: CallContext = seq === undefined ? rest : { ...rest, resumeAfter: seq }
    if (
      // A subscription without the task says nothing of the events that were missed.
      !(rest.dialect !== undefined && dialects.get(rest.dialect)?.omitsTaskOnSubscribe) &&
      (yield* isFollowed(service.subscribeToTask({ id }, resumed), seq !== undefined))
    )
      return
  } catch (error) {
    task = await taskAfterRefusal(service, id, rest, error)
  }
  task ??= await service.getTask({ id }, rest)
  yield { event: { task } }
  yield* pollChanges(service, task, rest, timing)
}

/** The events; and whether they are all that can be had from this peer. */
async function* isFollowed(
  items: AsyncIterable<StreamItem>,
  isNumbered: boolean,
): AsyncGenerator<StreamItem, boolean, void> {
  let count = 0
  let isOver = false
  for await (const item of items) {
    const { event } = item
    count += 1
    // What was missed before an update that comes first, nobody knows.
    if (count === 1 && !isNumbered && ('statusUpdate' in event || 'artifactUpdate' in event)) return false
    isOver = 'task' in event && isTerminal(event.task.status.state)
    yield item
  }
  return isNumbered || isOver || count !== 1
}

/** A peer that shows the same task each time it is asked has not come any further. */
function isShown(task: Task, progress: Progress): boolean {
  const text = JSON.stringify(task)
  if (text === progress.shown) return true
  progress.shown = text
  return false
}

function note({ event, seq }: StreamItem, progress: Progress): void {
  progress.failures = 0
  if (seq !== undefined) progress.seq = seq
  if ('message' in event) progress.isMessage = true
  else if ('task' in event) {
    progress.taskId = event.task.id
    progress.state = event.task.status.state
    return
  } else if ('statusUpdate' in event) {
    progress.taskId = event.statusUpdate.taskId
    progress.state = event.statusUpdate.status.state
  } else progress.taskId = event.artifactUpdate.taskId
  progress.shown = undefined
}

function isWhole({ state, isMessage }: Progress): boolean {
  return isMessage || (state !== undefined && (isTerminal(state) || isInterrupted(state)))
}

/** Whatever breaks now, nothing was to come. A subscription goes on behind a question. */
function isEnded(progress: Progress, { endsAtQuestions }: Opening): boolean {
  return isWhole(progress) && (endsAtQuestions || progress.state === undefined || isTerminal(progress.state))
}
