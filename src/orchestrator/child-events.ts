/** What an agent says about one task, from a message or from the task as it is, until it has ended or asks something. */
import { pollChanges, taskAfterRefusal } from '../client/poll.js'
import type { Timing } from '../client/retry.js'
import type { StreamResponse } from '../model/event.js'
import type { AgentService, CallContext, SendMessageRequest, StreamItem } from '../model/service.js'
import { isInterrupted, isTerminal, type Task } from '../model/task.js'

export async function* sent(
  service: AgentService,
  request: SendMessageRequest,
  context: CallContext,
): AsyncGenerator<StreamResponse, void, void> {
  yield* upToPause(service.sendStreamingMessage(request, context))
}

/** A task that is under way already, in whatever way its agent can tell about it. */
export async function* followed(
  service: AgentService,
  task: Task,
  context: CallContext,
  timing: Timing,
): AsyncGenerator<StreamResponse, void, void> {
  if (isPaused(task)) {
    yield { task }
    return
  }
  try {
    yield* upToPause(service.subscribeToTask({ id: task.id }, context))
  } catch (error) {
    const now = await taskAfterRefusal(service, task.id, context, error)
    yield { task: now }
    yield* upToPause(pollChanges(service, now, context, timing))
  }
}

/** A question ends the exchange: streams stay open while somebody fetches a credential, and that is not for us to do. */
async function* upToPause(items: AsyncIterable<StreamItem>): AsyncGenerator<StreamResponse, void, void> {
  for await (const { event } of items) {
    yield event
    if ('message' in event) return
    const status = 'task' in event ? event.task.status : 'statusUpdate' in event ? event.statusUpdate.status : undefined
    if (status && (isTerminal(status.state) || isInterrupted(status.state))) return
  }
}

export function isPaused({ status }: Task): boolean {
  return isTerminal(status.state) || isInterrupted(status.state)
}
