/** One connection for v1 over gRPC. It encodes and decodes messages with Dragoman's generated code. */
import { services } from '#grpc-messages'
import { type NamedEvent, v1Message } from './dialects.ts'
import type { Driver } from './driver.ts'
import { openGrpcConnection } from './grpc-connection.ts'

const service = 'lf.a2a.v1.A2AService'
const sending = rpcOf('SendMessage')
const streaming = rpcOf('SendStreamingMessage')
const completed = 'TASK_STATE_COMPLETED'
/** The first byte of a stream message that is an artifact chunk: field 4, length-delimited. */
const chunkTag = (4 << 3) | 2
const nothing = Buffer.alloc(0)

export function openGrpcDriver(origin: string): Driver {
  const connection = openGrpcConnection(origin)
  // Both RPCs take the same request.
  const call = (rpc: string, text: string, onMessage: (message: Buffer) => void) =>
    connection.call(`/${service}/${rpc}`, sending.request.encode({ message: v1Message(text) }), onMessage)
  return {
    isTaskFirst: true,
    async send(text) {
      let message: Buffer = nothing
      await call('SendMessage', text, (bytes) => {
        message = bytes
      })
      const answer: NamedEvent = sending.response.decode(message)
      const { task } = answer
      return { isCompleted: task?.status?.state === completed, text: task?.artifacts?.[0]?.parts?.[0]?.text, answer }
    },
    async readStream(text) {
      const messages: Buffer[] = []
      await call('SendStreamingMessage', text, (bytes) => messages.push(bytes))
      return messages.map((bytes) => {
        const { task, statusUpdate, artifactUpdate }: NamedEvent = streaming.response.decode(bytes)
        const state = (statusUpdate ?? task)?.status?.state
        const chunk = artifactUpdate?.artifact?.parts?.[0]?.text
        return { isTask: task !== undefined, isCompleted: state === completed, chunk }
      })
    },
    async countStream(text) {
      let chunks = 0
      let last: Buffer = nothing
      await call('SendStreamingMessage', text, (bytes) => {
        if (bytes[0] === chunkTag) chunks += 1
        last = bytes
      })
      const { statusUpdate }: NamedEvent = streaming.response.decode(last)
      return { chunks, isCompleted: statusUpdate?.status?.state === completed }
    },
    close: connection.close,
  }
}

function rpcOf(name: string) {
  const rpc = services.get(service)?.get(name)
  if (!rpc) throw new Error(`RPC not found: ${service}/${name}`)
  return rpc
}
