/**
 * An agent that forwards its messages to another agent, for example as a bridge between dialects. Each of its tasks
 * corresponds to one remote task, whose events it yields again.
 *
 * The id of the remote task is stored in the first part of each question, because later turns see the question, also in
 * another process.
 */

import type { Artifact } from '../model/artifact.js'
import { A2AError } from '../model/errors.js'
import type { StreamResponse, TaskArtifactUpdateEvent } from '../model/event.js'
import type { Message } from '../model/message.js'
import type { Part, Struct } from '../model/part.js'
import { type AgentService, anonymous, type CallContext } from '../model/service.js'
import { isTerminal, type Task, type TaskStatus } from '../model/task.js'
import { traceContextOf } from '../model/trace-context.js'
import { type Agent, type AgentInit, agent, type Turn } from './agent.js'
import {
  type ArtifactDraft,
  artifact,
  completed,
  failed,
  rejected,
  reply,
  type StatusDraft,
  working,
  type Yield,
} from './yields.js'

/** The key of `{ taskId }` in the metadata of a question's first part. */
const relayKey = 'urn:dragoman:relay:v1'

/**
 * Creates an agent that forwards its messages to `service`. The card's input modes are published and not enforced: cards
 * often list fewer media types than their agents accept, so the remote agent checks them.
 */
export function relayAgent(card: AgentInit, service: AgentService): Agent {
  const relaying = agent({ ...card, skills: card.skills ?? [] }, (turn: Turn) => relay(turn, service))
  return { ...relaying, enforcesInputModes: false }
}

async function* relay(turn: Turn, service: AgentService): AsyncGenerator<Yield, void, void> {
  const continued = remoteTaskOf(turn)
  const stop = new AbortController()
  const context: CallContext = { caller: anonymous, ...traceContextOf(turn) }
  let taskId = continued
  const cancel = () => {
    // The remote task cannot be cancelled before its id is known: the stream is read until then.
    if (taskId === undefined) return
    service.cancelTask({ id: taskId }, context).catch(() => undefined) // it may have ended
    stop.abort()
  }
  turn.signal.addEventListener('abort', cancel)
  const artifacts = new ArtifactRelay()
  try {
    for await (const { event } of service.sendStreamingMessage(requestOf(turn, continued), {
      ...context,
      signal: stop.signal,
    })) {
      taskId = taskIdIn(event) ?? taskId
      if (turn.signal.aborted) {
        cancel()
        return
      }
      const yields = [...yieldsOf(event, artifacts, taskId)]
      yield* yields
      if (yields.some(endsTurn)) return
    }
  } catch (error) {
    if (turn.signal.aborted) return
    // Errors of the remote agent are passed on; other errors are ours.
    if (error instanceof A2AError) throw error
    throw new A2AError('UNAVAILABLE', 'The agent behind this one does not answer', {
      cause: error,
      retryAfterSeconds: 5,
    })
  } finally {
    turn.signal.removeEventListener('abort', cancel)
  }
}

function requestOf({ message, contextId, metadata, acceptedOutputModes }: Turn, taskId: string | undefined) {
  const { taskId: _here, ...rest } = message
  const sent: Message = { ...rest, contextId, ...(taskId !== undefined && { taskId }) }
  return {
    message: sent,
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(acceptedOutputModes.length > 0 && { configuration: { acceptedOutputModes } }),
  }
}

/** The remote task whose question this turn answers. */
function remoteTaskOf({ history }: Turn): string | undefined {
  const question = history.findLast(({ role }) => role === 'ROLE_AGENT')
  const mark = question?.parts[0]?.metadata?.[relayKey] as Struct | undefined
  return typeof mark?.taskId === 'string' ? mark.taskId : undefined
}

/** The yields for a remote event. A whole task (the first event, or after a reconnect) yields what is new in it. */
function* yieldsOf(event: StreamResponse, artifacts: ArtifactRelay, taskId: string | undefined): Generator<Yield> {
  if ('message' in event) yield reply(event.message.parts)
  else if ('artifactUpdate' in event) {
    const draft = artifacts.update(event.artifactUpdate)
    if (draft) yield draft
  } else if ('statusUpdate' in event) yield* statusYields(event.statusUpdate.status, taskId)
  else yield* taskYields(event.task, artifacts, taskId)
}

