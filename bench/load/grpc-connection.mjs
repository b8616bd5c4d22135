// One HTTP/2 connection that carries one gRPC call at a time, framed by hand: clients of grpc-js and of
// `node:http2` cost as much as the fastest server they would measure, this one a third of that.
//
// It knows just what these calls need. Header compression is asked to keep no state, so that a right
// ending is a known row of bytes; windows are opened wide once, so that nothing is ever held back.
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'

const frameTypes = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 }
const endStream = 0x1
const acknowledged = 0x1
const endHeaders = 0x4
const frameHeaderBytes = 9
/** Before every message: whether it is compressed, and its length. */
const prefixBytes = 5
const widestWindow = 2 ** 31 - 1
const nothing = Buffer.alloc(0)

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const greeting = Buffer.concat([
  preface,
  frame(frameTypes.settings, { payload: settings({ 1: 0, 2: 0, 4: widestWindow }) }),
  frame(frameTypes.windowUpdate, { payload: uint32(widestWindow - 65_535) }),
])
const ownHeaders = { 'content-type': 'application/grpc+proto', te: 'trailers', 'a2a-version': '1.0' }
/** `grpc-status: 0`, its name in Huffman code as every HTTP/2 server sends it. */
const statusOk = Buffer.from('889acac8b21234da8f0130', 'hex')

/** @param {string} origin */
export function openGrpcConnection(origin) {
  const { hostname, port, host } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  socket.write(greeting)
  const headerBlocks = new Map()
  let streamId = -1
  /** The call under way. */
  let current
  /** What has come of a frame that is not whole yet. */
  let open = nothing

  function onFrame({ type, flags, id, payload }) {
    const isAcknowledged = Boolean(flags & acknowledged)
    if (type === frameTypes.goAway) fail(new Error('The server wants no more calls'))
    if (type === frameTypes.ping && !isAcknowledged) socket.write(frame(type, { flags: acknowledged, payload }))
    if (type === frameTypes.settings && !isAcknowledged) socket.write(frame(type, { flags: acknowledged }))
    // A server may have something to say about a call that has ended.
    if (id !== streamId || !current) return
    if (type === frameTypes.reset) fail(new Error('The server broke the call off'))
    if (type === frameTypes.data) current.onData(payload)
    if (type === frameTypes.headers && flags & endStream) end(payload)
    if (type === frameTypes.data && flags & endStream) fail(new Error('The call ended without a status'))
  }

  function end(trailers) {
    const { resolve, reject, explain } = current
    current = undefined
    if (trailers.includes(statusOk)) resolve()
    else explain().then(reject, reject)
  }

  function fail(error) {
    current?.reject(error)
    current = undefined
  }

  socket.on('data', (piece) => {
    const bytes = open.length === 0 ? piece : Buffer.concat([open, piece])
    let at = 0
    while (bytes.length - at >= frameHeaderBytes) {
      const start = at + frameHeaderBytes
      const end = start + bytes.readUIntBE(at, 3)
      if (end > bytes.length) break
      const payload = bytes.subarray(start, end)
      onFrame({ type: bytes[at + 3], flags: bytes[at + 4], id: bytes.readUInt32BE(at + 5), payload })
      at = end
    }
    open = bytes.subarray(at)
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('The server closed the connection')))

  return {
    /** Hands every message of the answer over; rejects unless the call ends with the status OK. */
    call(path, message, onMessage) {
      if (!headerBlocks.has(path)) headerBlocks.set(path, headerBlock(host, path))
      return new Promise((resolve, reject) => {
        streamId += 2
        const explain = () => explainFailure(origin, { path, message })
        current = { resolve, reject, explain, onData: createMessageReader(onMessage) }
        const headers = { flags: endHeaders, streamId, payload: headerBlocks.get(path) }
        const data = { flags: endStream, streamId, payload: prefixed(message) }
        socket.write(Buffer.concat([frame(frameTypes.headers, headers), frame(frameTypes.data, data)]))
      })
    },
    close: () => socket.destroy(),
  }
}

function frame(type, { flags = 0, streamId = 0, payload = nothing }) {
  const bytes = Buffer.allocUnsafe(frameHeaderBytes + payload.length)
  bytes.writeUIntBE(payload.length, 0, 3)
  bytes[3] = type
  bytes[4] = flags
  bytes.writeUInt32BE(streamId, 5)
  payload.copy(bytes, frameHeaderBytes)
  return bytes
}

/** By number: 1 is the size of the compression table, 2 server push, 4 the window of a stream. */
function settings(values) {
  const pairs = Object.entries(values).map(([id, value]) =>
    Buffer.concat([Buffer.from([0, Number(id)]), uint32(value)]),
  )
  return Buffer.concat(pairs)
}

function uint32(value) {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** The same for every call of an rpc: POST, http, and the rest spelled out. */
function headerBlock(authority, path) {
  const text = (value) => [value.length, ...Buffer.from(value)]
  const named = (name, value) => [0, ...text(name), ...text(value)]
  return Buffer.from([
    0x83,
    0x86,
    ...[0x04, ...text(path)],
    ...[0x01, ...text(authority)],
    ...Object.entries(ownHeaders).flatMap(([name, value]) => named(name, value)),
  ])
}

function prefixed(message) {
  const bytes = Buffer.allocUnsafe(prefixBytes + message.length)
  bytes[0] = 0
  bytes.writeUInt32BE(message.length, 1)
  message.copy(bytes, prefixBytes)
  return bytes
}

/** Cuts what arrives into messages. */
function createMessageReader(onMessage) {
  let open = nothing
  return (piece) => {
    const bytes = open.length === 0 ? piece : Buffer.concat([open, piece])
    let at = 0
    while (bytes.length - at >= prefixBytes) {
      const end = at + prefixBytes + bytes.readUInt32BE(at + 1)
      if (end > bytes.length) break
      onMessage(bytes.subarray(at + prefixBytes, end))
      at = end
    }
    open = bytes.subarray(at)
  }
}

/** Asks again with a client that can read the reason. */
async function explainFailure(origin, { path, message }) {
  const session = connectHttp2(origin)
  try {
    const stream = session.request({ ':method': 'POST', ':path': path, ...ownHeaders })
    let told = {}
    for (const event of ['response', 'trailers']) {
      stream.on(event, (received) => {
        told = received
      })
    }
    stream.resume().end(prefixed(message))
    await once(stream, 'close')
    return new Error(`The server answered with gRPC status ${told['grpc-status']}: ${told['grpc-message']}`)
  } finally {
    session.destroy()
  }
}
