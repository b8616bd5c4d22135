/** Increments as chunks of an artifact, and the last word as the end of a task (RM-STR-2, RL-L1-4). */
import type { StreamResponse } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import { type Part, textOf } from '../../model/part.js'
import type { StreamDecoder, StreamRequest } from '../client-dialect.js'
import { FollowedTask } from '../followed-task.js'
import { nothing, untilOver } from '../until-over.js'
import { partOf } from './messages.js'
import { decodeReply, decodeResponse, type Reply } from './tasks.js'

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

  /** Increments name no task: it is called something until it is known better. */
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

  /** The whole is no news when it is what the increments say together. */
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
    // The question tells what the task is really called: from here on it is that one.
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
