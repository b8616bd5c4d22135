/**
 * Reads the stream of a send or a subscription as the events of one turn: text, data, files, progress, steps, a question,
 * the end. Integrations with other protocols only encode these events.
 */
import { approvals } from '../model/approvals.js'
import { batchesOf, items } from '../model/batches.js'
import { A2AError } from '../model/errors.js'
import type { TaskArtifactUpdateEvent } from '../model/event.js'
import type { Carrier } from '../model/extension.js'
import type { Message } from '../model/message.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { textOf } from '../model/part.js'
import { schemaMediaType, schemaOf } from '../model/question-schema.js'
import type { StreamItem } from '../model/service.js'
import { isStepPart, stepsOf } from '../model/steps.js'
import { isInterrupted, isTerminal, sentMessages, type Task, type TaskState, type TaskStatus } from '../model/task.js'
import { TransportError } from '../model/transport-error.js'
import { usage } from '../model/usage.js'
import { TurnContent } from './turn-content.js'
import type { TurnEvent, TurnEventBody } from './turn-event.js'

export type { TurnEvent } from './turn-event.js'

/** Options of `readTurn`. */
export interface ReadTurnOptions {
  /** The turn to read, counted from 1. Default: the turn of the first element, which is the newest one. */
  readonly turn?: number
  /**
   * Leaves out the events of elements up to this position in the log. Together with a stream of the whole log, it continues
   * a turn exactly where another reader stopped.
   */
  readonly after?: number
  /**
   * Whether the stream is that of a message to an existing task. Some agents do not include the history;
   * the artifacts in their first task are then those of earlier turns. Default false.
   */
  readonly continues?: boolean
}

const optionNames = { turn: true, after: true, continues: 'boolean' } satisfies NamesOf<ReadTurnOptions>

/**
 * Reads one turn of a task from the stream of a send or a subscription. Ends after `question`, `auth` or `end`, also if the
 * stream stays open. Artifacts of earlier turns are left out. Throws `TransportError` if the stream ends before the turn,
 * and INVALID_AGENT_RESPONSE if the agent replaces parts of a large turn so often that reading them is too expensive.
 *
 * To read a turn again, or the rest of it, subscribe to the whole log:
 *
 * ```ts
 * readTurn(agent.subscribeToTask({ id }, { resumeAfter: 0 }), { turn: 2, after: lastSeq })
 * ```
 *
 * Agents of other vendors do not number their elements. Their subscriptions begin with the task as it is, and `readTurn`
 * yields the content of its newest turn, as far as the task shows it.
 */
export function readTurn(stream: AsyncIterable<StreamItem>, options: ReadTurnOptions = {}): AsyncIterable<TurnEvent> {
  assertOptions('readTurn', options, optionNames)
  return items(turnBatches(stream, new TurnReader(options)))
}

async function* turnBatches(
  stream: AsyncIterable<StreamItem>,
  reader: TurnReader,
): AsyncGenerator<readonly TurnEvent[], void, void> {
  for await (const batch of batchesOf(stream)) {
    for (const item of batch) reader.read(item)
    const events = reader.take()
    if (events.length > 0) yield events
    if (reader.isOver) return
  }
  reader.streamEnded()
  if (!reader.isOver) throw new TransportError('broken-stream', 'The stream ended before the turn did')
  yield reader.take()
}

class TurnReader {
  isOver = false
  readonly #after: number
  readonly #continues: boolean
  #turn: number | undefined
  /** The turn of the last element; 0 before the first one. */
  #current = 0
  /** Whether the last status was a question: without numbers from the engine, the next element begins a turn. */
  #hasAsked = false
  #hasBegun = false
  #taskId: string | undefined
  readonly #content = new TurnContent((event) => this.#emit(event))
  /** The state before the message of this turn. It counts if the stream ends with it. */
  #former: TaskStatus | undefined
  #seq: number | undefined
  #events: TurnEvent[] = []

