/**
 * Streams of this dialect, read (RM-STR-2). Deltas are chunks of one artifact, called like their message; the
 * message that repeats them at the end is told only where it says something else.
 */
import { A2AError } from '../../model/errors.js'
import type { StreamResponse, TaskStatusUpdateEvent } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import { type Part, textOf } from '../../model/part.js'
import type { SendMessageRequest } from '../../model/service.js'
import type { StreamDecoder, StreamRequest } from '../client-dialect.js'
import { FollowedTask } from '../followed-task.js'
import { codeNamed } from '../read-error-details.js'
import { nothing, untilOver } from '../until-over.js'
import { decodeMessage } from './messages.js'
import { type Happened, readStreamResult } from './stream-result.js'
import { decodeResponse } from './tasks.js'

export function createStreamDecoder({ request, facts }: StreamRequest): StreamDecoder {
  const { contextId } = (request as SendMessageRequest).message
  const known = { newId: facts.newId, ...(contextId !== undefined && { contextId }) }
  const followed = new FollowedTask()
  /** What all deltas are told as, whatever their ids: an answer is one. */
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
    const { message, ...silent } = status
    const hasTold = answerId !== undefined || otherParts > 0
    if (!message || !hasTold || status.state !== 'TASK_STATE_COMPLETED') return followed.addStatus(update)
    const parts = newsIn(message.parts)
    return [
      ...(parts.length === 0
        ? nothing
        : followed.addArtifact({
            ...about,
            artifact: { artifactId: answerId ?? message.messageId, parts },
            lastChunk: true,
          })),
      ...followed.addStatus({ ...about, status: silent, ...(message.metadata && { metadata: message.metadata }) }),
    ]
  }

  /** What an answer has that was not told on the way. */
  function newsIn(parts: readonly Part[]): readonly Part[] {
    const texts = parts.filter((part) => 'text' in part)
    if (parts.length - texts.length > otherParts) return parts
    const said = textOf(texts)
    return said === '' || said === text ? [] : texts
  }

  return untilOver(({ data }, over) => {
    throwFailure(data)
    if (isObject(data) && !isObject(data.task))
      return follow({ event: decodeResponse(data, known), isDelta: false }, over)
    const events = readStreamResult(data, known).flatMap((happened) => follow(happened, over))
    if (isObject(data) && isFinal(data)) over()
    return events
  })

  /** A stream that broke is told as a task that failed, with the error in its last words. */
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
