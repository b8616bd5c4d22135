// One connection on which v1 is spoken over gRPC. Messages are read and written with Dragoman's
// generated code.
import { services } from '../../dist/transports/grpc/messages.js'
import { v1Message } from './dialects.mjs'
import { openGrpcConnection } from './grpc-connection.mjs'

const service = 'lf.a2a.v1.A2AService'
const sending = services.get(service).get('SendMessage')
const streaming = services.get(service).get('SendStreamingMessage')
const completed = 'TASK_STATE_COMPLETED'
/** The first byte of a stream's message that is an artifact chunk: field 4, of variable length. */
const chunkTag = (4 << 3) | 2
const nothing = Buffer.alloc(0)

/**
 * @param {string} origin
 * @returns {import('./speaker.mjs').Speaker}
 */
export function openGrpcSpeaker(origin) {
  const connection = openGrpcConnection(origin)
  // Both rpcs take the same request.
  const call = (rpc, text, onMessage) =>
    connection.call(`/${service}/${rpc}`, sending.request.encode({ message: v1Message(text) }), onMessage)
  return {
    isTaskFirst: true,
    async send(text) {
      let message = nothing
      await call('SendMessage', text, (bytes) => {
        message = bytes
      })
      const answer = sending.response.decode(message)
      const { task } = answer
      return { isCompleted: task?.status?.state === completed, text: textIn(task?.artifacts?.[0]), answer }
    },
    async readStream(text) {
      const messages = []
      await call('SendStreamingMessage', text, (bytes) => messages.push(bytes))
      return messages.map((bytes) => {
        const { task, statusUpdate, artifactUpdate } = streaming.response.decode(bytes)
        const state = (statusUpdate ?? task)?.status.state
        return { isTask: task !== undefined, isCompleted: state === completed, chunk: textIn(artifactUpdate?.artifact) }
      })
    },
    async countStream(text) {
      let chunks = 0
      let last = nothing
      await call('SendStreamingMessage', text, (bytes) => {
        if (bytes[0] === chunkTag) chunks += 1
        last = bytes
      })
      const { statusUpdate } = streaming.response.decode(last)
      return { chunks, isCompleted: statusUpdate?.status.state === completed }
    },
    close: connection.close,
  }
}

function textIn(artifact) {
  return artifact?.parts?.[0]?.text
}
