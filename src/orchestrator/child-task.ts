/** The task of a step at its agent: folds the agent's events, and converts them to yields of the run. */

import { pollChanges, taskAfterRefusal } from '../client/poll.js'
import type { Timing } from '../client/retry.js'
import { ArtifactRelay, taskIdIn } from '../engine/relay-agent.js'
import { working, type Yield } from '../engine/yields.js'
import type { StreamResponse } from '../model/event.js'
import type { Message } from '../model/message.js'
import type { AgentService, CallContext, SendMessageRequest, StreamItem } from '../model/service.js'
import type { Task } from '../model/task.js'
import { isInterrupted, isTerminal } from '../model/task.js'
import { TaskFold } from '../model/task-fold.js'
import { workflowUri } from './graph.js'

/** Id of the artifact for an answer that is a message. */
export const answerId = 'answer'

export class ChildTask {
  /** The agent's answer, if it created no task. */
  message: Message | undefined
  readonly #step: string
  readonly #artifacts: ArtifactRelay
  #fold: TaskFold | undefined
  #seq = 0

  constructor(step: string) {
    this.#step = step
    this.#artifacts = new ArtifactRelay({ prefix: `${step}/`, extensions: [workflowUri] })
  }

  get task(): Task | undefined {
    return this.#fold?.snapshot()
  }

  /** Applies an event and returns what the run yields for it. */
  apply(event: StreamResponse): readonly Yield[] {
    if ('message' in event) {
      this.message = event.message
      return this.#artifacts.replace([{ artifactId: answerId, name: this.#step, parts: event.message.parts }])
    }
    if ('task' in event) {
      this.#seq = 0
      this.#fold = TaskFold.from(event.task, 0)
      return this.#artifacts.replace(event.task.artifacts ?? [])
    }
    // Some peers send updates without the task first.
    this.#fold ??= TaskFold.from(submitted(event), 0)
    if ('statusUpdate' in event) {
      const { state, message } = event.statusUpdate.status
      // A task cannot return to SUBMITTED.
      if (state !== 'TASK_STATE_SUBMITTED') this.#apply(event)
      const isProgress = state === 'TASK_STATE_WORKING' && message !== undefined && message.parts.length > 0
      return isProgress ? [working([{ text: `${this.#step}: ` }, ...message.parts])] : []
    }
    this.#apply(event)
    const draft = this.#artifacts.update(event.artifactUpdate)
    return draft ? [draft] : []
  }

  #apply(body: StreamResponse): void {
    this.#seq += 1
    this.#fold?.apply({ seq: this.#seq, time: 0, body })
  }
}

function submitted(event: Extract<StreamResponse, { statusUpdate: unknown } | { artifactUpdate: unknown }>): Task {
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

/** Follows an existing task, by subscription or by polling. */
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

/** Ends at the end of the task or at a question: streams stay open while the agent waits for a credential. */
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
