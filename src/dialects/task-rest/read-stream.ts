/** Streams of whole tasks and pieces of artifacts, read as events (RM-STR-2). Nothing says which is the last: states do. */
import { isObject } from '../../model/is-object.js'
import type { SendMessageRequest } from '../../model/service.js'
import { isTerminal } from '../../model/task.js'
import type { StreamDecoder, StreamRequest } from '../client-dialect.js'
import { decodeOrThrow } from '../decode.js'
import { FollowedTask } from '../followed-task.js'
import { nothing, untilOver } from '../until-over.js'
import { decodeError } from './errors.js'
import { readEvent } from './tasks.js'

export function createStreamDecoder({ operation, request, facts }: StreamRequest): StreamDecoder {
  const event = readEvent(facts.newId)
  const followed = new FollowedTask()
  const isAnswering =
    operation === 'sendStreamingMessage' && (request as SendMessageRequest).message.taskId !== undefined
  return untilOver((frame, over) => {
    if (isObject(frame.data) && isObject(frame.data.error)) throw decodeError(500, frame.data)
    const read = decodeOrThrow(event, isBareTask(frame.data) ? { task: frame.data } : frame.data)
    if ('artifactUpdate' in read) return followed.addArtifact(read.artifactUpdate)
    if (!('task' in read)) return nothing // `readEvent` gives no other
    const { state } = read.task.status
    // A stream that answers a question may begin with that question.
    const isOldQuestion = isAnswering && !followed.hasBegun
    if (isTerminal(state) || (state === 'TASK_STATE_INPUT_REQUIRED' && !isOldQuestion)) over()
    return followed.addTask(read.task)
  })
}

/** What a peer that does not stream answers. */
function isBareTask(data: unknown): boolean {
  return isObject(data) && data.task === undefined && data.status !== undefined
}
