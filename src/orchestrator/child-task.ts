/** One task at an agent, as far as it is known here: put together from what the agent says. */

import { pollChanges, taskAfterRefusal } from '../client/poll.js'
import type { Timing } from '../client/retry.js'
import { RetoldArtifacts, taskIdIn } from '../engine/relay-agent.js'
import { working, type Yield } from '../engine/yields.js'
import { TaskFold } from '../model/apply-event.js'
import type { StreamResponse } from '../model/event.js'
import type { Message } from '../model/message.js'
import type { AgentService, CallContext, SendMessageRequest, StreamItem } from '../model/service.js'
import type { Task } from '../model/task.js'
import { isInterrupted, isTerminal } from '../model/task.js'
import { workflowUri } from './graph.js'

/** The artifact that stands for an answer without a task. */
export const answerId = 'answer'

export class ChildTask {
  /** The agent's answer, when it made no task. */
  message: Message | undefined
  readonly #step: string
  readonly #told: RetoldArtifacts
  #fold: TaskFold | undefined
  #seq = 0

  constructor(step: string) {
    this.#step = step
    this.#told = new RetoldArtifacts({ prefix: `${step}/`, extensions: [workflowUri] })
  }

  get task(): Task | undefined {
    return this.#fold?.snapshot()
  }

  /** Takes an event in; answers what of it is to be said by the run. */
  see(event: StreamResponse): readonly Yield[] {
    if ('message' in event) {
      this.message = event.message
      return this.#told.whole([{ artifactId: answerId, name: this.#step, parts: event.message.parts }])
    }
    if ('task' in event) {
      this.#seq = 0
      this.#fold = TaskFold.from(event.task, 0)
      return this.#told.whole(event.task.artifacts ?? [])
    }
    // Some peers tell what is new and nothing else.
    this.#fold ??= TaskFold.from(begun(event), 0)
    if ('statusUpdate' in event) {
      const { state, message } = event.statusUpdate.status
      // Nothing goes back to where it began, whatever a peer says.
      if (state !== 'TASK_STATE_SUBMITTED') this.#apply(event)
      const isProgress = state === 'TASK_STATE_WORKING' && message !== undefined && message.parts.length > 0
      return isProgress ? [working([{ text: `${this.#step}: ` }, ...message.parts])] : []
    }
    this.#apply(event)
    const draft = this.#told.update(event.artifactUpdate)
    return draft ? [draft] : []
  }

  #apply(body: StreamResponse): void {
    this.#seq += 1
    this.#fold?.apply({ seq: this.#seq, time: 0, body })
  }
}

function begun(event: Extract<StreamResponse, { statusUpdate: unknown } | { artifactUpdate: unknown }>): Task {
  const { contextId } = 'statusUpdate' in event ? event.statusUpdate : event.artifactUpdate
  return { id: taskIdIn(event) ?? '', contextId, status: { state: 'TASK_STATE_SUBMITTED' } }
}

export function startNote(step: string, agent: string): Yield {
  return working(`${step}: ${agent} is asked`)
}

export async function* sendAndFollow(
  service: AgentService,
  request: SendMessageRequest,
  context: CallContext,
): AsyncGenerator<StreamResponse, void, void> {
  yield* untilPause(service.sendStreamingMessage(request, context))
}

/** A task that is under way already, in whatever way its agent can tell about it. */
export async function* followTask(
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
    yield* untilPause(service.subscribeToTask({ id: task.id }, context))
  } catch (error) {
    const now = await taskAfterRefusal(service, task.id, context, error)
    yield { task: now }
    yield* untilPause(pollChanges(service, now, context, timing))
  }
}

/** A question ends the exchange: streams stay open while somebody fetches a credential, and that is not for us to do. */
async function* untilPause(items: AsyncIterable<StreamItem>): AsyncGenerator<StreamResponse, void, void> {
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
