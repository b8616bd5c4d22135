/**
 * The lower bound of the cost of gRPC: only grpc-js and protobuf. It decodes the request, builds the task and every
 * event as objects, and encodes them with the generated code of Dragoman. It validates, stores and recovers nothing.
 *
 * Usage: bare-grpc [empty]. With `empty` it answers every unary send with the same encoded task and decodes nothing, to
 * measure grpc-js alone.
 */
import { once } from 'node:events'
import { type handleServerStreamingCall, type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js'
import { services } from '#grpc-messages'
import { type BareMessage, complete, eventsFor, newTask, scriptOf } from './bare-messages.ts'

type Request = { readonly message?: BareMessage }

const service = 'lf.a2a.v1.A2AService'
const server = new Server({ 'grpc.enable_channelz': 0 })

const send: handleUnaryCall<Request, object> = ({ request: { message = {} } }, callback) => {
  const task = newTask(message)
  complete(task, scriptOf(message))
  callback(null, { task })
}

const stream: handleServerStreamingCall<Request, object> = async (call) => {
  for (const event of eventsFor(call.request.message ?? {})) {
    if (!call.write(event)) await once(call, 'drain')
  }
  call.end()
}

const sendRpc = rpcOf('SendMessage')
if (process.argv[2] === 'empty') registerEmpty()
else register('SendMessage', send)
register('SendStreamingMessage', stream)

function register(
  name: string,
  handler: handleUnaryCall<Request, object> | handleServerStreamingCall<Request, object>,
): void {
  const rpc = rpcOf(name)
  const kind = rpc.isStreaming ? 'serverStream' : 'unary'
  server.register<Request, object>(`/${service}/${name}`, handler, rpc.response.encode, rpc.request.decode, kind)
}

function registerEmpty(): void {
  const task = newTask({ parts: [{ text: 'hello' }] })
  complete(task, { kind: 'echo', text: 'hello' })
  const encoded = Buffer.from(sendRpc.response.encode({ task }))
  const same = (bytes: Buffer) => bytes
  const answer: handleUnaryCall<Buffer, Buffer> = (_call, callback) => callback(null, encoded)
  server.register<Buffer, Buffer>(`/${service}/SendMessage`, answer, same, same, 'unary')
}

function rpcOf(name: string) {
  const rpc = services.get(service)?.get(name)
  if (!rpc) throw new Error(`RPC not found: ${service}/${name}`)
  return rpc
}

server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error
  console.log(`Listening on http://127.0.0.1:${port}`)
})
