/**
 * Following: topics, streams, subscriptions and reads of tasks. It sees tasks that run in this process only as `LiveTasks`
 * and is independent of admission and execution.
 */
import { A2AError, invalidField } from '../../model/errors.js'
import type { CallContext, StreamItem, SubscribeToTaskRequest } from '../../model/service.js'
import { isTerminal, type TaskState } from '../../model/task.js'
import { withMembers } from '../../model/with-members.js'
import { taskNotFound } from '../access.js'
import type { Agent } from '../agent.js'
import { Tally } from '../limits.js'
import { assertStreaming } from '../message-checks.js'
import { type ReaderDeps, TaskReader } from './task-reader.js'
import { type StreamDeps, type StreamOpening, TaskStream, TurnWatch } from './task-stream.js'
import { Topics, type TopicsDeps } from './topic.js'

interface FollowingDeps extends Omit<ReaderDeps, 'agent'>, Omit<TopicsDeps, 'agent'> {
  readonly agent: Agent
  readonly store: ReaderDeps['store'] & TopicsDeps['store']
  /** Logs unexpected errors and converts them for the caller. */
  readonly toCallError: (error: unknown) => A2AError
}

export class Following {
  readonly reader: TaskReader
  readonly topics: Topics
  readonly #agent: Agent
  readonly #streams: StreamDeps

  constructor(deps: FollowingDeps) {
    const { agent, store, running, limits, access, toCallError } = deps
    const { name } = agent.card
    this.#agent = agent
    this.reader = new TaskReader({ agent: name, store, limits, running, access })
    this.topics = new Topics({ agent: name, store, running })
    this.#streams = {
      reader: this.reader,
      topics: this.topics,
      streams: new Tally(),
      maxStreamsPerCaller: limits.streamsPerCaller,
      toCallError,
    }
  }

  get openStreams(): number {
    return this.#streams.streams.total
  }

  /** A stream whose content `open` determines at the first read. */
  stream(context: CallContext, open: () => Promise<StreamOpening>): TaskStream {
    return new TaskStream(this.#streams, context, open)
  }

  subscribe({ id }: SubscribeToTaskRequest, context: CallContext): AsyncIterable<StreamItem> {
    return this.stream(context, () => this.#openSubscription(id, context))
  }

  async #openSubscription(id: string, context: CallContext): Promise<StreamOpening> {
    assertStreaming(this.#agent)
    const snapshot = await this.reader.snapshot(id, withMembers(context, { operation: 'subscribeToTask' as const }))
    if (!snapshot) throw taskNotFound(id)
    const { state } = snapshot.task.status
    const after = context.resumeAfter
    if (after !== undefined && after > snapshot.seq) throw noSuchEvent(id, after)
    // Some dialects send an ended task and end the stream.
    const isShown = after === undefined && context.showsEndedTasks === true
    if (isTerminal(state) && !isShown && (after === undefined || after === snapshot.seq))
      throw nothingToFollow(id, state)
    const watch = new TurnWatch('subscription', context)
    const history = this.reader.historyWindow(undefined)
    if (after === undefined) {
      const task = await this.reader.withProgress(snapshot.task, context)
      return { taskId: id, after: snapshot.seq, watch, history, snapshot: task }
    }
    context.onOpen?.()
    return { taskId: id, after, until: context.untilNow ? snapshot.seq : undefined, watch, history }
  }
}

export function noSuchEvent(taskId: string, cursor: number): A2AError {
  return invalidField('Last-Event-ID', `task ${taskId} has no event ${cursor}`)
}

export function nothingToFollow(taskId: string, state: TaskState): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', `Task ${taskId} has ended; there is nothing more to follow`, {
    metadata: { taskId, state },
  })
}