  constructor({ turn, after = 0, continues = false }: ReadTurnOptions) {
    this.#turn = turn
    this.#after = after
    this.#continues = continues
  }

  /** The events since the last call. */
  take(): readonly TurnEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  read({ event, seq, turn }: StreamItem): void {
    if (this.isOver) return
    this.#seq = seq
    if ('message' in event) this.#readMessage(event.message)
    else if ('task' in event) this.#readTask(event.task, turn)
    else {
      const update = 'statusUpdate' in event ? event.statusUpdate : event.artifactUpdate
      this.#advance(turn)
      if (this.#current > (this.#turn ?? this.#current)) this.#end('TASK_STATE_COMPLETED', '')
      else {
        if (this.#isInTurn) this.#begin(update)
        if (this.#isInTurn) this.#readUsage(update)
        if ('status' in update) this.#readStatus(update.status)
        else this.#readArtifact(update)
      }
    }
  }

  /** A task that still is in the state before the message has no other. */
  streamEnded(): void {
    if (!this.isOver && this.#former) this.#settle(this.#former)
  }

  get #isInTurn(): boolean {
    return this.#current === (this.#turn ?? this.#current)
  }

  /** Notes the turn of an update. */
  #advance(turn: number | undefined): void {
    if (turn !== undefined) this.#current = turn
    else if (this.#current === 0) this.#current = this.#turn ?? 1
    else if (this.#hasAsked) this.#current += 1
    this.#hasAsked = false
  }

  #begin({ taskId, contextId }: { readonly taskId?: string; readonly contextId?: string | undefined }): void {
    if (this.#hasBegun && taskId === this.#taskId) return
    this.#hasBegun = true
    this.#taskId = taskId
    this.#turn ??= this.#current
    this.#emit({
      kind: 'begin',
      ...(taskId !== undefined && { taskId }),
      ...(contextId !== undefined && { contextId }),
      turn: this.#turn,
    })
  }

  #readMessage(message: Message): void {
    this.#advance(undefined)
    this.#begin({ contextId: message.contextId })
    this.#readParts(message)
    this.#end('TASK_STATE_COMPLETED', '')
  }

  /** A task begins a stream. Later it replaces everything before it. */
  #readTask(task: Task, turn: number | undefined): void {
    const isFirst = this.#current === 0
    this.#current = Math.max(this.#current, turn ?? Math.max(sentMessages(task).length, this.#continues ? 2 : 1))
    this.#hasAsked = false
    const wanted = this.#turn ?? this.#current
    if (this.#current < wanted) {
      for (const artifact of task.artifacts ?? []) this.#content.skip(artifact, false)
      this.#hasAsked = isInterrupted(task.status.state)
      return
    }
    // After another reader, a stream that begins with content means that the events to continue with are gone.
    const isRestarted = !this.#hasBegun && this.#after > 0 && task.artifacts !== undefined
    const { status } = task
    // An artifact that a task has twice must not be compared with the content each time.
    const artifacts = [...new Map(task.artifacts?.map((artifact) => [artifact.artifactId, artifact])).values()]
    this.#begin({ taskId: task.id, contextId: task.contextId })
    if (isRestarted || !this.#content.isPartOf(artifacts)) this.#content.reset()
    // A question that is older than the last message belongs to an earlier turn.
    const isFormer = isInterrupted(status.state) && task.history?.at(-1)?.role === 'ROLE_USER'
    const isOver = isTerminal(status.state) || (isInterrupted(status.state) && !isFormer)
    for (const artifact of artifacts) this.#content.whole(artifact, (id) => this.#isOfTurn(id, isFirst, isOver))
    this.#readUsage(task)
    if (this.#current > wanted) this.#settlePast(task, wanted)
    else if (isFormer) this.#former = status
    else this.#readStatus(status)
  }

  /** Whether an artifact belongs to the turn, by its id alone. */
  #isOfTurn(id: string, isFirst: boolean, isOver: boolean): boolean {
    const turn = this.#turn ?? this.#current
    const writtenIn = turnIn(id)
    if (writtenIn !== undefined || this.#current > turn) return writtenIn === turn
    // In the first task of a later turn, other artifacts are earlier ones, unless the turn has ended.
    return !isFirst || turn === 1 || isOver
  }

  /** Ends a turn whose events are gone: later turns have begun. */
  #settlePast({ history = [] }: Task, turn: number): void {
    let count = 0
    const question = history.find(({ role }) => {
      if (role === 'ROLE_USER') count += 1
      return role === 'ROLE_AGENT' && count === turn
    })
    if (question) this.#settle({ state: 'TASK_STATE_INPUT_REQUIRED', message: question })
    else this.#end('TASK_STATE_COMPLETED', '')
  }

  #readStatus(status: TaskStatus): void {
    const { state, message } = status
    this.#former = undefined
    if (!this.#isInTurn) {
      this.#hasAsked = isInterrupted(state)
      // The task ended while the message waited.
      if (isTerminal(state) && this.#hasBegun) this.#settle(status)
      else if (isTerminal(state)) throw new A2AError('TASK_NOT_FOUND', `The task has no turn ${this.#turn}`)
    } else if (isTerminal(state) || isInterrupted(state)) this.#settle(status)
    else if (message) this.#readProgress(message)
  }

  #readProgress(message: Message): void {
    const found = stepsOf(message)
    for (const step of found) this.#emit({ kind: 'step', step })
    const parts = found.length === 0 ? message.parts : message.parts.filter((part) => !isStepPart(part))
    if (parts.length > 0) this.#emit({ kind: 'progress', text: textOf(parts), parts })
  }

