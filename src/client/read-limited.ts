import { TransportError } from '../transports/transport-error.js'

/** The body, however it is packed on the wire, or a refusal as soon as it is known to be too long. */
export async function readLimited(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(response.headers.get('content-length')) > maxBytes) {
    await response.body?.cancel()
    throw tooLong(maxBytes)
  }
  if (!response.body) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = (response.body as ReadableStream<Uint8Array>).getReader() // bodies are bytes
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.byteLength
    if (length > maxBytes) {
      await reader.cancel()
      throw tooLong(maxBytes)
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

function tooLong(maxBytes: number): TransportError {
  return new TransportError('refused', `The answer is longer than ${maxBytes} bytes`)
}
