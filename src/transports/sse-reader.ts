/** Server-sent events in, from peers of every kind (RM-STR-5): line ends, comments, names and marks are the parser's. */
import { createParser } from 'eventsource-parser'
import { TransportError } from '../model/transport-error.js'

export interface SseEvent {
  readonly id?: string
  readonly event?: string
  readonly data: string
}

export interface SseLimits {
  readonly maxEventBytes: number
  /** How long the peer may send nothing, not even a comment. Default: for ever. */
  readonly silenceMs?: number
}

/**
 * The events of a body, as many at once as came together. A body that breaks off throws; one that ends in
 * the middle of an event drops that event, as the standard says.
 */
export async function* readSse(
  body: ReadableStream<Uint8Array>,
  { maxEventBytes, silenceMs }: SseLimits,
): AsyncGenerator<readonly SseEvent[], void, void> {
  let ready: SseEvent[] = []
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent: ({ id, event, data }) =>
      ready.push({ data, ...(id !== undefined && { id }), ...(event !== undefined && { event }) }),
    onError: (error) => {
      // Fields nobody knows are passed over; a line that never ends is not.
      if (error.type === 'max-buffer-size-exceeded')
        throw new TransportError('refused', `An event is longer than ${maxEventBytes} bytes`, { isRetryable: false })
    },
  })
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await (silenceMs === undefined ? reader.read() : unlessSilent(reader, silenceMs))
      if (done) return
      parser.feed(decoder.decode(value, { stream: true }))
      if (ready.length === 0) continue
      const batch = ready
      ready = []
      yield batch
    }
  } finally {
    // Leaving early hangs up; on a body that has ended or failed this does nothing.
    await reader.cancel().catch(() => undefined)
  }
}

/** A connection whose other end is gone looks like one on which nothing is said. */
async function unlessSilent(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMs: number,
): ReturnType<typeof reader.read> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_, reject) => {
    const fail = () => reject(new TransportError('broken-stream', `The peer sent nothing for ${silenceMs} ms`))
    timer = setTimeout(fail, silenceMs)
  })
  try {
    return await Promise.race([reader.read(), silence])
  } finally {
    clearTimeout(timer)
  }
}