  #readUsage(carrier: Carrier): void {
    const found = usage.read(carrier)
    if (found) this.#emit({ kind: 'usage', usage: found })
  }

  #settle({ state, message }: TaskStatus): void {
    const parts = message?.parts ?? []
    const text = textOf(parts)
    const asking = message && { messageId: message.messageId }
    if (state === 'TASK_STATE_INPUT_REQUIRED') {
      const schema = schemaOf(message)
      const approval = approvals.read(message)
      this.#finish({
        kind: 'question',
        ...asking,
        text,
        parts: schema ? parts.filter((part) => !('data' in part) || part.mediaType !== schemaMediaType) : parts,
        ...(schema && { schema }),
        ...(approval && { approval }),
      })
    } else if (state === 'TASK_STATE_AUTH_REQUIRED') {
      // The credential continues the same turn, so a reader that has seen the question reads on.
      const wasSeen = this.#seq !== undefined && this.#seq <= this.#after
      if (!wasSeen) this.#finish({ kind: 'auth', ...asking, text, parts })
    } else if (state === 'TASK_STATE_COMPLETED') {
      if (message) this.#readParts(message)
      this.#end(state, '')
    } else this.#end(state, text)
  }

  #end(state: TaskState, text: string): void {
    this.#finish({ kind: 'end', state, text })
  }

  #finish(event: TurnEventBody): void {
    this.#content.endTexts()
    this.#emit(event)
    this.isOver = true
  }

  #readArtifact(update: TaskArtifactUpdateEvent): void {
    if (this.#isInTurn) this.#content.update(update)
    else this.#content.skip(update.artifact, update.append === true)
  }

  #readParts({ messageId: artifactId, parts }: Message): void {
    this.#content.update({ taskId: '', contextId: '', artifact: { artifactId, parts }, lastChunk: true })
  }

  #emit(body: TurnEventBody): void {
    if (this.#seq === undefined) this.#events.push(body)
    else if (this.#seq > this.#after) this.#events.push({ ...body, seq: this.#seq })
  }
}

/** The turn in an artifact id of our engine, which numbers them within the turn. */
export function turnIn(artifactId: string): number | undefined {
  const turn = /^artifact-(\d+)-\d+$/.exec(artifactId)?.[1]
  return turn === undefined ? undefined : Number(turn)
}
