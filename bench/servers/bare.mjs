// The floor: `node:http` and JSON, nothing else. It parses the request, builds the task and every
// event as objects, stringifies them and writes them; it validates, stores and recovers nothing.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { complete, eventsFor, newTask, statusNow, statusUpdate } from './bare-messages.mjs'
import { readScript } from './script.mjs'

const sseHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }

/** Running tasks only: a finished one is forgotten, which no real server may do. */
const runningTasks = new Map()

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error)
    response.destroy()
  })
})

async function handle(request, response) {
  const call = JSON.parse(await readBody(request))
  if (call.method === 'SendMessage') return send(call, response)
  if (call.method === 'SendStreamingMessage') return stream(call, response)
  if (call.method === 'SubscribeToTask') return subscribe(call, response)
  throw new Error(`No method ${call.method}`)
}

async function readBody(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return chunks.length === 1 ? chunks[0].toString() : Buffer.concat(chunks).toString()
}

function send(call, response) {
  const task = newTask(call.params.message)
  const script = readScript(call.params.message.parts[0].text)
  if (script.kind === 'sleep') run(task, script.ms)
  else complete(task, script)
  const body = JSON.stringify({ jsonrpc: '2.0', id: call.id, result: { task } })
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

function run(task, ms) {
  task.status = statusNow('TASK_STATE_WORKING')
  runningTasks.set(task.id, { task, readers: new Set() })
  setTimeout(() => finish(task), ms)
}

function finish(task) {
  const { readers } = runningTasks.get(task.id)
  runningTasks.delete(task.id)
  const update = statusUpdate(task, 'TASK_STATE_COMPLETED')
  for (const { call, response } of readers) response.end(sseEvent(call.id, update))
}

async function stream(call, response) {
  response.writeHead(200, sseHeaders)
  for (const event of eventsFor(call.params.message)) {
    if (!response.write(sseEvent(call.id, event))) await once(response, 'drain')
  }
  response.end()
}

function subscribe(call, response) {
  const running = runningTasks.get(call.params.id)
  const reader = { call, response }
  running.readers.add(reader)
  response.on('close', () => running.readers.delete(reader))
  response.writeHead(200, sseHeaders)
  response.write(sseEvent(call.id, { task: running.task }))
}

function sseEvent(id, result) {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`
}

server.listen(0, '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})
