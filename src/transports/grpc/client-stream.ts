/**
 * One stream of the client. grpc-js buffers a few messages and then stops the peer, so that a slow consumer uses little
 * memory. `return()` ends the call at once, even while `next()` waits.
 */
import type { Client, Metadata, StatusObject } from '@grpc/grpc-js'
import { status as codes } from '@grpc/grpc-js'
import type { StreamDecoder } from '../../dialects/client-dialect.js'
import { items } from '../../model/batches.js'
import type { CallContext, StreamItem } from '../../model/service.js'
import { TransportError } from '../../model/transport-error.js'
import { addItems, readable } from '../client-response.js'
import { positionExtension } from '../transport.js'
import type { ClientRpc, Outgoing } from './client-call.js'
import { aborted, failureOf, statusName } from './client-status.js'

export interface Following {
  readonly client: Client
  readonly route: ClientRpc
  readonly context: CallContext
  readonly prepare: () => Promise<Outgoing>
  readonly createDecoder: (sent: unknown) => StreamDecoder
}

/** Follows a stream. The call is made once, with the first `next()`. */
export function follow(following: Following): AsyncIterableIterator<StreamItem> {
  const reader: Reader = { isLeft: false, wake: () => undefined }
  const batches = read(following, reader)
  return items<StreamItem>({
    next: () => batches.next(),
    return() {
      reader.isLeft = true
      reader.wake()
      return batches.return()
    },
    [Symbol.asyncIterator]() {
      return this
    },
  })
}

interface Reader {
  isLeft: boolean
  wake: () => void
}

async function* read(
  { client, route, context, prepare, createDecoder }: Following,
  reader: Reader,
): AsyncGenerator<readonly StreamItem[], void, void> {
  const { signal } = context
  const { bytes, metadata, sent, note } = await prepare()
  const decoder = createDecoder(sent)
  if (reader.isLeft) return
  const call = client.makeServerStreamRequest(route.path, same, same, bytes, metadata)
  const wake = () => reader.wake()
  let ended: StatusObject | undefined
  const headers: Metadata[] = []
  call.on('metadata', (received: Metadata) => {
    headers.push(received)
    context.onOpen?.()
  })
  call.on('readable', wake)
  call.on('status', (status: StatusObject) => {
    ended = status
    wake()
  })
  // The status has the same error.
  call.on('error', () => undefined)
  signal?.addEventListener('abort', wake, { once: true })
  try {
    for (;;) {
      if (signal?.aborted) throw aborted(signal)
      if (reader.isLeft) return
      const batch: StreamItem[] = []
      let failure: { readonly error: unknown } | undefined
      let count = 0
      try {
        for (; count < maxBatch && !decoder.isOver; count++) {
          const frame = call.read() as Buffer | null
          if (frame === null) break
          const message = decodeBytes(route, frame)
          note?.({ body: message })
          addEvents(batch, decoder, message)
        }
      } catch (error) {
        failure = { error }
      }
      if (batch.length > 0) yield batch
      if (failure) throw failure.error
      if (decoder.isOver) return
      if (count > 0) continue
      // An error status arrives before buffered messages, which are read first.
      if (ended) break
      await new Promise<void>((resolve) => {
        reader.wake = resolve
      })
    }
  } finally {
    signal?.removeEventListener('abort', wake)
    if (!ended) call.cancel()
  }
  note?.({ status: statusName(ended.code), metadata: [...headers, ended.metadata] })
  if (ended.code !== codes.OK) throw failureOf(ended, route.form, { isStream: true, headers: headers[0] })
}

/** A peer that is faster than its reader must not fill a batch without end. */
const maxBatch = 64

function same(bytes: Buffer): Buffer {
  return bytes
}

export function decodeBytes({ rpc, name }: ClientRpc, bytes: Buffer): object {
  try {
    return rpc.response.decode(bytes)
  } catch (cause) {
    throw new TransportError('bad-answer', `The answer is no message of ${name}`, { cause })
  }
}

/** Adds the events of one message of a stream. */
function addEvents(to: StreamItem[], decoder: StreamDecoder, message: object): void {
  const { data, seq } = takePosition(message)
  addItems(
    to,
    readable(() => decoder.decode({ data })),
    seq,
  )
}

interface Bearer {
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Takes an event's place in the log out of its metadata, where servers put it on this binding. */
function takePosition(message: object): { readonly data: object; readonly seq?: number } {
  for (const kind of ['artifactUpdate', 'statusUpdate', 'task']) {
    const bearer = (message as Readonly<Record<string, Bearer | undefined>>)[kind]
    if (!bearer) continue
    const seq = bearer.metadata?.[positionExtension]
    if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 0) return { data: message }
    const { [positionExtension]: _, ...others } = bearer.metadata ?? {}
    const { metadata: __, ...bare } = bearer
    return { data: { [kind]: Object.keys(others).length > 0 ? { ...bare, metadata: others } : bare }, seq }
  }
  return { data: message }
}
