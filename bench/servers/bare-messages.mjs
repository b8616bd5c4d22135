// What the bare servers build for every call: the objects of v1.0, and nothing that checks them.
import { randomUUID } from 'node:crypto'
import { readScript } from './script.mjs'

export function newTask(message) {
  const id = randomUUID()
  const contextId = message.contextId ?? randomUUID()
  const history = [{ ...message, taskId: id, contextId }]
  return { id, contextId, status: statusNow('TASK_STATE_SUBMITTED'), history }
}

export function complete(task, script) {
  task.artifacts = [{ artifactId: randomUUID(), parts: [{ text: script.text }] }]
  task.status = statusNow('TASK_STATE_COMPLETED')
}

export function statusNow(state) {
  return { state, timestamp: new Date().toISOString() }
}

export function statusUpdate(task, state) {
  return { statusUpdate: { taskId: task.id, contextId: task.contextId, status: statusNow(state) } }
}

/** The events of a stream, each made when it is asked for. */
export function* eventsFor(message) {
  const task = newTask(message)
  const { count } = readScript(message.parts[0].text)
  yield { task }
  yield statusUpdate(task, 'TASK_STATE_WORKING')
  const artifactId = randomUUID()
  for (let index = 0; index < count; index++) {
    yield artifactUpdate(task, { artifactId, index, isLast: index === count - 1 })
  }
  yield statusUpdate(task, 'TASK_STATE_COMPLETED')
}

function artifactUpdate(task, { artifactId, index, isLast }) {
  return {
    artifactUpdate: {
      taskId: task.id,
      contextId: task.contextId,
      artifact: { artifactId, parts: [{ text: `chunk ${index + 1} ` }] },
      ...(index > 0 && { append: true }),
      ...(isLast && { lastChunk: true }),
    },
  }
}
