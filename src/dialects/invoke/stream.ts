/**
 * A stream of increments, then the whole (RL-L1-4). Failures inside a stream are chunks in both
 * envelopes: a reader that shows the last chunk needs no second way to learn of the end.
 */
import type { StreamResponse } from '../../model/event.js'
import { textOf } from '../../model/part.js'
import { isInterrupted, isTerminal, type Task, type TaskStatus } from '../../model/task.js'
import type { Frame, StreamEncoder } from '../dialect.js'
import { answerOf, TurnAnswer } from '../turn-answer.js'
import { encodeMessage, encodeStatus, type QuestionStatus, type Reply } from './tasks.js'

interface Standing {
  readonly taskId: string
  readonly contextId: string
  readonly status: TaskStatus
}

const nothing: readonly Frame[] = []

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
      // The first one tells of earlier turns, which this caller has read already.
      if (standing) answer.startOver(event.task)
      snapshot = event.task
      standing = { taskId: event.task.id, contextId: event.task.contextId, status: event.task.status }
      return nothing
    }
    standing = event.statusUpdate
    snapshot = undefined
    const { state, message } = standing.status
    if (isTerminal(state)) return last(encodeStatus(standing, answer.sources(message), questions))
    // Whether a question is for this caller is known when the stream ends: it may be from the turn before.
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
  return output === '' ? nothing : JSON.stringify({ output, status: 'processing' })
}
