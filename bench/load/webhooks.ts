/** Tasks with webhooks. This process also receives the deliveries. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Connection, openConnection } from './connection.ts'
import { type NamedEvent, resultOf, v1Call, v1Message } from './dialects.ts'
import { startTimer, type Timing, withMany } from './workers.ts'

export interface DeliveryOptions {
  readonly origin: string
  readonly connections: number
  readonly tasks: number
  readonly chunks: number
  readonly timeoutMs: number
}

/** Starts `tasks` tasks of `chunks` chunks with a webhook here, and waits for all events of each task, in order. */
export async function receiveDeliveries(options: DeliveryOptions): Promise<Timing & { deliveries: number }> {
  const { origin, connections, tasks, chunks, timeoutMs } = options
  const lastChunks = new Map<string, number>()
  const expected = tasks * (chunks + 3)
  let deliveries = 0
  let settle: (error?: Error) => void = () => {}
  const allDelivered = new Promise<void>((resolve, reject) => {
    settle = (error) => (error ? reject(error) : resolve())
  })
  const receiver = createServer(async (request, response) => {
    const event: NamedEvent = JSON.parse(await textOf(request))
    response.end()
    const problem = checkOrder(lastChunks, event)
    if (problem) settle(new Error(problem))
    deliveries += 1
    if (deliveries === expected) settle()
  })
  const url = await listen(receiver)
  const stopTimer = startTimer()
  try {
    await withMany(connections, { open: () => openConnection(origin), timeoutMs }, async (opened) => {
      await startAll(opened, { tasks, text: `chunks ${chunks}`, url })
      await allDelivered
    })
  } finally {
    receiver.close()
    receiver.closeAllConnections()
  }
  return { deliveries, ...stopTimer() }
}

/** Creates `tasks` finished tasks with a webhook that accepts calls and never answers, until this process ends. */
export async function registerDeadWebhooks(
  options: Pick<DeliveryOptions, 'origin' | 'connections' | 'tasks'>,
): Promise<{ url: string }> {
  const { origin, connections, tasks } = options
  const url = await listen(createServer(() => undefined))
  return withMany(connections, { open: () => openConnection(origin) }, async (opened) => {
    await startAll(opened, { tasks, text: 'hello', url })
    return { url }
  })
}

interface StartOptions {
  readonly tasks: number
  readonly text: string
  readonly url: string
}

async function startAll(connections: readonly Connection[], { tasks, text, url }: StartOptions): Promise<void> {
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { url } }
  let started = 0
  await Promise.all(
    connections.map(async (connection) => {
      while (started++ < tasks) {
        const answer = await connection.call(v1Call('SendMessage', { message: v1Message(text), configuration }))
        resultOf(answer)
      }
    }),
  )
}

/** Each task delivers its chunks in order, each one once. Returns the problem, if there is one. */
function checkOrder(lastChunks: Map<string, number>, { artifactUpdate }: NamedEvent): string | undefined {
  if (!artifactUpdate) return undefined
  const { taskId = '', artifact } = artifactUpdate
  const [, number] = /^chunk (\d+) $/.exec(artifact?.parts?.[0]?.text ?? '') ?? []
  const last = lastChunks.get(taskId) ?? 0
  if (Number(number) !== last + 1) return `Expected chunk ${last + 1} of task ${taskId}, got chunk ${number}`
  lastChunks.set(taskId, last + 1)
  return undefined
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  return `http://127.0.0.1:${port}/`
}

function textOf(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => resolve(text))
    request.on('error', reject)
  })
}
