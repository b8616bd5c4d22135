/**
 * A stream begins with a status, never with a task (RL-01-5). Artifacts are numbered by their place in
 * the task, which the snapshot at the beginning of the stream settles for those that were there before.
 */
import type { TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../../model/event.js'
import { isTerminal, type Task, type TaskState } from '../../model/task.js'
import type { Frame, StreamCall, StreamEncoder } from '../dialect.js'
import { encodeArtifactEvent, encodeStatusEvent } from './events.js'
import type { Spelling } from './spelling.js'
import { encodeTask, taskOf } from './tasks.js'

export function createStreamEncoder({ operation, params }: StreamCall, spelling: Spelling): StreamEncoder {
  const isJoining = operation === 'subscribeToTask'
  const places = new Map<string, number>()
  let hasBegun = false

  function artifactFrame(update: TaskArtifactUpdateEvent): Frame {
    const { artifactId } = update.artifact
    let place = places.get(artifactId)
    if (place === undefined) {
      place = places.size
      places.set(artifactId, place)
    }
    return frame('task_artifact_update', encodeArtifactEvent(update, place, spelling))
  }

  function statusFrame(update: TaskStatusUpdateEvent, isFinal: boolean): Frame {
    return frame('task_status_update', encodeStatusEvent(update, isFinal, spelling))
  }

  function frame(event: string, body: object): Frame {
    const data = JSON.stringify(body)
    return spelling.hasNamedEvents ? { data, event, isBare: true } : { data }
  }

  /** Comes first; again when the reader was too slow and starts over. */
  function snapshotFrames(task: Task): readonly Frame[] {
    const isFirst = !hasBegun
    hasBegun = true
    places.clear()
    for (const { artifactId } of task.artifacts ?? []) places.set(artifactId, places.size)
    const hasEnded = isTerminal(task.status.state)
    const about = { taskId: task.id, contextId: task.contextId }
    const update = { ...about, status: task.status }
    if (isFirst && !isJoining && spelling.hasNamedEvents) {
      const answer = rpcResult(encodeTask(task, spelling, false))
      return hasEnded ? [answer, statusFrame(update, true)] : [answer]
    }
    // Who sent a message knows what was there before; who joins, or is told nothing else, does not.
    const artifacts = isJoining || !isFirst || hasEnded ? (task.artifacts ?? []) : []
    // Readers leave at the final status, so it stands last. Where a stream begins with one, the end is told twice.
    const isLate = hasEnded && artifacts.length > 0
    const isTold = !isLate || (isFirst && !spelling.hasNamedEvents)
    return [
      ...(isFirst && spelling.hasNamedEvents ? [rpcResult({ status: 'resubscription initiated' })] : []),
      ...(isTold ? [statusFrame(update, hasEnded && !isLate)] : []),
      ...artifacts.map((artifact) => artifactFrame({ ...about, artifact })),
      ...(isLate ? [statusFrame(update, true)] : []),
    ]
  }

  /** One frame in the ordinary envelope is a text. */
  function spelled(only: Frame): string | readonly Frame[] {
    return spelling.hasNamedEvents ? [only] : only.data
  }

  return {
    encode({ event }) {
      if ('artifactUpdate' in event) return spelled(artifactFrame(event.artifactUpdate))
      if ('statusUpdate' in event) {
        const { statusUpdate } = event
        return spelled(statusFrame(statusUpdate, isLast(statusUpdate.status.state, spelling)))
      }
      return snapshotFrames('task' in event ? event.task : taskOf(event.message, params))
    },
  }
}

function rpcResult(result: object): Frame {
  return { event: 'rpc_result', data: JSON.stringify(result) }
}

/** Interruptions end a stream in the profiles that have a state for them. */
function isLast(state: TaskState, { states }: Spelling): boolean {
  return isTerminal(state) || states[state] === 'input-required'
}
