/**
 * The envelope of this dialect's streams: the task in short, what happened to it, whether that was
 * all; and behind the last one the literal `[DONE]` (RL-L2-1).
 */
import type { A2AError } from '../../model/errors.js'
import type { StreamResponse, TaskArtifactUpdateEvent } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import type { Part, Struct } from '../../model/part.js'
import { isInterrupted, isTerminal, type Task, type TaskStatus } from '../../model/task.js'
import type { Frame, StreamCall, StreamEncoder } from '../dialect.js'
import { answerOf, endSentence, TurnAnswer } from '../turn-answer.js'
import { encodePart } from '../v0_3/parts.js'
import { jsonSpelling, type Wire } from '../v0_3/spelling.js'
import { encodeArtifact } from '../v0_3/tasks.js'
import { encodeError } from './errors.js'
import { echoedMetadata, encodeMessage } from './messages.js'
import { answerParts } from './tasks.js'

const nothing: readonly Frame[] = []
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
  /** All deltas of an answer, and the answer, are one message (RL-L2-2). */
  readonly #messageId: string
  readonly #answer = new TurnAnswer()
  #subject: Subject | undefined
  /** A question that may turn out to be the end; it may also be from the turn before. */
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
    // An answer without a task is called like its message.
    this.#subject = { taskId, contextId }
    return this.#last('completed', encodeMessage(event.message, echoedMetadata(this.#params)))
  }

  end(): readonly Frame[] {
    if (this.#isOver || !this.#question) return [done]
    const { state } = this.#question
    return [{ data: this.#last(jsonSpelling.states[state], this.#questionMessage(this.#question)) }, done]
  }

  encodeError(error: A2AError): readonly Frame[] {
    const { code } = encodeError(error)
    const metadata = { error: { code, reason: error.code } }
    return [{ data: this.#last('failed', this.#message([{ text: error.message }], metadata)) }, done]
  }

  #encodeTask(task: Task): string | readonly Frame[] {
    const isNews = this.#subject === undefined
    // The first one tells of earlier turns, which this caller has read already.
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
      return this.#last(jsonSpelling.states[state], this.#message(parts, message?.metadata))
    }
    if (isInterrupted(state)) return nothing // `end` knows more
    if (!message) return isNews ? this.#working() : nothing
    this.#answer.addProgress(message)
    return this.#frame('working', [this.#delta(message.parts)])
  }

  #encodeArtifact(update: TaskArtifactUpdateEvent): string | readonly Frame[] {
    this.#subject ??= update
    this.#question = undefined
    this.#answer.addArtifact(update)
    const { artifact, append, lastChunk } = update
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
        artifact: encodeArtifact({ ...artifact, parts: others }, jsonSpelling),
        ...(append && { append }),
        ...(lastChunk && { lastChunk }),
        final: false,
      })
    }
    return events.length > 0 ? this.#frame('working', events) : nothing
  }

  /** Names the task before there is any text, so that callers can cancel it. Every event on the way has a delta. */
  #working(): string {
    return this.#frame('working', [this.#delta([{ text: '' }])])
  }

  #delta(parts: readonly Part[]): Wire {
    const event = this.#event('working', false)
    event.messageDelta = {
      messageId: this.#messageId,
      contextId: this.#about.contextId,
      parts: parts.map((part) => encodePart(part, jsonSpelling)),
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
    const { taskId, contextId } = this.#about
    return JSON.stringify({ task: { id: taskId, state, contextId }, events, final })
  }

  #questionMessage({ message }: TaskStatus): Wire {
    return this.#message(answerParts([message?.parts ?? []]), message?.metadata)
  }

  /** The task is named by the envelope. Metadata stays away when there is none, deltas have none either. */
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

  /** A stream may break before there is a task. */
  get #about(): Subject {
    return this.#subject ?? { taskId: '', contextId: '' }
  }
}
