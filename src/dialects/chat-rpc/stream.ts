/**
 * The envelope of chat-rpc streams: a summary of the task, the event, and whether it is the last. The literal `[DONE]`
 * follows the last envelope (RL-L2-1).
 */
import { A2AError } from '../../model/errors.js'
import type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../../model/event.js'
import { onlyText, TextChunks } from '../../model/event-json.js'
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import type { Part, Struct } from '../../model/part.js'
import { textOf } from '../../model/part.js'
import type { SendMessageRequest } from '../../model/service.js'
import type { TaskState } from '../../model/task.js'
import { isInterrupted, isTerminal, type Task, type TaskStatus } from '../../model/task.js'
import type { StreamDecoder, StreamRequest } from '../client-dialect.js'
import { array, boolean, decodeOrThrow, object, optional, required, string, struct } from '../decode.js'
import type { Frame, StreamCall, StreamEncoder } from '../dialect.js'
import { FollowedTask, nothing, untilOver } from '../followed-task.js'
import { codeNamed } from '../peer-error.js'
import { answerOf, endSentence, TurnAnswer } from '../turn-answer.js'
import { encodePart, part } from '../v0_3/parts.js'
import { decodeArtifact, encodeArtifact } from '../v0_3/tasks.js'
import { jsonForm, taskState, type Wire } from '../v0_3/wire-form.js'
import { encodeError } from './errors.js'
import { decodeMessage, echoedMetadata, encodeMessage } from './messages.js'
import { answerParts, decodeResponse } from './tasks.js'

const done: Frame = { data: '[DONE]', isBare: true }

/** The task a stream is about. */
interface Subject {
  readonly taskId: string
  readonly contextId: string
}

export function createStreamEncoder(call: StreamCall): StreamEncoder {
  return new ChatStream(call)
}

class ChatStream implements StreamEncoder {
  readonly #params: unknown
  /** All deltas of a response, and the whole response, have one message id (RL-L2-2). */
  readonly #messageId: string
  readonly #answer = new TurnAnswer()
  readonly #chunks = new TextChunks(({ artifact }) => this.#envelope('working', [this.#delta(artifact.parts)], false))
  #subject: Subject | undefined
  /** A question that may be the result of this turn, or a leftover of the previous turn. */
  #question: TaskStatus | undefined
  #isOver = false

  constructor(call: StreamCall) {
    this.#params = call.params
    this.#messageId = call.newId()
  }

  encode({ event }: { readonly event: StreamResponse }): string | readonly Frame[] {
    if (this.#isOver) return nothing
    if ('artifactUpdate' in event) return this.#encodeArtifact(event.artifactUpdate)
    if ('statusUpdate' in event) {
      const isNews = this.#subject === undefined
      this.#subject = event.statusUpdate
      return this.#encodeStatus(event.statusUpdate.status, isNews)
    }
    if ('task' in event) return this.#encodeTask(event.task)
    const { messageId, taskId = messageId, contextId = '' } = event.message
    // A response without a task uses the message id as its task id.
    this.#subject = { taskId, contextId }
    return this.#last('completed', encodeMessage(event.message, echoedMetadata(this.#params)))
  }

  end(): readonly Frame[] {
    if (this.#isOver || !this.#question) return [done]
    const { state } = this.#question
    return [{ data: this.#last(jsonForm.states[state], this.#questionMessage(this.#question)) }, done]
  }

  encodeError(error: A2AError): readonly Frame[] {
    const { code } = encodeError(error)
    const metadata = { error: { code, reason: error.code } }
    return [{ data: this.#last('failed', this.#message([{ text: error.message }], metadata)) }, done]
  }

  #encodeTask(task: Task): string | readonly Frame[] {
    const isNews = this.#subject === undefined
    // The first snapshot has only earlier turns, which this caller has already read.
    if (!isNews) this.#answer.startOver(task)
    this.#subject = { taskId: task.id, contextId: task.contextId }
    const { state } = task.status
    if (state === 'TASK_STATE_COMPLETED')
      return this.#last('completed', this.#message(answerParts(answerOf(task)), task.status.message?.metadata))
    if (isTerminal(state)) return this.#encodeStatus(task.status, false)
    this.#question = isInterrupted(state) ? task.status : undefined
    return isNews ? this.#working() : nothing
  }

  #encodeStatus(status: TaskStatus, isNews: boolean): string | readonly Frame[] {
    const { state, message } = status
    this.#question = isInterrupted(state) ? status : undefined
    if (state === 'TASK_STATE_COMPLETED')
      return this.#last('completed', this.#message(answerParts(this.#answer.sources(message)), message?.metadata))
    if (isTerminal(state)) {
      const parts = message && message.parts.length > 0 ? message.parts : [{ text: endSentence(state) }]
      return this.#last(jsonForm.states[state], this.#message(parts, message?.metadata))
    }
    if (isInterrupted(state)) return nothing // `end` sends it
    if (!message) return isNews ? this.#working() : nothing
    this.#answer.addProgress(message)
    return this.#frame('working', [this.#delta(message.parts)])
  }

  #encodeArtifact(update: TaskArtifactUpdateEvent): string | readonly Frame[] {
    this.#subject ??= update
    this.#question = undefined
    this.#answer.addArtifact(update)
    const { artifact, append, lastChunk } = update
    const text = onlyText(update)
    if (text !== undefined) return text === '' ? nothing : this.#chunks.encode(update)
    const texts: Part[] = []
    const others: Part[] = []
    for (const part of artifact.parts) {
      if (!('text' in part)) others.push(part)
      else if (part.text !== '') texts.push(part)
    }
    const events: Wire[] = []
    if (texts.length > 0) events.push(this.#delta(texts))
    if (others.length > 0) {
      events.push({
        type: 'TaskArtifactUpdateEvent',
        taskId: update.taskId,
        artifact: encodeArtifact({ ...artifact, parts: others }, jsonForm),
        ...(append && { append }),
        ...(lastChunk && { lastChunk }),
        final: false,
      })
    }
    return events.length > 0 ? this.#frame('working', events) : nothing
  }

  /**
   * Names the task before there is any text, so that callers can cancel it. Every event before the last has a delta.
   */
  #working(): string {
    return this.#frame('working', [this.#delta([{ text: '' }])])
  }

  #delta(parts: readonly Part[]): Wire {
    const event = this.#event('working', false)
    event.messageDelta = {
      messageId: this.#messageId,
      contextId: this.#about.contextId,
      parts: parts.map((part) => encodePart(part, jsonForm)),
    }
    return event
  }

  #last(state: string, message: Wire): string {
    this.#isOver = true
    return this.#frame(state, [{ ...this.#event(state, true), message }], true)
  }

  #event(state: string, final: boolean): Wire {
    return { type: 'TaskStatusUpdateEvent', taskId: this.#about.taskId, state, final }
  }

  #frame(state: string, events: readonly Wire[], final = false): string {
    return JSON.stringify(this.#envelope(state, events, final))
  }

  #envelope(state: string, events: readonly Wire[], final: boolean): Wire {
    const { taskId, contextId } = this.#about
    return { task: { id: taskId, state, contextId }, events, final }
  }

