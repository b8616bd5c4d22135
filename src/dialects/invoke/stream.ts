/**
 * A stream of increments, followed by the whole result (RL-L1-4). In both envelopes a failure inside a stream is a
 * chunk, so that readers need only the last chunk to learn the outcome.
 */
import type { StreamResponse } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import { type Part, textOf } from '../../model/part.js'
import { isInterrupted, isTerminal, type Task, type TaskStatus } from '../../model/task.js'
import type { StreamDecoder, StreamRequest } from '../client-dialect.js'
import type { Frame, StreamEncoder } from '../dialect.js'
import { FollowedTask, nothing, untilOver } from '../followed-task.js'
import { answerOf, TurnAnswer } from '../turn-answer.js'
import { partOf } from './messages.js'
import { decodeReply, decodeResponse, encodeMessage, encodeStatus, type QuestionStatus, type Reply } from './tasks.js'

interface Standing {
  readonly taskId: string
  readonly contextId: string
  readonly status: TaskStatus
}

export function createStreamEncoder(questions: QuestionStatus): StreamEncoder {
  const answer = new TurnAnswer()
  let standing: Standing | undefined
  let snapshot: Task | undefined
  let isOver = false

  function last(reply: Reply): string {
    isOver = true
    return JSON.stringify(reply)
  }

  function encodeEvent(event: StreamResponse): string | readonly Frame[] {
    if ('artifactUpdate' in event) {
      answer.addArtifact(event.artifactUpdate)
      return increment(textOf(event.artifactUpdate.artifact))
    }
    if ('message' in event) return last(encodeMessage(event.message))
    if ('task' in event) {
      // The first snapshot has only earlier turns, which this caller has already read.
      if (standing) answer.startOver(event.task)
      snapshot = event.task
      standing = { taskId: event.task.id, contextId: event.task.contextId, status: event.task.status }
      return nothing
    }
    standing = event.statusUpdate
    snapshot = undefined
    const { state, message } = standing.status
    if (isTerminal(state)) return last(encodeStatus(standing, answer.sources(message), questions))
    // A question may be from the previous turn; that is known only when the stream ends.
    if (!message || isInterrupted(state)) return nothing
    answer.addProgress(message)
    return increment(textOf(message))
  }

  return {
    encode: ({ event }) => (isOver ? nothing : encodeEvent(event)),
    end() {
      if (isOver || !standing) return nothing
      const { state, message } = standing.status
      if (!isTerminal(state) && !isInterrupted(state)) return nothing
      const sources = snapshot ? answerOf(snapshot) : answer.sources(message)
      return [{ data: last(encodeStatus(standing, sources, questions)) }]
    },
    encodeError: ({ message }) => [{ data: last({ error: message, status: 'error' }) }],
  }
}

function increment(output: string): string | readonly Frame[] {
  return output === '' ? nothing : `{"output":${JSON.stringify(output)},"status":"processing"}`
}

interface Subject {
  readonly taskId: string
  readonly contextId: string
}

export function createStreamDecoder({ sent, facts: { newId } }: StreamRequest): StreamDecoder {
  const { task_id: sentTaskId, chat_id: sentChatId } = isObject(sent) ? sent : {}
  const asked = {
    ...(typeof sentTaskId === 'string' && { taskId: sentTaskId }),
    ...(typeof sentChatId === 'string' && { contextId: sentChatId }),
  }
  const followed = new FollowedTask()
  const increments: Part[] = []
  let subject: Subject | undefined
  let artifactId = ''

  /** Increments name no task: it has a generated id until the peer names it. */
  function begin({ task_id: taskId, chat_id: contextId }: Reply): Subject {
    return {
      taskId: taskId ?? asked.taskId ?? newId(),
      contextId: contextId ?? asked.contextId ?? newId(),
    }
  }

  function increment(reply: Reply & { readonly status: 'processing' }): readonly StreamResponse[] {
    subject ??= begin(reply)
    const begun = followed.hasBegun
      ? nothing
      : followed.addStatus({ ...subject, status: { state: 'TASK_STATE_WORKING' } })
    if (reply.output === '') return begun
    const append = increments.length > 0
    if (!append) artifactId = newId()
    const parts = [partOf(reply.output)]
    increments.push(...parts)
    const update = { ...subject, artifact: { artifactId, parts }, ...(append && { append }) }
    return [...begun, ...followed.addArtifact(update)]
  }

  /** A whole that equals the collected increments adds no event. */
  function complete(parts: readonly Part[], about: Subject): readonly StreamResponse[] {
    const text = textOf(parts)
    const isRepetition = text === textOf(increments) && [...parts, ...increments].every((part) => 'text' in part)
    const isSilent = text === '' && parts.every((part) => 'text' in part)
    return [
      ...(isRepetition || isSilent
        ? nothing
        : followed.addArtifact({ ...about, artifact: { artifactId: artifactId || newId(), parts }, lastChunk: true })),
      ...followed.addStatus({ ...about, status: { state: 'TASK_STATE_COMPLETED' } }),
    ]
  }

  function end(data: unknown): readonly StreamResponse[] {
    const response = decodeResponse(data, { ...asked, ...subject, newId })
    if ('message' in response) return subject ? complete(response.message.parts, subject) : [response]
    const { task } = response
    if (subject === undefined || task.id === subject.taskId) return followed.addTask(task)
    // The question names the task; its id replaces the generated one from here on.
    return [
      { task: increments.length > 0 ? { ...task, artifacts: [{ artifactId, parts: joined(increments) }] } : task },
    ]
  }

  return untilOver((frame, over) => {
    const reply = decodeReply(frame.data)
    if (isIncrement(reply)) return increment(reply)
    over()
    return end(frame.data)
  })
}

function isIncrement(reply: Reply): reply is Reply & { readonly status: 'processing' } {
  return reply.status === 'processing'
}

function joined(parts: readonly Part[]): readonly Part[] {
  return parts.every((part) => 'text' in part) ? [{ text: textOf(parts) }] : parts
}
