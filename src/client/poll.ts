/** Streams for agents that cannot stream: reads the task again and again and reports the changes as events. */
import { A2AError, type ErrorCode } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { AgentService, CallContext, SendMessageRequest, StreamItem } from '../model/service.js'
import { isInterrupted, isTerminal, type Task } from '../model/task.js'
import type { Timing } from './retry.js'

const firstPollMs = 250
const maxPollMs = 5_000

export function withPolling(service: AgentService, timing: Timing): AgentService {
  return {
    ...service,
    sendStreamingMessage: (request, context) => sendAndPoll(service, request, context, timing),
    subscribeToTask: ({ id }, context) => subscribeByPolling(service, id, context, timing),
  }
}

async function* sendAndPoll(
  service: AgentService,
  request: SendMessageRequest,
  context: CallContext,
  timing: Timing,
): AsyncGenerator<StreamItem, void, void> {
  // Agents of older versions ignore `returnImmediately`; their answer is the final one.
  const configuration = { ...request.configuration, returnImmediately: true }
  const answer = await service.sendMessage({ ...request, configuration }, context)
  yield { event: answer }
  if ('task' in answer) yield* pollChanges(service, answer.task, context, timing)
}

async function* subscribeByPolling(
  service: AgentService,
  id: string,
  context: CallContext,
  timing: Timing,
): AsyncGenerator<StreamItem, void, void> {
  const task = await service.getTask({ id }, context)
  if (isTerminal(task.status.state))
    throw new A2AError('UNSUPPORTED_OPERATION', `Task ${id} has ended; there is nothing more to follow`)
  yield { event: { task } }
  yield* pollChanges(service, task, context, timing)
}

/**
 * Reads the task after a subscription to it failed with `error`. Agents refuse a subscription to an ended task with
 * UnsupportedOperation, InvalidParams, TaskNotFound or an error of their own, so the task itself decides. Throws
 * `error` if the task still runs and the agent supports subscriptions, or if the call may succeed later.
 */
export async function taskAfterRefusal(
  service: AgentService,
  id: string,
  context: CallContext,
  error: unknown,
): Promise<Task> {
  if (!isRefusal(error)) throw error
  const task = await service.getTask({ id }, context)
  if (isSettled(task) || cannotSubscribe.has(error.code)) return task
  throw error
}

const cannotSubscribe: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['UNSUPPORTED_OPERATION', 'METHOD_NOT_FOUND'])

/** Whether the agent answered with a permanent error. */
export function isRefusal(error: unknown): error is A2AError {
  return error instanceof A2AError && error.code !== 'UNAVAILABLE' && error.code !== 'RATE_LIMITED'
}

/** Whether the task has ended or waits for input. */
export function isSettled({ status }: Pick<Task, 'status'>): boolean {
  return isTerminal(status.state) || isInterrupted(status.state)
}

/** Yields the changes of a task until it ends or waits for input. */
export async function* pollChanges(
  service: AgentService,
  first: Task,
  context: CallContext,
  { wait }: Timing,
): AsyncGenerator<StreamItem, void, void> {
  let task = first
  let pauseMs = firstPollMs
  while (!isSettled(task)) {
    await wait(pauseMs, context.signal)
    const next = await service.getTask({ id: task.id }, context)
    const events = changesBetween(task, next)
    for (const event of events) yield { event }
    pauseMs = events.length > 0 ? firstPollMs : Math.min(maxPollMs, pauseMs * 1.5)
    task = next
  }
}

/** Returns new and changed artifacts as a whole, then the status, as in a stream. */
function changesBetween(before: Task, now: Task): readonly StreamResponse[] {
  const { id: taskId, contextId, artifacts = [], status } = now
  const known = new Map((before.artifacts ?? []).map((artifact) => [artifact.artifactId, JSON.stringify(artifact)]))
  const updates: StreamResponse[] = artifacts
    .filter((artifact) => known.get(artifact.artifactId) !== JSON.stringify(artifact))
    .map((artifact) => ({ artifactUpdate: { taskId, contextId, artifact } }))
  const isNewStatus = JSON.stringify(before.status) !== JSON.stringify(status)
  return isNewStatus ? [...updates, { statusUpdate: { taskId, contextId, status } }] : updates
}
