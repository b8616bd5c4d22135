import { TransportError } from '../model/transport-error.js'
import { readAtMost } from '../net/read-at-most.js'

/** The body, or a refusal as soon as it is known to be too long. */
export async function readLimited(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readAtMost(response, maxBytes)
  if (!bytes) throw new TransportError('refused', `The answer is longer than ${maxBytes} bytes`)
  return bytes
}
