// The floor of gRPC: grpc-js and protobuf, nothing else. It reads the request, builds the task and
// every event as objects and writes them with the same generated code as Dragoman; it validates,
// stores and recovers nothing.
import { once } from 'node:events'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { services } from '../../dist/transports/grpc/messages.js'
import { complete, eventsFor, newTask } from './bare-messages.mjs'
import { readScript } from './script.mjs'

const service = 'lf.a2a.v1.A2AService'
const server = new Server({ 'grpc.enable_channelz': 0 })
register('SendMessage', send)
register('SendStreamingMessage', stream)

function register(name, handler) {
  const { request, response, isStreaming } = services.get(service).get(name)
  const kind = isStreaming ? 'serverStream' : 'unary'
  server.register(`/${service}/${name}`, handler, response.encode, request.decode, kind)
}

function send(call, callback) {
  const { message } = call.request
  const task = newTask(message)
  complete(task, readScript(message.parts[0].text))
  callback(null, { task })
}

async function stream(call) {
  for (const event of eventsFor(call.request.message)) {
    if (!call.write(event)) await once(call, 'drain')
  }
  call.end()
}

server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error
  console.log(`Listening on http://127.0.0.1:${port}`)
})
