/** The body, however it is packed on the wire; nothing as soon as it is known to be longer than allowed. */
export async function readAtMost(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (Number(response.headers.get('content-length')) > maxBytes) {
    await response.body?.cancel()
    return undefined
  }
  return response.body ? await collectAtMost(response.body, maxBytes) : new Uint8Array()
}

/** All of a stream; nothing as soon as it is known to be longer than allowed. */
export async function collectAtMost(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.byteLength
    if (length > maxBytes) {
      // Not waited for: the other branch of a body that was divided may never be read.
      reader.cancel().catch(() => undefined)
      return undefined
    }
    chunks.push(value)
  }
  const whole = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.byteLength
  }
  return whole
}

/** The body as JSON; nothing when it is too long, or none. */
export async function readJsonAtMost(response: Response, maxBytes: number): Promise<unknown> {
  const bytes = await readAtMost(response, maxBytes)
  try {
    return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as unknown)
  } catch {
    return undefined
  }
}