  #questionMessage({ message }: TaskStatus): Wire {
    return this.#message(answerParts([message?.parts ?? []]), message?.metadata)
  }

  /** The envelope names the task. Empty metadata is omitted; deltas have none. */
  #message(parts: readonly Part[], metadata?: Struct): Wire {
    const message: Message = {
      messageId: this.#messageId,
      contextId: this.#about.contextId,
      role: 'ROLE_AGENT',
      parts,
      ...(metadata && { metadata }),
    }
    const wire = encodeMessage(message, echoedMetadata(this.#params))
    if (isObject(wire.metadata) && Object.keys(wire.metadata).length === 0) delete wire.metadata
    return wire
  }

  /** A stream may fail before there is a task. */
  get #about(): Subject {
    return this.#subject ?? { taskId: '', contextId: '' }
  }
}

export function createStreamDecoder({ request, facts }: StreamRequest): StreamDecoder {
  const { contextId } = (request as SendMessageRequest).message
  const known = { newId: facts.newId, ...(contextId !== undefined && { contextId }) }
  const followed = new FollowedTask()
  /** One artifact id for all deltas, which may have different ids: a turn has one response. */
  let answerId: string | undefined
  let text = ''
  let otherParts = 0

  function follow({ event, isDelta }: Happened, over: () => void): readonly StreamResponse[] {
    if ('task' in event) return followed.addTask(event.task)
    if ('message' in event) {
      over()
      return [event]
    }
    if ('statusUpdate' in event) return followStatus(event.statusUpdate)
    const { artifactUpdate } = event
    const { artifact } = artifactUpdate
    for (const part of artifact.parts) if (!('text' in part)) otherParts += 1
    if (!isDelta) return followed.addArtifact(artifactUpdate)
    text += textOf(artifact)
    const append = answerId !== undefined
    answerId ??= artifact.artifactId
    const { append: _append, ...update } = artifactUpdate
    return followed.addArtifact({
      ...update,
      artifact: { ...artifact, artifactId: answerId },
      ...(append && { append }),
    })
  }

  function followStatus(update: TaskStatusUpdateEvent): readonly StreamResponse[] {
    const { status, ...about } = update
    const { message, ...withoutMessage } = status
    const hasContent = answerId !== undefined || otherParts > 0
    if (!message || !hasContent || status.state !== 'TASK_STATE_COMPLETED') return followed.addStatus(update)
    const parts = newsIn(message.parts)
    return [
      ...(parts.length === 0
        ? nothing
        : followed.addArtifact({
            ...about,
            artifact: { artifactId: answerId ?? message.messageId, parts },
            lastChunk: true,
          })),
      ...followed.addStatus({
        ...about,
        status: withoutMessage,
        ...(message.metadata && { metadata: message.metadata }),
      }),
    ]
  }

  /** The parts of the whole response that the deltas did not contain. */
  function newsIn(parts: readonly Part[]): readonly Part[] {
    const texts = parts.filter((part) => 'text' in part)
    if (parts.length - texts.length > otherParts) return parts
    const wholeText = textOf(texts)
    return wholeText === '' || wholeText === text ? [] : texts
  }

  return untilOver(({ data }, over) => {
    throwFailure(data)
    if (isObject(data) && !isObject(data.task))
      return follow({ event: decodeResponse(data, known), isDelta: false }, over)
    const events = readStreamResult(data, known).flatMap((item) => follow(item, over))
    if (isObject(data) && isFinal(data)) over()
    return events
  })

  /** A failed stream ends with a failed task whose message has the error in its metadata. */
  function throwFailure(data: unknown): void {
    if (!isObject(data) || !Array.isArray(data.events)) return
    for (const event of data.events as unknown[]) {
      const message = isObject(event) ? event.message : undefined
      const metadata = isObject(message) ? message.metadata : undefined
      const error = isObject(metadata) ? metadata.error : undefined
      const code = isObject(error) ? codeNamed(error.reason) : undefined
      if (code) throw new A2AError(code, textOf(decodeMessage(message, facts)))
    }
  }
}

