/** Streams of v0.1 and of the Go library's form of it, read alike (RM-STR-2): what a frame is shows in its members. */
import type { StreamResponse } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import { isTerminal } from '../../model/task.js'
import type { IncomingFrame, StreamDecoder, StreamRequest } from '../client-dialect.js'
import { decodeOrThrow } from '../decode.js'
import { FollowedTask } from '../followed-task.js'
import { nothing, untilOver } from '../until-over.js'
import { readEvent } from './events.js'
import { decodeTask } from './tasks.js'

export function createStreamDecoder({ sent, facts: { newId } }: StreamRequest): StreamDecoder {
  // What events do not say: the session never, and some peers leave out the task, whose id was made here.
  const { id: taskId, sessionId } = isObject(sent) ? sent : {}
  const ids = { ...(typeof sessionId === 'string' && { contextId: sessionId }), newId }
  const event = readEvent(ids)
  const followed = new FollowedTask()

  function decodeWhole(data: unknown, over: () => void): readonly StreamResponse[] {
    const task = decodeTask(data, ids)
    if (isTerminal(task.status.state)) over()
    return followed.addTask(task)
  }

  function decodeEvent(data: unknown, over: () => void): readonly StreamResponse[] {
    const isNameless = isObject(data) && data.id === undefined && typeof taskId === 'string'
    const read = decodeOrThrow(event, isNameless ? { ...data, id: taskId } : data)
    if ('artifactUpdate' in read) return followed.addArtifact(read.artifactUpdate)
    if (!('statusUpdate' in read)) return nothing // `readEvent` gives no other
    const { statusUpdate } = read
    const hasEnded = isTerminal(statusUpdate.status.state)
    const final = isObject(data) ? data.final : undefined
    const isLast = final === true || (hasEnded && final !== false)
    if (isLast) over()
    // An end that is said not to be the last word: what is still to come belongs before it.
    if (!hasEnded || isLast) return followed.addStatus(statusUpdate)
    if (followed.hasBegun) return nothing
    return followed.addStatus({ ...statusUpdate, status: { state: 'TASK_STATE_WORKING' } })
  }

  return untilOver((frame, over) => {
    if (isGreeting(frame)) return nothing
    return isWhole(frame) ? decodeWhole(frame.data, over) : decodeEvent(frame.data, over)
  })
}

/** The Go library answers a resubscription with `{"status":"resubscription initiated"}` (RL-GO-2). */
function isGreeting({ data }: IncomingFrame): boolean {
  return isObject(data) && data.id === undefined && typeof data.status === 'string'
}

/** Status events have no session, artifacts or history; the Go library's first frame is a task by its name. */
function isWhole({ event, data }: IncomingFrame): boolean {
  if (!isObject(data) || !isObject(data.status)) return false
  return event === 'rpc_result' || ['sessionId', 'artifacts', 'history'].some((member) => member in data)
}
