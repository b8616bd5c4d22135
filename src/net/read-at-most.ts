/** Reads bytes as they arrive. */
export interface ByteReader {
  /** Returns undefined at the end. Rejects if the connection breaks. */
  read(): Promise<Uint8Array | undefined>
  /** Closes the connection, unless the end was read. */
  cancel(): Promise<void>
}

type Body = ReadableStream<Uint8Array> | ByteReader

export function readerOf(body: Body): ByteReader {
  if (!('getReader' in body)) return body
  const reader = body.getReader()
  return {
    read: async () => (await reader.read()).value,
    cancel: () => reader.cancel(),
  }
}

interface ReadableResponse {
  readonly headers: { get(name: string): string | null }
  readonly body: Body | null
}

/** Reads the decoded body. Returns undefined as soon as it is larger than `maxBytes`. */
export async function readAtMost(
  { headers, body }: ReadableResponse,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (Number(headers.get('content-length')) > maxBytes) {
    await body?.cancel()
    return undefined
  }
  return body ? await collectAtMost(body, maxBytes) : new Uint8Array()
}

/** Reads a stream to its end. Returns undefined as soon as it is larger than `maxBytes`. */
export async function collectAtMost(body: Body, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = readerOf(body)
  for (;;) {
    const chunk = await reader.read()
    if (!chunk) break
    length += chunk.byteLength
    if (length > maxBytes) {
      // Not awaited: if the body was teed, the other branch may never be read.
      reader.cancel().catch(() => undefined)
      return undefined
    }
    chunks.push(chunk)
  }
  const whole = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.byteLength
  }
  return whole
}

/** Reads the body as JSON. Returns undefined if it is larger than `maxBytes` or not JSON. */
export async function readJsonAtMost(response: Response, maxBytes: number): Promise<unknown> {
  const bytes = await readAtMost(response, maxBytes)
  try {
    return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as unknown)
  } catch {
    return undefined
  }
}
