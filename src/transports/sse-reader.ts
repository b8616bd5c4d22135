/** Reads server-sent events of any server (RM-STR-5). */
import { createParser } from 'eventsource-parser'
import { TransportError } from '../model/transport-error.js'
import { decodeUtf8 } from '../model/utf8.js'
import { type ByteReader, readerOf } from '../net/read-at-most.js'

export interface SseEvent {
  readonly id?: string | undefined
  readonly event?: string | undefined
  readonly data: string
}

interface SseLimits {
  readonly maxEventBytes: number
  /** The longest silence, comments included. Default: no limit. */
  readonly silenceMs?: number
}

/**
 * Reads the events of a body in batches, as they arrive. Throws if the body breaks off. An event that is incomplete at
 * the end is dropped, as the standard requires.
 */
export async function* readSse(
  body: ReadableStream<Uint8Array> | ByteReader,
  { maxEventBytes, silenceMs }: SseLimits,
): AsyncGenerator<readonly SseEvent[], void, void> {
  let ready: SseEvent[] = []
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent: (event) => ready.push(event),
    onError: (error) => {
      // Unknown fields are ignored.
      if (error.type === 'max-buffer-size-exceeded') throw tooLong(maxEventBytes)
    },
  })
  const decode = createDecoder()
  let bytesOfEvent = 0
  const reader = readerOf(body)
  try {
    for (;;) {
      const piece = await (silenceMs === undefined ? reader.read() : unlessSilent(reader, silenceMs))
      if (!piece) return
      const text = decode(piece)
      parser.feed(text)
      // The parser counts characters of data only, so that a line without data would cost the peer nothing.
      bytesOfEvent = ready.length > 0 || endsWithBlankLine(text) ? 0 : bytesOfEvent + piece.byteLength
      if (bytesOfEvent > maxEventBytes) throw tooLong(maxEventBytes)
      if (ready.length === 0) continue
      const batch = ready
      ready = []
      yield batch
    }
  } finally {
    // Closes the connection if the reader leaves early; otherwise it has no effect.
    await reader.cancel().catch(() => undefined)
  }
}

function tooLong(maxBytes: number): TransportError {
  return new TransportError('refused', `An event is longer than ${maxBytes} bytes`, { isRetryable: false })
}

/** Whether no event is incomplete after this text. Comments that keep a connection open end so. */
function endsWithBlankLine(text: string): boolean {
  return text.endsWith('\n\n') || text.endsWith('\r\n\r\n') || text.endsWith('\r\r')
}

/** Creates a decoder of UTF-8 in pieces. `TextDecoder` is slow, so it decodes only pieces that need it. */
function createDecoder(): (piece: Uint8Array) => string {
  const decoder = new TextDecoder()
  // The first piece may have a byte order mark. Other pieces may begin or end inside a character.
  let mayBeInside = true
  return (piece) => {
    const beginsInside = mayBeInside
    mayBeInside = (piece.at(-1) ?? 0x80) >= 0x80
    return beginsInside || mayBeInside ? decoder.decode(piece, { stream: true }) : decodeUtf8(piece)
  }
}

/** A peer that vanished without closing its connection can only be noticed by its silence. */
async function unlessSilent(reader: ByteReader, silenceMs: number): Promise<Uint8Array | undefined> {
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
