/**
 * The echo agent of the servers with @a2a-js/sdk. It publishes the events that Dragoman's echo agent streams for the
 * same text.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AgentCard, type Message, type Task, TaskState, type TaskStatus } from 'a2a-sdk-v1'
import { AgentEvent, type AgentExecutor, type ExecutionEventBus } from 'a2a-sdk-v1/server'
import { readScript } from './script.ts'

export const card: AgentCard = {
  name: 'Echo',
  description: 'Returns the text of each message',
  version: '1.0.0',
  provider: undefined,
  supportedInterfaces: ['JSONRPC', 'GRPC'].map((protocolBinding) => ({
    url: 'http://127.0.0.1/',
    protocolBinding,
    protocolVersion: '1.0',
    tenant: '',
  })),
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
}

interface TaskIds {
  readonly taskId: string
  readonly contextId: string
}

export const echoAgent: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const script = readScript(textOf(userMessage))
    const ids = { taskId, contextId }
    bus.publish(AgentEvent.task(newTask(ids, userMessage)))
    if (script.kind !== 'echo') bus.publish(statusUpdate(ids, TaskState.TASK_STATE_WORKING))
    if (script.kind === 'sleep') await sleep(script.ms)
    if (script.kind === 'chunks') publishChunks(bus, ids, script.count)
    if (script.kind === 'echo') bus.publish(chunk(ids, { text: script.text, isLast: true }))
    bus.publish(statusUpdate(ids, TaskState.TASK_STATE_COMPLETED))
  },
  async cancelTask() {},
}

function textOf({ parts }: Message): string {
  const content = parts[0]?.content
  return content?.$case === 'text' ? content.value : ''
}

function publishChunks(bus: ExecutionEventBus, ids: TaskIds, count: number): void {
  const artifactId = randomUUID()
  for (let index = 0; index < count; index++) {
    const text = `chunk ${index + 1} `
    bus.publish(chunk(ids, { artifactId, text, append: index > 0, isLast: index === count - 1 }))
  }
}

function newTask({ taskId, contextId }: TaskIds, userMessage: Message): Task {
  return {
    id: taskId,
    contextId,
    status: statusNow(TaskState.TASK_STATE_SUBMITTED),
    artifacts: [],
    history: [userMessage],
    metadata: undefined,
  }
}

function statusNow(state: TaskState): TaskStatus {
  return { state, message: undefined, timestamp: new Date().toISOString() }
}

function statusUpdate(ids: TaskIds, state: TaskState) {
  return AgentEvent.statusUpdate({ ...ids, status: statusNow(state), metadata: undefined })
}

interface Chunk {
  readonly artifactId?: string
  readonly text: string
  readonly append?: boolean
  readonly isLast: boolean
}

function chunk(ids: TaskIds, { artifactId = randomUUID(), text, append = false, isLast }: Chunk) {
  const content = { $case: 'text' as const, value: text }
  const part = { content, metadata: undefined, filename: '', mediaType: '' }
  const artifact = { artifactId, name: '', description: '', parts: [part], metadata: undefined, extensions: [] }
  return AgentEvent.artifactUpdate({ ...ids, artifact, append, lastChunk: isLast, metadata: undefined })
}
