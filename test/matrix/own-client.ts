/** Our own client as a wireClient: the same scenarios, in every dialect, over every binding. */
import {
  A2AError,
  type AgentClient,
  type Message,
  type Part,
  type Task,
  TransportError,
  type Update,
} from 'dragoman/client'
import { stateOf } from './v1-client.js'
import {
  type CallResult,
  type Piece,
  piecesOf,
  type TaskSummary,
  type TaskTarget,
  type WireClient,
} from './wire-client.js'

export function ownClient(agent: AgentClient): WireClient {
  const { dialect, binding } = agent.choice
  const has = new Set<'get' | 'cancel' | 'subscribe' | 'push'>()
  if (dialect !== 'invoke') has.add('get').add('cancel')
  if (dialect !== 'invoke' && dialect !== 'chat-rpc') has.add('subscribe').add('push')
  return {
    name: `our client, ${dialect} over ${binding}`,
    // The client converts every dialect to v1.0; content that a dialect cannot carry is lost.
    dialect: dialect === 'invoke' ? 'own-invoke' : 'v1',
    has,
    send: (content, where) =>
      attempt(async () => {
        const { task, message } = await agent.ask(partsOf(content), placeOf(where))
        return task ? readTask(task) : readMessage(message as Message)
      }),
    async *stream(content, where) {
      for await (const update of agent.stream(partsOf(content), placeOf(where))) yield readUpdate(update)
    },
    get: (id) => attempt(async () => readTask(await agent.task(id).get())),
    cancel: (id) => attempt(async () => readTask(await agent.task(id).cancel())),
    async *subscribe(id) {
      for await (const update of agent.task(id).watch()) yield readUpdate(update)
    },
    async push(taskId, url) {
      const { id = taskId } = await agent.createTaskPushNotificationConfig({ taskId, url })
      return (await agent.getTaskPushNotificationConfig({ taskId, id })).url
    },
  }
}

function placeOf({ taskId, contextId }: TaskTarget = {}): { taskId?: string; contextId?: string } {
  return { ...(taskId && { taskId }), ...(contextId && { contextId }) }
}

function partsOf(content: string | readonly Piece[]): Part[] {
  return piecesOf(content).map((piece) => {
    if ('text' in piece) return { text: piece.text }
    if ('data' in piece) return { data: piece.data as never }
    return { raw: piece.bytes, mediaType: piece.mediaType, filename: piece.name }
  })
}

function pieceOf(part: Part): Piece {
  if ('text' in part) return { text: part.text }
  if ('data' in part) return { data: part.data }
  return { bytes: 'raw' in part ? part.raw : '', mediaType: part.mediaType ?? '', name: part.filename ?? '' }
}

function textIn(parts: readonly Part[]): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

function readTask({ id, contextId, status, artifacts = [] }: Task): TaskSummary {
  const parts = artifacts.flatMap((artifact) => artifact.parts)
  return {
    id,
    contextId,
    state: stateOf(status.state),
    text: textIn(parts),
    pieces: parts.map(pieceOf),
    note: status.message && textIn(status.message.parts),
  }
}

function readMessage({ parts, contextId, taskId }: Message): TaskSummary {
  return { id: taskId, contextId, state: 'completed', text: textIn(parts), pieces: parts.map(pieceOf) }
}

function readUpdate(update: Update): TaskSummary {
  if ('reset' in update) throw new Error('A stream that never broke was reset')
  if ('task' in update) return readTask(update.task)
  if ('message' in update) return readMessage(update.message)
  if ('statusUpdate' in update) {
    const { taskId, contextId, status } = update.statusUpdate
    return { id: taskId, contextId, state: stateOf(status.state), note: status.message && textIn(status.message.parts) }
  }
  const { taskId, contextId, artifact } = update.artifactUpdate
  return { id: taskId, contextId, text: textIn(artifact.parts), pieces: artifact.parts.map(pieceOf) }
}

const codes: Readonly<Record<string, number>> = {
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  UNSUPPORTED_OPERATION: -32004,
  INVALID_AGENT_RESPONSE: -32603,
}

async function attempt(call: () => Promise<TaskSummary>): Promise<CallResult> {
  try {
    return { result: await call() }
  } catch (error) {
    if (error instanceof A2AError) return { refused: { code: codes[error.code] ?? error.code, message: error.message } }
    if (error instanceof TransportError) return { refused: { code: error.failure, message: error.message } }
    throw error
  }
}
