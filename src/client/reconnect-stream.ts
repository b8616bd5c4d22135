/**
 * Reconnects streams whose connection breaks. If the agent numbers its events, as our servers do, the stream resumes after
 * the last event. Otherwise it continues with the current task, which the caller sees as another `task` event that replaces
 * all earlier ones. A caller never gets an event twice.
 *
 * A stream is complete if its last state ends it, or if the agent sent a message.
 */
import { type ClientDialects, withClientDialects } from '../dialects/client-dialects.js'
import { batchesOf, items } from '../model/batches.js'
import type { AgentService, CallContext, StreamItem } from '../model/service.js'
import { isTerminal, type Task, type TaskState } from '../model/task.js'
import { TransportError, wasNotSent } from '../model/transport-error.js'
import { isRefusal, isSettled, pollChanges, taskAfterRefusal } from './poll.js'
import { type RetryOptions, retryDelay, type Timing } from './retry.js'

interface Progress {
  taskId: string | undefined
  seq: number | undefined
  state: TaskState | undefined
  hasMessage: boolean
  /** JSON of the task that a reopened stream began with. The same task again is no progress. */
  lastTask: string | undefined
  /** Failures since the last event. */
  failures: number
}

interface FirstStream {
  open(): AsyncIterable<StreamItem>
  readonly taskId?: string
  /** Whether it may be opened again before the task is known. False for a send without an idempotency key. */
  readonly canRepeat: boolean
  /** Whether a question of the agent ends the stream. */
  readonly endsAtQuestion: boolean
}

interface ReconnectDeps {
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
  const deps: ReconnectDeps = { service, options, timing, dialects }
  return {
    ...service,
    sendStreamingMessage(request, context) {
      const open = () => service.sendStreamingMessage(request, context)
      const canRepeat = context.idempotencyKey !== undefined
      return items(follow(deps, context, { open, canRepeat, endsAtQuestion: true }))
    },
    subscribeToTask(request, context) {
      const open = () => service.subscribeToTask(request, context)
      return items(follow(deps, context, { open, taskId: request.id, canRepeat: true, endsAtQuestion: false }))
    },
  }
}

async function* follow(
  deps: ReconnectDeps,
  context: CallContext,
  first: FirstStream,
): AsyncGenerator<readonly StreamItem[], void, void> {
  const { options, timing } = deps
  const { attempts = options.attempts ?? 4 } = context
  const progress: Progress = {
    taskId: first.taskId,
    seq: context.resumeAfter,
    state: undefined,
    hasMessage: false,
    lastTask: undefined,
    failures: 0,
  }
  for (let isFirst = true; ; isFirst = false) {
    let cause: unknown
    try {
      const isReopened = !isFirst && progress.taskId !== undefined
      // After a whole task, all events are new.
      let seenUpTo = progress.seq
      for await (const batch of batchesOf(isReopened ? reopen(deps, progress, context) : first.open())) {
        const fresh: StreamItem[] = []
        for (const item of batch) {
          if ('task' in item.event) {
            seenUpTo = undefined
            if (isReopened && isSameTask(item.event.task, progress)) continue
          }
          if (item.seq !== undefined && seenUpTo !== undefined && item.seq <= seenUpTo) continue
          record(item, progress)
          fresh.push(item)
        }
        if (fresh.length > 0) yield fresh
      }
      if (isComplete(progress)) return
      cause = new TransportError('broken-stream', 'The stream ended before the task did')
    } catch (error) {
      if (hasEnded(progress, first)) return
      // An error of the agent is an answer. Only broken connections are reopened.
      if (isRefusal(error) || context.signal?.aborted) throw error
      cause = error
    }
    if (progress.taskId === undefined && !first.canRepeat && !wasNotSent(cause)) throw brokenSend(cause)
    progress.failures += 1
    const delayMs = progress.failures < attempts ? retryDelay(cause, progress.failures, options, timing) : undefined
    if (delayMs === undefined) throw cause
    await timing.wait(delayMs, context.signal)
  }
}

/** The agent may have processed the message, so the send must not be repeated. */
function brokenSend(cause: unknown): unknown {
  const isBroken = cause instanceof TransportError && cause.failure === 'broken-stream'
  if (!isBroken) return cause
  return new TransportError('broken-stream', 'The connection broke before the agent named a task', {
    cause,
    isRetryable: false,
  })
}

/**
 * Resumes after the last event if the agent numbers events, otherwise starts with the current task. Polls if the agent does
 * not start with the task, ends the stream after it, or refuses a subscription.
 */
async function* reopen(
  { service, timing, dialects }: ReconnectDeps,
  { taskId: id = '', seq }: Progress,
  context: CallContext,
): AsyncGenerator<StreamItem, void, void> {
  const { resumeAfter: _old, idempotencyKey: _key, ...rest } = context
  let task: Task | undefined
  try {
    const resumed: CallContext = seq === undefined ? rest : { ...rest, resumeAfter: seq }
    // A subscription without the task does not show the events that were missed.
    const showsTask = rest.dialect === undefined || !dialects.outlines.get(rest.dialect)?.omitsTaskOnSubscribe
    if (showsTask && (yield* resubscribe(service.subscribeToTask({ id }, resumed), seq !== undefined))) return
  } catch (error) {
    task = await taskAfterRefusal(service, id, rest, error)
  }
  task ??= await service.getTask({ id }, rest)
  yield { event: { task } }
  yield* pollChanges(service, task, rest, timing)
}

/** Yields the events. Returns whether the stream showed everything that was missed. */
async function* resubscribe(
  stream: AsyncIterable<StreamItem>,
  isResumed: boolean,
): AsyncGenerator<StreamItem, boolean, void> {
  let count = 0
  let hasEnded = false
  for await (const item of stream) {
    const { event } = item
    count += 1
    // Without the task first, events before this update may be missing.
    if (count === 1 && !isResumed && ('statusUpdate' in event || 'artifactUpdate' in event)) return false
    hasEnded = 'task' in event && isTerminal(event.task.status.state)
    yield item
  }
  return isResumed || hasEnded || count !== 1
}

function isSameTask(task: Task, progress: Progress): boolean {
  const text = JSON.stringify(task)
  if (text === progress.lastTask) return true
  progress.lastTask = text
  return false
}

function record({ event, seq }: StreamItem, progress: Progress): void {
  progress.failures = 0
  if (seq !== undefined) progress.seq = seq
  if ('message' in event) progress.hasMessage = true
  else if ('task' in event) {
    progress.taskId = event.task.id
    progress.state = event.task.status.state
    return
  } else if ('statusUpdate' in event) {
    progress.taskId = event.statusUpdate.taskId
    progress.state = event.statusUpdate.status.state
  } else progress.taskId = event.artifactUpdate.taskId
  progress.lastTask = undefined
}

function isComplete({ state, hasMessage }: Progress): boolean {
  return hasMessage || (state !== undefined && isSettled({ status: { state } }))
}

/** Whether no event can follow. After a question, a subscription goes on. */
function hasEnded(progress: Progress, { endsAtQuestion }: FirstStream): boolean {
  return isComplete(progress) && (endsAtQuestion || progress.state === undefined || isTerminal(progress.state))
}
