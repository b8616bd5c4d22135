// The calls of a client library instead of a connection of ours: what is measured is this process.
import { v1Message } from './dialects.mjs'
import { assertEchoed, nextGreeting } from './messages.mjs'
import { after } from './workers.mjs'

/** Each client: a send that answers with the task, a stream that counts its chunks. */
const clients = {
  /** `fetch` and `JSON.parse`, nothing else. */
  async bare(origin) {
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const post = (method, params) =>
      fetch(origin, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
    return {
      send: async (message) => JSON.parse(await (await post('SendMessage', { message })).text()).result,
      async stream(message) {
        const response = await post('SendStreamingMessage', { message })
        let rest = ''
        let chunks = 0
        for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
          const lines = (rest + piece).split('\n')
          rest = lines.pop()
          for (const line of lines) {
            if (line.startsWith('data: ') && JSON.parse(line.slice(6)).result.artifactUpdate) chunks += 1
          }
        }
        return chunks
      },
    }
  },
  async dragoman(origin) {
    const { connect } = await import('../../dist/client/index.js')
    const agent = await connect(origin)
    return {
      send: (message) => agent.sendMessage({ message }),
      async stream(message) {
        let chunks = 0
        for await (const update of agent.stream(message)) if ('artifactUpdate' in update) chunks += 1
        return chunks
      },
    }
  },
  async sdk(origin) {
    const { Role } = await import('@a2a-js/sdk')
    const { ClientFactory } = await import('@a2a-js/sdk/client')
    const client = await new ClientFactory().createFromUrl(origin)
    const request = ({ messageId, parts }) => ({
      tenant: '',
      message: {
        messageId,
        contextId: '',
        taskId: '',
        role: Role.ROLE_USER,
        parts: parts.map(({ text }) => ({
          content: { $case: 'text', value: text },
          metadata: undefined,
          filename: '',
          mediaType: '',
        })),
        metadata: undefined,
        extensions: [],
        referenceTaskIds: [],
      },
      configuration: undefined,
      metadata: undefined,
    })
    return {
      async send(message) {
        const task = await client.sendMessage(request(message))
        // Its objects are not the wire's; put back what the check looks at.
        const state = task.status.state === 3 ? 'TASK_STATE_COMPLETED' : String(task.status.state)
        const artifacts = task.artifacts.map(({ parts }) => ({
          parts: parts.map(({ content }) => ({ text: content.value })),
        }))
        return { task: { status: { state }, artifacts } }
      },
      async stream(message) {
        let chunks = 0
        for await (const event of client.sendMessageStream(request(message)))
          if (event.payload?.$case === 'artifactUpdate') chunks += 1
        return chunks
      },
    }
  },
}

/**
 * Sends, `atOnce` at a time, for a while; the time this process spends on one is the figure.
 *
 * @param {{ origin: string, client: keyof typeof clients, atOnce: number, warmUpMs: number, durationMs: number }} options
 */
export async function clientSends({ origin, client, atOnce, warmUpMs, durationMs }) {
  const { send } = await clients[client](origin)
  const one = async () => {
    const text = nextGreeting()
    const { task } = await send(v1Message(text))
    const isCompleted = task?.status?.state === 'TASK_STATE_COMPLETED'
    assertEchoed({ isCompleted, text: task?.artifacts?.[0]?.parts?.[0]?.text, answer: task }, text)
  }
  await repeat(one, atOnce, after(warmUpMs))
  return await timed(() => repeat(one, atOnce, after(durationMs)))
}

/** Streams of `chunks`, one after the other. */
export async function clientStreams({ origin, client, chunks, warmUpMs, durationMs }) {
  const { stream } = await clients[client](origin)
  const one = async (wanted) => {
    const seen = await stream(v1Message(`chunks ${wanted}`))
    if (seen !== wanted) throw new Error(`Wanted ${wanted} chunks, got ${seen}`)
  }
  await repeat(() => one(500), 1, after(warmUpMs))
  const { calls, ...rest } = await timed(() => repeat(() => one(chunks), 1, after(durationMs)))
  return { events: calls * chunks, ...rest }
}

async function repeat(one, atOnce, isOver) {
  let calls = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (!isOver()) {
        await one()
        calls += 1
      }
    }),
  )
  return calls
}

async function timed(work) {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  const calls = await work()
  const { user, system } = process.cpuUsage(before)
  return { calls, seconds: (performance.now() - startedAt) / 1000, cpuMicros: user + system }
}
