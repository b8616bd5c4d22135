/**
 * The lower bound of the cost: only `node:http` and JSON. It parses the request, builds the task and every event as
 * objects, serialises and writes them. It validates, stores and recovers nothing.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type BareMessage,
  type BareTask,
  complete,
  eventsFor,
  newTask,
  scriptOf,
  statusNow,
  statusUpdate,
} from './bare-messages.ts'

interface RpcCall {
  readonly id: number
  readonly method: string
  readonly params: { readonly id: string; readonly message: BareMessage }
}

interface Subscriber {
  readonly call: RpcCall
  readonly response: ServerResponse
}

interface RunningTask {
  readonly task: BareTask
  readonly subscribers: Set<Subscriber>
}

const sseHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }

/** Running tasks only. It forgets finished tasks, which a real server must not do. */
const runningTasks = new Map<string, RunningTask>()

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error)
    response.destroy()
  })
})

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const call: RpcCall = JSON.parse(await readBody(request))
  if (call.method === 'SendMessage') return send(call, response)
  if (call.method === 'SendStreamingMessage') return stream(call, response)
  if (call.method === 'SubscribeToTask') return subscribe(call, response)
  throw new Error(`Method not found: ${call.method}`)
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const [first] = chunks
  return first && chunks.length === 1 ? first.toString() : Buffer.concat(chunks).toString()
}

function send(call: RpcCall, response: ServerResponse): void {
  const task = newTask(call.params.message)
  const script = scriptOf(call.params.message)
  if (script.kind === 'sleep') run(task, script.ms)
  else complete(task, script)
  const body = JSON.stringify({ jsonrpc: '2.0', id: call.id, result: { task } })
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

function run(task: BareTask, ms: number): void {
  task.status = statusNow('TASK_STATE_WORKING')
  const running = { task, subscribers: new Set<Subscriber>() }
  runningTasks.set(task.id, running)
  setTimeout(() => finish(running), ms)
}

function finish({ task, subscribers }: RunningTask): void {
  runningTasks.delete(task.id)
  const update = statusUpdate(task, 'TASK_STATE_COMPLETED')
  for (const { call, response } of subscribers) response.end(sseEvent(call.id, update))
}

async function stream(call: RpcCall, response: ServerResponse): Promise<void> {
  response.writeHead(200, sseHeaders)
  for (const event of eventsFor(call.params.message)) {
    if (!response.write(sseEvent(call.id, event))) await once(response, 'drain')
  }
  response.end()
}

function subscribe(call: RpcCall, response: ServerResponse): void {
  const running = runningTasks.get(call.params.id)
  if (!running) throw new Error(`Task not found: ${call.params.id}`)
  const subscriber = { call, response }
  running.subscribers.add(subscriber)
  response.on('close', () => running.subscribers.delete(subscriber))
  response.writeHead(200, sseHeaders)
  response.write(sseEvent(call.id, { task: running.task }))
}

function sseEvent(id: number, result: object): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo // it listens on TCP
  console.log(`Listening on http://127.0.0.1:${port}`)
})
