/** Calls through a client library: the measured process is this one. */
import type { Message as SdkMessage, SendMessageRequest } from 'a2a-sdk-v1'
import type { SendMessageRequest as DragomanRequest } from 'dragoman/client'
import { type NamedEvent, type RpcAnswer, type V1Message, v1Message } from './dialects.ts'
import { lineBatches } from './lines.ts'
import { assertEchoed, nextGreeting } from './messages.ts'
import { after, startTimer, type Timing } from './workers.ts'

interface MeasuredClient {
  /** Returns the task in the form of v1 JSON. */
  send(message: V1Message): Promise<NamedEvent>
  /** Returns the number of chunks. */
  stream(message: V1Message): Promise<number>
}

export type ClientName = keyof typeof clients

const clients = {
  /** Only `fetch` and `JSON.parse`. */
  async bare(origin: string): Promise<MeasuredClient> {
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const post = (method: string, params: object) =>
      fetch(origin, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
    return {
      async send(message) {
        const answer: RpcAnswer = JSON.parse(await (await post('SendMessage', { message })).text())
        return answer.result ?? {}
      },
      async stream(message) {
        let chunks = 0
        for await (const lines of lineBatches(await post('SendStreamingMessage', { message }))) {
          for (const line of lines) {
            if (line.startsWith('data: ') && isChunk(JSON.parse(line.slice(6)))) chunks += 1
          }
        }
        return chunks
      },
    }
  },
  async dragoman(origin: string): Promise<MeasuredClient> {
    const { connect } = await import('dragoman/client')
    const agent = await connect(origin)
    return {
      send: async (message) => (await agent.sendMessage({ message } as DragomanRequest)) as NamedEvent,
      async stream(message) {
        let chunks = 0
        for await (const update of agent.stream(message)) if ('artifactUpdate' in update) chunks += 1
        return chunks
      },
    }
  },
  async sdk(origin: string): Promise<MeasuredClient> {
    const { Role } = await import('a2a-sdk-v1')
    const { ClientFactory } = await import('a2a-sdk-v1/client')
    const client = await new ClientFactory().createFromUrl(origin)
    const requestOf = (message: V1Message): SendMessageRequest => ({
      tenant: '',
      message: toSdkMessage(message, Role.ROLE_USER),
      configuration: undefined,
      metadata: undefined,
    })
    return {
      async send(message) {
        const task = await client.sendMessage(requestOf(message))
        if (!('artifacts' in task)) return {}
        // Converts the SDK's objects to v1 JSON, which the check reads.
        const state = task.status?.state === 3 ? 'TASK_STATE_COMPLETED' : String(task.status?.state)
        const artifacts = task.artifacts.map(({ parts }) => ({
          parts: parts.flatMap(({ content }) => (content?.$case === 'text' ? [{ text: content.value }] : [])),
        }))
        return { task: { status: { state }, artifacts } }
      },
      async stream(message) {
        let chunks = 0
        for await (const event of client.sendMessageStream(requestOf(message))) {
          if (event.payload?.$case === 'artifactUpdate') chunks += 1
        }
        return chunks
      },
    }
  },
}

function isChunk(event: RpcAnswer): boolean {
  return event.result?.artifactUpdate !== undefined
}

function toSdkMessage({ messageId, parts }: V1Message, role: SdkMessage['role']): SdkMessage {
  return {
    messageId,
    contextId: '',
    taskId: '',
    role,
    parts: parts.map(({ text }) => ({
      content: { $case: 'text', value: text },
      metadata: undefined,
      filename: '',
      mediaType: '',
    })),
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
}

interface ClientOptions {
  readonly origin: string
  readonly client: ClientName
  readonly warmUpMs: number
  readonly durationMs: number
}

export interface ClientSendOptions extends ClientOptions {
  readonly concurrency: number
}

export interface ClientStreamOptions extends ClientOptions {
  readonly chunks: number
}

/** Sends, `concurrency` at a time. */
export async function clientSends(options: ClientSendOptions): Promise<Timing & { calls: number }> {
  const { origin, client, concurrency, warmUpMs, durationMs } = options
  const { send } = await clients[client](origin)
  const sendOne = async () => {
    const text = nextGreeting()
    const { task } = await send(v1Message(text))
    const isCompleted = task?.status?.state === 'TASK_STATE_COMPLETED'
    assertEchoed({ isCompleted, text: task?.artifacts?.[0]?.parts?.[0]?.text, answer: task }, text)
  }
  await repeat(sendOne, concurrency, after(warmUpMs))
  return await timed(() => repeat(sendOne, concurrency, after(durationMs)))
}

/** Streams of `chunks`, one after the other. */
export async function clientStreams(options: ClientStreamOptions): Promise<Timing & { events: number }> {
  const { origin, client, chunks, warmUpMs, durationMs } = options
  const { stream } = await clients[client](origin)
  const streamOne = async (expected: number) => {
    const count = await stream(v1Message(`chunks ${expected}`))
    if (count !== expected) throw new Error(`Expected ${expected} chunks, got ${count}`)
  }
  await repeat(() => streamOne(500), 1, after(warmUpMs))
  const { calls, ...rest } = await timed(() => repeat(() => streamOne(chunks), 1, after(durationMs)))
  return { events: calls * chunks, ...rest }
}

/** Returns the number of calls. */
async function repeat(call: () => Promise<void>, concurrency: number, isOver: () => boolean): Promise<number> {
  let calls = 0
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (!isOver()) {
        await call()
        calls += 1
      }
    }),
  )
  return calls
}

async function timed(work: () => Promise<number>): Promise<Timing & { calls: number }> {
  const stop = startTimer()
  const calls = await work()
  return { calls, ...stop() }
}