function* taskYields(
  { artifacts = [], status }: Task,
  relay: ArtifactRelay,
  taskId: string | undefined,
): Generator<Yield> {
  // A continued task includes the artifacts of earlier turns, which were yielded in those turns.
  if (!isTerminal(status.state) && !relay.hasBegun) relay.skip(artifacts)
  else yield* relay.replace(artifacts)
  if (status.state !== 'TASK_STATE_SUBMITTED') yield* statusYields(status, taskId)
}

function* statusYields({ state, message }: TaskStatus, taskId: string | undefined): Generator<Yield> {
  const parts = message?.parts ?? []
  const content = parts.length > 0 ? parts : undefined
  if (state === 'TASK_STATE_WORKING') yield working(content)
  else if (state === 'TASK_STATE_COMPLETED') yield completed(content)
  else if (state === 'TASK_STATE_FAILED') yield failed(content)
  else if (state === 'TASK_STATE_REJECTED') yield rejected(content)
  else if (state === 'TASK_STATE_CANCELED') yield failed(content ?? 'The agent behind this one cancelled the task')
  else if (state !== 'TASK_STATE_SUBMITTED')
    yield question(state, content ?? [{ text: 'The agent asks for more' }], taskId)
}

function question(state: StatusDraft['state'], parts: readonly Part[], taskId: string | undefined): StatusDraft {
  const [first = { text: '' }, ...others] = parts
  const marked: Part = { ...first, metadata: { ...first.metadata, [relayKey]: { taskId: taskId ?? '' } } }
  return { kind: 'status', state, parts: [marked, ...others] }
}

function endsTurn(value: Yield): boolean {
  return (
    typeof value === 'object' &&
    (value.kind === 'reply' || (value.kind === 'status' && value.state !== 'TASK_STATE_WORKING'))
  )
}

/** Yields the artifacts of a remote task as artifacts of this task. */
export class ArtifactRelay {
  readonly #prefix: string
  readonly #extensions: readonly string[]
  readonly #seen = new Set<string>()

  /** `prefix` separates the ids of several remote tasks; `extensions` are added to each artifact. */
  constructor(options: { readonly prefix?: string; readonly extensions?: readonly string[] } = {}) {
    this.#prefix = options.prefix ?? ''
    this.#extensions = options.extensions ?? []
  }

  /** Whether any artifact was yielded or skipped. */
  get hasBegun(): boolean {
    return this.#seen.size > 0
  }

  update({ artifact: remote, append = false, lastChunk }: TaskArtifactUpdateEvent): ArtifactDraft | undefined {
    const isMore = append && this.#seen.has(remote.artifactId)
    return this.#draft(remote, isMore, lastChunk)
  }

  /** Yields artifacts as they are now. They replace earlier versions. */
  replace(artifacts: readonly Artifact[]): readonly ArtifactDraft[] {
    return artifacts.flatMap((each) => this.#draft(each, false) ?? [])
  }

  /** Skips artifacts that were yielded in an earlier turn. */
  skip(artifacts: readonly Artifact[]): void {
    for (const { artifactId } of artifacts) this.#seen.add(artifactId)
  }

  #draft(remote: Artifact, append: boolean, lastChunk?: boolean): ArtifactDraft | undefined {
    const { artifactId, name = '', description, parts, metadata } = remote
    const extensions = [...this.#extensions, ...(remote.extensions ?? [])]
    this.#seen.add(artifactId)
    // Some agents send artifacts without parts, which are not valid.
    if (parts.length === 0) return undefined
    return artifact(name, parts, {
      id: `${this.#prefix}${artifactId}`,
      append,
      ...(lastChunk !== undefined && { lastChunk }),
      ...(description !== undefined && { description }),
      ...(metadata && { metadata }),
      ...(extensions.length > 0 && { extensions }),
    })
  }
}

/** The id of the task in an event. */
export function taskIdIn(event: StreamResponse): string | undefined {
  if ('task' in event) return event.task.id
  if ('statusUpdate' in event) return event.statusUpdate.taskId
  return 'artifactUpdate' in event ? event.artifactUpdate.taskId : undefined
}
