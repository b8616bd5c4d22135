/**
 * An agent whose work is done by another one: a bridge between dialects. It is an agent like any other, so
 * its tasks are durable and private here, one for each task there; what the other one says is said again.
 *
 * Which task there belongs to a question is written into the question's first part, because that is what a
 * later turn sees, also in another process.
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

/** In the metadata of a question's first part: `{ taskId }`. */
const relayKey = 'urn:dragoman:relay:v1'

/**
 * Makes an agent that passes its messages on to `service`. The card's input modes are published and not enforced: cards
 * often list fewer media types than their agents accept, so the other agent decides.
 */
export function relayAgent(card: AgentInit, service: AgentService): Agent {
  const relaying = agent({ ...card, skills: card.skills ?? [] }, (turn: Turn) => relay(turn, service))
  return { ...relaying, enforcesInputModes: false }
}

async function* relay(turn: Turn, service: AgentService): AsyncGenerator<Yield, void, void> {
  const there = taskThere(turn)
  const gone = new AbortController()
  const same: CallContext = { caller: anonymous, ...traceContextOf(turn) }
  let taskId = there
  const cancel = () => {
    // Until the other agent has named its task there is nothing to cancel: the stream is read up to that point.
    if (taskId === undefined) return
    service.cancelTask({ id: taskId }, same).catch(() => undefined) // it may have ended meanwhile
    gone.abort()
  }
  turn.signal.addEventListener('abort', cancel)
  const artifacts = new RetoldArtifacts()
  try {
    for await (const { event } of service.sendStreamingMessage(requestOf(turn, there), {
      ...same,
      signal: gone.signal,
    })) {
      taskId = taskIdIn(event) ?? taskId
      if (turn.signal.aborted) {
        cancel()
        return
      }
      const said = [...retold(event, artifacts, taskId)]
      yield* said
      if (said.some(endsTurn)) return
    }
  } catch (error) {
    if (turn.signal.aborted) return
    // What the other agent refuses is refused here, in the same words; what broke on the way is ours.
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

/** The task that asked the question this turn answers. */
function taskThere({ history }: Turn): string | undefined {
  const question = history.findLast(({ role }) => role === 'ROLE_AGENT')
  const mark = question?.parts[0]?.metadata?.[relayKey] as Struct | undefined
  return typeof mark?.taskId === 'string' ? mark.taskId : undefined
}

/** The same thing, said by us. A whole task (the first event, or after a break) tells what was not told before. */
function* retold(event: StreamResponse, artifacts: RetoldArtifacts, taskId: string | undefined): Generator<Yield> {
  if ('message' in event) yield reply(event.message.parts)
  else if ('artifactUpdate' in event) {
    const draft = artifacts.update(event.artifactUpdate)
    if (draft) yield draft
  } else if ('statusUpdate' in event) yield* retoldStatus(event.statusUpdate.status, taskId)
  else yield* retoldTask(event.task, artifacts, taskId)
}

function* retoldTask(
  { artifacts = [], status }: Task,
  told: RetoldArtifacts,
  taskId: string | undefined,
): Generator<Yield> {
  // A task that goes on after a question shows what it made before it; here that was told in that turn.
  if (!isTerminal(status.state) && !told.isBegun) told.pass(artifacts)
  else yield* told.whole(artifacts)
  if (status.state !== 'TASK_STATE_SUBMITTED') yield* retoldStatus(status, taskId)
}

function* retoldStatus({ state, message }: TaskStatus, taskId: string | undefined): Generator<Yield> {
  const parts = message?.parts ?? []
  const words = parts.length > 0 ? parts : undefined
  if (state === 'TASK_STATE_WORKING') yield working(words)
  else if (state === 'TASK_STATE_COMPLETED') yield completed(words)
  else if (state === 'TASK_STATE_FAILED') yield failed(words)
  else if (state === 'TASK_STATE_REJECTED') yield rejected(words)
  else if (state === 'TASK_STATE_CANCELED') yield failed(words ?? 'The agent behind this one cancelled the task')
  else if (state !== 'TASK_STATE_SUBMITTED')
    yield question(state, words ?? [{ text: 'The agent asks for more' }], taskId)
}

function question(state: StatusDraft['state'], parts: readonly Part[], taskId: string | undefined): StatusDraft {
  const [first = { text: '' }, ...others] = parts
  const marked: Part = { ...first, metadata: { ...first.metadata, [relayKey]: { taskId: taskId ?? '' } } }
  return { kind: 'status', state, parts: [marked, ...others] }
}

function endsTurn(said: Yield): boolean {
  return (
    typeof said === 'object' &&
    (said.kind === 'reply' || (said.kind === 'status' && said.state !== 'TASK_STATE_WORKING'))
  )
}

export class RetoldArtifacts {
  readonly #prefix: string
  readonly #extensions: readonly string[]
  readonly #seen = new Set<string>()

  /** `prefix` keeps the ids of several tasks apart; `extensions` are added to what each artifact says of itself. */
  constructor(options: { readonly prefix?: string; readonly extensions?: readonly string[] } = {}) {
    this.#prefix = options.prefix ?? ''
    this.#extensions = options.extensions ?? []
  }

  /** Whether anything was told yet. */
  get isBegun(): boolean {
    return this.#seen.size > 0
  }

  update({ artifact: made, append = false, lastChunk }: TaskArtifactUpdateEvent): ArtifactDraft | undefined {
    const isMore = append && this.#seen.has(made.artifactId)
    return this.#draft(made, isMore, lastChunk)
  }

  /** All of them as they are now; what was told before is replaced. */
  whole(artifacts: readonly Artifact[]): readonly ArtifactDraft[] {
    return artifacts.flatMap((each) => this.#draft(each, false) ?? [])
  }

  /** They were told before, in another turn. */
  pass(artifacts: readonly Artifact[]): void {
    for (const { artifactId } of artifacts) this.#seen.add(artifactId)
  }

  #draft(made: Artifact, append: boolean, lastChunk?: boolean): ArtifactDraft | undefined {
    const { artifactId, name = '', description, parts, metadata } = made
    const extensions = [...this.#extensions, ...(made.extensions ?? [])]
    this.#seen.add(artifactId)
    // Strange peers send artifacts with nothing in them; ours have something.
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

/** The task that an event is about. */
export function taskIdIn(event: StreamResponse): string | undefined {
  if ('task' in event) return event.task.id
  if ('statusUpdate' in event) return event.statusUpdate.taskId
  return 'artifactUpdate' in event ? event.artifactUpdate.taskId : undefined
}
