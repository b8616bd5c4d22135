/** A thread of AG-UI: the tasks of one context, as the messages that a client shows. */
import { turnIn } from '../../client/read-turn.js'
import { isStruct } from '../../model/json-schema.js'
import type { Message } from '../../model/message.js'
import { type Part, type Struct, textOf } from '../../model/part.js'
import { sentMessages, type Task } from '../../model/task.js'
import { mediaPart, messageIdOf } from './run-encoder.js'

/** The key of AG-UI's members in metadata. */
export const metadataKey = 'ag-ui'

const wholeTask = Number.POSITIVE_INFINITY

/** The newest turn of a thread. */
export interface NewestTurn {
  readonly task: Task
  readonly turn: number
  /** The id of the run, if the turn was started by one. */
  readonly runId: string
  /** The messages before the answer of the turn. */
  readonly messages: readonly Struct[]
}

/** The newest turn of tasks that are sorted by their last change, the newest first; undefined if there is none. */
export function newestTurn([newest, ...others]: readonly Task[]): NewestTurn | undefined {
  if (!newest) return undefined
  const sent = sentMessages(newest)
  const turn = Math.max(1, sent.length)
  const facts = sent.at(-1)?.metadata?.[metadataKey]
  const runId = isStruct(facts) && typeof facts.runId === 'string' ? facts.runId : `${newest.id}-${turn}`
  const before = others.reverse().flatMap((task) => messagesOf(task, wholeTask))
  return { task: newest, turn, runId, messages: [...before, ...messagesOf(newest, turn)] }
}

/**
 * The messages of a task before the answer of a turn. Artifacts follow the message of the turn that their id names; the
 * message that completed the task is the last one.
 */
function messagesOf(task: Task, turn: number): readonly Struct[] {
  const { id, artifacts = [], status } = task
  const texts = artifacts.flatMap(({ artifactId, parts }) => {
    const content = textOf(parts)
    const writtenIn = turnIn(artifactId) ?? sentMessages(task).length
    return content === ''
      ? []
      : [{ writtenIn, answer: { id: messageIdOf(id, artifactId), role: 'assistant', content } }]
  })
  const before = sentMessages(task).flatMap((message, place) => [
    ...userMessage(message),
    ...texts.filter(({ writtenIn }) => writtenIn === place + 1 && writtenIn < turn).map(({ answer }) => answer),
  ])
  const final = status.state === 'TASK_STATE_COMPLETED' && turn === wholeTask ? status.message : undefined
  if (!final || textOf(final) === '') return before
  return [...before, { id: messageIdOf(id, final.messageId), role: 'assistant', content: textOf(final) }]
}

/** Answers to interrupts are no messages of the thread. */
function userMessage({ messageId, parts, metadata }: Message): readonly Struct[] {
  const facts = metadata?.[metadataKey]
  if (isStruct(facts) && facts.isResume === true) return []
  const isText = parts.every((part) => 'text' in part)
  return [{ id: messageId, role: 'user', content: isText ? textOf(parts) : parts.map(contentPart) }]
}

function contentPart(part: Part): Struct {
  if ('text' in part) return { type: 'text', text: part.text }
  if ('data' in part) return { type: 'text', text: JSON.stringify(part.data) }
  return mediaPart(part)
}
