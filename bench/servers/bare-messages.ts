/** The objects of v1.0 that the bare servers build for every call, without any validation. */
import { randomUUID } from 'node:crypto'
import { readScript, type Script } from './script.ts'

export interface BareMessage {
  readonly contextId?: string
  readonly parts?: readonly { readonly text?: string }[]
}

export interface BareTask {
  readonly id: string
  readonly contextId: string
  status: { readonly state: string; readonly timestamp: string }
  readonly history: readonly object[]
  artifacts?: readonly object[]
}

export function scriptOf(message: BareMessage): Script {
  return readScript(message.parts?.[0]?.text ?? '')
}

export function newTask(message: BareMessage): BareTask {
  const id = randomUUID()
  const contextId = message.contextId ?? randomUUID()
  const history = [{ ...message, taskId: id, contextId }]
  return { id, contextId, status: statusNow('TASK_STATE_SUBMITTED'), history }
}

export function complete(task: BareTask, script: Script): void {
  const text = script.kind === 'echo' ? script.text : undefined
  task.artifacts = [{ artifactId: randomUUID(), parts: [{ text }] }]
  task.status = statusNow('TASK_STATE_COMPLETED')
}

export function statusNow(state: string): BareTask['status'] {
  return { state, timestamp: new Date().toISOString() }
}

export function statusUpdate(task: BareTask, state: string): object {
  return { statusUpdate: { taskId: task.id, contextId: task.contextId, status: statusNow(state) } }
}

/** The events of a stream. Each one is built when the consumer asks for it. */
export function* eventsFor(message: BareMessage): Generator<object> {
  const task = newTask(message)
  const script = scriptOf(message)
  const count = script.kind === 'chunks' ? script.count : 0
  yield { task }
  yield statusUpdate(task, 'TASK_STATE_WORKING')
  const artifactId = randomUUID()
  for (let index = 0; index < count; index++) {
    yield artifactUpdate(task, { artifactId, index, isLast: index === count - 1 })
  }
  yield statusUpdate(task, 'TASK_STATE_COMPLETED')
}

interface Chunk {
  readonly artifactId: string
  readonly index: number
  readonly isLast: boolean
}

function artifactUpdate(task: BareTask, { artifactId, index, isLast }: Chunk): object {
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