function isFinal({ final, events }: Record<string, unknown>): boolean {
  const last: unknown = Array.isArray(events) ? events.at(-1) : undefined
  return final === true || (isObject(last) && last.artifact === undefined && last.final === true)
}

interface Short {
  readonly id: string
  readonly state?: TaskState
  readonly contextId?: string
}

interface Delta {
  readonly messageId?: string
  readonly parts: readonly Part[]
}

interface WireEvent {
  readonly state?: TaskState
  readonly messageDelta?: Delta
  readonly append?: boolean
  readonly lastChunk?: boolean
}

const result = object<{ readonly task: Short; readonly events?: readonly Struct[] }>({
  task: required(object<Short>({ id: required(string), state: optional(taskState), contextId: optional(string) })),
  events: optional(array(struct)),
})

const wireEvent = object<WireEvent>({
  state: optional(taskState),
  messageDelta: optional(object<Delta>({ messageId: optional(string), parts: required(array(part.json)) })),
  append: optional(boolean),
  lastChunk: optional(boolean),
})

/** Whether this is the envelope of chat-rpc and not an event of 0.3, whose servers have the same card and methods. */
export function isStreamResult(wire: unknown): boolean {
  return isObject(wire) && Array.isArray(wire.events) && isObject(wire.task) && wire.task.status === undefined
}

/** An event, and whether it is a delta of the response. */
interface Happened {
  readonly event: StreamResponse
  readonly isDelta: boolean
}

interface Known {
  newId(): string
  /** Used if the envelope names no context. */
  readonly contextId?: string
}

/** Decodes one `result` to events: deltas are chunks of an artifact with the id of their message. */
export function decodeStreamResult(wire: unknown, known: Known): readonly StreamResponse[] {
  return readStreamResult(wire, known).map(({ event }) => event)
}

function readStreamResult(wire: unknown, known: Known): readonly Happened[] {
  const { task, events = [] } = decodeOrThrow(result, wire)
  return events.map((event) => readEvent(event, task, known))
}

/** A delta without text only names the task. */
function isEmptyText(part: Part): boolean {
  return 'text' in part && part.text === ''
}

function readEvent(wire: Struct, task: Short, known: Known): Happened {
  const { state = task.state, messageDelta, append, lastChunk } = decodeOrThrow(wireEvent, wire)
  const about = { taskId: task.id, contextId: task.contextId ?? known.contextId ?? task.id }
  if (wire.artifact !== undefined) {
    const chunk = { ...(append !== undefined && { append }), ...(lastChunk !== undefined && { lastChunk }) }
    const artifact = decodeArtifact(wire.artifact, jsonForm)
    return { event: { artifactUpdate: { ...about, artifact, ...chunk } }, isDelta: false }
  }
  if (messageDelta && !messageDelta.parts.every(isEmptyText)) {
    const { messageId: artifactId = 'answer', parts } = messageDelta
    return { event: { artifactUpdate: { ...about, artifact: { artifactId, parts }, append: true } }, isDelta: true }
  }
  const message: Message | undefined = isObject(wire.message) ? decodeMessage(wire.message, known) : undefined
  // A response without a task has the message id as task id: see the encoder.
  if (message && message.messageId === task.id) return { event: { message }, isDelta: false }
  const status = { state: state ?? 'TASK_STATE_WORKING', ...(message && { message }) }
  return { event: { statusUpdate: { ...about, status } }, isDelta: false }
}
