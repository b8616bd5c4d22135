// The echo agent of the servers made with @a2a-js/sdk: it publishes the events that Dragoman's echo
// agent streams for the same text.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { TaskState } from '@a2a-js/sdk'
import { AgentEvent } from '@a2a-js/sdk/server'
import { readScript } from './script.mjs'

export const card = {
  name: 'Echo',
  description: 'Repeats what it is told',
  version: '1.0.0',
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

export const echoAgent = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const script = readScript(userMessage.parts[0].content.value)
    const task = { taskId, contextId }
    bus.publish(AgentEvent.task(newTask(task, userMessage)))
    if (script.kind !== 'echo') bus.publish(statusUpdate(task, TaskState.TASK_STATE_WORKING))
    if (script.kind === 'sleep') await sleep(script.ms)
    if (script.kind === 'chunks') publishChunks(bus, { task, count: script.count })
    if (script.kind === 'echo') bus.publish(chunk(task, { text: script.text, isLast: true }))
    bus.publish(statusUpdate(task, TaskState.TASK_STATE_COMPLETED))
  },
  async cancelTask() {},
}

function publishChunks(bus, { task, count }) {
  const artifactId = randomUUID()
  for (let index = 0; index < count; index++) {
    const text = `chunk ${index + 1} `
    bus.publish(chunk(task, { artifactId, text, append: index > 0, isLast: index === count - 1 }))
  }
}

function newTask({ taskId, contextId }, userMessage) {
  return {
    id: taskId,
    contextId,
    status: statusNow(TaskState.TASK_STATE_SUBMITTED),
    artifacts: [],
    history: [userMessage],
    metadata: undefined,
  }
}

function statusNow(state) {
  return { state, message: undefined, timestamp: new Date().toISOString() }
}

function statusUpdate(task, state) {
  return AgentEvent.statusUpdate({ ...task, status: statusNow(state), metadata: undefined })
}

function chunk(task, { artifactId = randomUUID(), text, append = false, isLast }) {
  const part = { content: { $case: 'text', value: text }, filename: '', mediaType: '' }
  const artifact = { artifactId, name: '', description: '', parts: [part], extensions: [] }
  return AgentEvent.artifactUpdate({
    ...task,
    artifact,
    append,
    lastChunk: isLast,
    metadata: undefined,
  })
}
