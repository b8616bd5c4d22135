/** Reads the decoded body. Returns undefined as soon as it is larger than `maxBytes`. */
export async function readAtMost(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (Number(response.headers.get('content-length')) > maxBytes) {
    await response.body?.cancel()
    return undefined
  }
  return response.body ? await collectAtMost(response.body, maxBytes) : new Uint8Array()
}

/** Reads a stream to its end. Returns undefined as soon as it is larger than `maxBytes`. */
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
      // Not awaited: if the body was teed, the other branch may never be read.
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

/** Reads the body as JSON. Returns undefined if it is larger than `maxBytes` or not JSON. */
export async function readJsonAtMost(response: Response, maxBytes: number): Promise<unknown> {
  const bytes = await readAtMost(response, maxBytes)
  try {
    return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as unknown)
  } catch {
    return undefined
  }
}
