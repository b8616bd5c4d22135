/** One stream out: a reader that does not keep up stops the reading of the log, nothing else (E-5). */
import type { Metadata, ServerWritableStream } from '@grpc/grpc-js'
import { callStreaming } from '../../model/generic-service.js'
import type { Operation } from '../../model/operations.js'
import type { AgentService, ReadAhead, StreamItem } from '../../model/service.js'
import type { CallTracker } from '../call-record.js'
import { type PreparedCall, positionExtension } from '../transport.js'

/** Bytes waiting for the reader before reading of the log stops. */
const highWaterMark = 64 * 1024

export interface OutgoingStream {
  readonly operation: Operation
  readonly prepared: PreparedCall
  readonly encodeItem: (item: StreamItem) => object
  readonly encodeBytes: (message: object) => Buffer
  readonly headers: Metadata
  readonly isPositioned: boolean
  readonly watch: CallTracker | undefined
  readonly sessions: Sessions
}

/** Sends the events and ends the call. What it throws is the status the call should end with. */
export async function sendStream(
  call: ServerWritableStream<Buffer, Buffer>,
  service: AgentService,
  { operation, prepared, encodeItem, encodeBytes, headers, isPositioned, watch, sessions }: OutgoingStream,
): Promise<void> {
  // A cancelled call and one past its deadline look the same: the stream ends, not the task (R-GRPC-3).
  const gone = new AbortController()
  let wake: () => void = () => undefined
  let isDone = false
  /** Bytes given to the call since it last had nothing to send, or more. */
  let pending = 0
  call.on('cancelled', () => {
    // A call that has ended says so too, and an abort that nobody hears is not free.
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
  /** Until the streams of this connection hold less than they may together. */
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
        // The library counts messages, not bytes.
        if (call.writableLength === 0) pending = 0
        pending += message.length
        // A message that has left has all earlier ones before it.
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

/** The event with its place in the log. Messages have none: they end their stream. */
function positioned(message: object, seq: number | undefined): object {
  if (seq === undefined) return message
  for (const kind of ['task', 'statusUpdate', 'artifactUpdate']) {
    const bearer = (message as Readonly<Record<string, Bearer | undefined>>)[kind]
    if (bearer) return { [kind]: { ...bearer, metadata: { ...bearer.metadata, [positionExtension]: seq } } }
  }
  return message
}

/** Bytes of stream messages that one connection may have waiting for its reader. */
const maxBytes = 4 * 1024 * 1024

/**
 * Counts the messages of all streams of one HTTP/2 connection that its reader has not taken yet. Beyond the limit the
 * streams of this connection stop reading their logs (E-5).
 */
export class SessionBytes {
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

/** One count for each connection, as long as streams on it use it. */
export class Sessions {
  readonly #sessions = new Map<string, { readonly bytes: SessionBytes; streams: number }>()

  /** The count of a connection, by the address and port of its peer; `leave` has to follow. */
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
