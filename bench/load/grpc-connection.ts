/**
 * One HTTP/2 connection that carries one gRPC call at a time, with its own framing. Clients of grpc-js and of
 * `node:http2` cost as much CPU as the fastest server; this one costs a third of that.
 *
 * It supports only what these calls need. Header compression keeps no state, so the trailers of a successful call are a
 * known byte sequence. The windows have the maximum size from the start, so flow control never holds data back.
 */
import { once } from 'node:events'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { connect } from 'node:net'

const frameTypes = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 }
const endStream = 0x1
const acknowledged = 0x1
const endHeaders = 0x4
const frameHeaderBytes = 9
/** The prefix of each message: a compression flag and the length. */
const prefixBytes = 5
const maxWindow = 2 ** 31 - 1
const nothing = Buffer.alloc(0)

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const connectionStart = Buffer.concat([
  preface,
  frame(frameTypes.settings, { payload: settings({ 1: 0, 2: 0, 4: maxWindow }) }),
  frame(frameTypes.windowUpdate, { payload: uint32(maxWindow - 65_535) }),
])
const requestHeaders = { 'content-type': 'application/grpc+proto', te: 'trailers', 'a2a-version': '1.0' }
/** `grpc-status: 0`, the name in Huffman code, as HTTP/2 servers send it. */
const statusOk = Buffer.from('889acac8b21234da8f0130', 'hex')

interface Frame {
  readonly type: number
  readonly flags: number
  readonly id: number
  readonly payload: Buffer
}

interface Call {
  resolve(): void
  reject(error: unknown): void
  explain(): Promise<Error>
  onData(piece: Buffer): void
}

export interface GrpcConnection {
  /** Passes each message of the answer to `onMessage`; rejects unless the call ends with the status OK. */
  call(path: string, message: Buffer, onMessage: (message: Buffer) => void): Promise<void>
  close(): unknown
}

export function openGrpcConnection(origin: string): GrpcConnection {
  const { hostname, port, host } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  socket.write(connectionStart)
  const headerBlocks = new Map<string, Buffer>()
  let streamId = -1
  /** The call in progress. */
  let current: Call | undefined
  /** The beginning of an incomplete frame. */
  let rest: Buffer = nothing

  function onFrame({ type, flags, id, payload }: Frame): void {
    const isAcknowledged = Boolean(flags & acknowledged)
    if (type === frameTypes.goAway) fail(new Error('The server accepts no more calls'))
    if (type === frameTypes.ping && !isAcknowledged) socket.write(frame(type, { flags: acknowledged, payload }))
    if (type === frameTypes.settings && !isAcknowledged) socket.write(frame(type, { flags: acknowledged }))
    // Frames of a call that has ended may still arrive.
    if (id !== streamId || !current) return
    if (type === frameTypes.reset) fail(new Error('The server reset the call'))
    if (type === frameTypes.data) current.onData(payload)
    if (type === frameTypes.headers && flags & endStream) end(current, payload)
    if (type === frameTypes.data && flags & endStream) fail(new Error('The call ended without a status'))
  }

  function end({ resolve, reject, explain }: Call, trailers: Buffer): void {
    current = undefined
    if (trailers.includes(statusOk)) resolve()
    else explain().then(reject, reject)
  }

  function fail(error: Error): void {
    current?.reject(error)
    current = undefined
  }

  socket.on('data', (piece) => {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    let position = 0
    while (bytes.length - position >= frameHeaderBytes) {
      const start = position + frameHeaderBytes
      const end = start + bytes.readUIntBE(position, 3)
      if (end > bytes.length) break
      onFrame({
        type: bytes.readUInt8(position + 3),
        flags: bytes.readUInt8(position + 4),
        id: bytes.readUInt32BE(position + 5),
        payload: bytes.subarray(start, end),
      })
      position = end
    }
    rest = bytes.subarray(position)
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('The server closed the connection')))

  return {
    call(path, message, onMessage) {
      const block = headerBlocks.get(path) ?? headerBlock(host, path)
      headerBlocks.set(path, block)
      return new Promise((resolve, reject) => {
        streamId += 2
        const explain = () => explainFailure(origin, { path, message })
        current = { resolve, reject, explain, onData: createMessageReader(onMessage) }
        const headers = { flags: endHeaders, streamId, payload: block }
        const data = { flags: endStream, streamId, payload: prefixed(message) }
        socket.write(Buffer.concat([frame(frameTypes.headers, headers), frame(frameTypes.data, data)]))
      })
    },
    close: () => socket.destroy(),
  }
}

interface FrameOptions {
  readonly flags?: number
  readonly streamId?: number
  readonly payload?: Buffer
}

function frame(type: number, { flags = 0, streamId = 0, payload = nothing }: FrameOptions): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeaderBytes + payload.length)
  bytes.writeUIntBE(payload.length, 0, 3)
  bytes[3] = type
  bytes[4] = flags
  bytes.writeUInt32BE(streamId, 5)
  payload.copy(bytes, frameHeaderBytes)
  return bytes
}

/** By number: 1 is the size of the compression table, 2 enables server push, 4 is the window of a stream. */
function settings(values: Readonly<Record<number, number>>): Buffer {
  const pairs = Object.entries(values).map(([id, value]) =>
    Buffer.concat([Buffer.from([0, Number(id)]), uint32(value)]),
  )
  return Buffer.concat(pairs)
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** The same for every call of an RPC: POST, http, and the other headers as literals. */
function headerBlock(authority: string, path: string): Buffer {
  const text = (value: string) => [value.length, ...Buffer.from(value)]
  const named = (name: string, value: string) => [0, ...text(name), ...text(value)]
  return Buffer.from([
    0x83,
    0x86,
    ...[0x04, ...text(path)],
    ...[0x01, ...text(authority)],
    ...Object.entries(requestHeaders).flatMap(([name, value]) => named(name, value)),
  ])
}

function prefixed(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(prefixBytes + message.length)
  bytes[0] = 0
  bytes.writeUInt32BE(message.length, 1)
  message.copy(bytes, prefixBytes)
  return bytes
}

/** Splits the received bytes into messages. */
function createMessageReader(onMessage: (message: Buffer) => void): (piece: Buffer) => void {
  let rest: Buffer = nothing
  return (piece) => {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    let position = 0
    while (bytes.length - position >= prefixBytes) {
      const end = position + prefixBytes + bytes.readUInt32BE(position + 1)
      if (end > bytes.length) break
      onMessage(bytes.subarray(position + prefixBytes, end))
      position = end
    }
    rest = bytes.subarray(position)
  }
}

interface FailedCall {
  readonly path: string
  readonly message: Buffer
}

/** Repeats the call with a client that can decode the status and its message. */
async function explainFailure(origin: string, { path, message }: FailedCall): Promise<Error> {
  const session = connectHttp2(origin)
  try {
    const stream = session.request({ ':method': 'POST', ':path': path, ...requestHeaders })
    let received: IncomingHttpHeaders = {}
    for (const event of ['response', 'trailers']) {
      stream.on(event, (headers: IncomingHttpHeaders) => {
        received = headers
      })
    }
    stream.resume().end(prefixed(message))
    await once(stream, 'close')
    return new Error(`The server answered with gRPC status ${received['grpc-status']}: ${received['grpc-message']}`)
  } finally {
    session.destroy()
  }
}
