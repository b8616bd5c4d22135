/** One stream of the server. A slow reader pauses the reading of its log and nothing else (E-5). */
import type { Metadata, ServerWritableStream } from '@grpc/grpc-js'
import { callStreaming } from '../../model/generic-service.js'
import type { Operation } from '../../model/operations.js'
import type { AgentService, ReadAhead, StreamItem } from '../../model/service.js'
import type { CallTracker } from '../call-record.js'
import { type PreparedCall, positionExtension } from '../transport.js'

/** Bytes buffered for the reader before reading of the log pauses. */
const highWaterMark = 64 * 1024

interface OutgoingStream {
  readonly operation: Operation
  readonly prepared: PreparedCall
  readonly encodeItem: (item: StreamItem) => object
  readonly encodeBytes: (message: object) => Buffer
  readonly headers: Metadata
  readonly isPositioned: boolean
  readonly watch: CallTracker | undefined
  readonly sessions: Sessions
}

/** Sends the events and ends the call. Errors that it throws become the status of the call. */
export async function sendStream(
  call: ServerWritableStream<Buffer, Buffer>,
  service: AgentService,
  { operation, prepared, encodeItem, encodeBytes, headers, isPositioned, watch, sessions }: OutgoingStream,
): Promise<void> {
  // A cancelled call and one past its deadline end the stream, not the task (R-GRPC-3).
  const gone = new AbortController()
  let wake: () => void = () => undefined
  let isDone = false
  /** Bytes written since the call's buffer was last empty, or more. */
  let pending = 0
  call.on('cancelled', () => {
    // Also emitted at the end of a call, when an abort is a waste.
    if (!isDone) gone.abort()
    wake()
  })
  call.on('drain', () => wake())
  if (call.cancelled) return
  let isOpen = false
  const open = () => {
    if (!isOpen) call.sendMetadata(headers)
    isOpen = true
  }
  const context = { ...prepared.context, signal: gone.signal, onOpen: open }
  const items: ReadAhead = callStreaming(service, operation, prepared.request, context)[Symbol.asyncIterator]()
  const peer = call.getPeer()
  const session = sessions.enter(peer)
  /** Waits until the streams of this connection are below their common limit. */
  const room = async () => {
    while (session.isFull && !call.cancelled) {
      items.release?.(0)
      await new Promise<void>((resolve) => {
        wake = resolve
        session.onRoom(resolve)
      })
    }
  }
  try {
    if (session.isFull) await room()
    for (let next = await items.next(); !next.done && !call.cancelled; next = await items.next()) {
      for (let item: StreamItem | undefined = next.value; item && !call.cancelled; item = items.takeReady?.()) {
        if (session.isFull) await room()
        watch?.event(item)
        const encoded = encodeItem(item)
        const message = encodeBytes(isPositioned ? positioned(encoded, item.seq) : encoded)
        open()
        // grpc-js counts messages, not bytes.
        if (call.writableLength === 0) pending = 0
        pending += message.length
        // Messages leave in order.
        if (pending >= highWaterMark) call.write(message, () => wake())
        else if (call.write(message)) continue
        items.release?.()
        session.add(pending)
        await new Promise<void>((resolve) => {
          wake = resolve
          if (call.cancelled || call.writableLength === 0) resolve()
        })
        session.remove(pending)
      }
    }
  } finally {
    sessions.leave(peer)
    await items.return?.()
  }
  isDone = true
  if (call.cancelled) return
  open()
  call.end()
}

interface Bearer {
  readonly metadata?: object
}

/** Adds the sequence number to an event. Messages have none: they end their stream. */
function positioned(message: object, seq: number | undefined): object {
  if (seq === undefined) return message
  for (const kind of ['task', 'statusUpdate', 'artifactUpdate']) {
    const bearer = (message as Readonly<Record<string, Bearer | undefined>>)[kind]
    if (bearer) return { [kind]: { ...bearer, metadata: { ...bearer.metadata, [positionExtension]: seq } } }
  }
  return message
}

/** Limit of the unread stream messages of one connection, in bytes. */
const maxBytes = 4 * 1024 * 1024

/** Counts the unread bytes of all streams of one HTTP/2 connection. At the limit, they stop reading their logs (E-5). */
class SessionBytes {
  #bytes = 0
  #waiting = new Set<() => void>()

  get isFull(): boolean {
    return this.#bytes >= maxBytes
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  remove(bytes: number): void {
    this.#bytes -= bytes
    if (this.isFull || this.#waiting.size === 0) return
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const wake of waiting) wake()
  }

  /** Calls `wake` once when there is room. */
  onRoom(wake: () => void): void {
    this.#waiting.add(wake)
  }
}

/** The counts of all connections that have streams. */
export class Sessions {
  readonly #sessions = new Map<string, { readonly bytes: SessionBytes; streams: number }>()

  /** The count of a connection, by the peer's address and port. Call `leave` afterwards. */
  enter(peer: string): SessionBytes {
    const session = this.#sessions.get(peer) ?? { bytes: new SessionBytes(), streams: 0 }
    session.streams += 1
    this.#sessions.set(peer, session)
    return session.bytes
  }

  leave(peer: string): void {
    const session = this.#sessions.get(peer)
    if (!session) return
    session.streams -= 1
    if (session.streams === 0) this.#sessions.delete(peer)
  }
}
