/** The console as a receiver of push notifications: an address nobody can guess, and what came there. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createPushReceiver } from '../client/push-receiver.js'
import { readBody } from '../transports/read-json.js'
import type { InboxDelivery } from './console-api.js'

const mostDeliveries = 500
/** Whoever knows the address may send as much as they like. */
const mostBytes = 16 * 1024 * 1024
const longestBody = 1024 * 1024

export class PushInbox {
  /** In the address; who knows it may deliver. */
  readonly secret = randomBytes(18).toString('base64url')
  readonly #deliveries: InboxDelivery[] = []
  #bytes = 0
  readonly #tell: (delivery: InboxDelivery) => void

  constructor(tell: (delivery: InboxDelivery) => void) {
    this.#tell = tell
  }

  isFor(secret: string): boolean {
    const [given, own] = [Buffer.from(secret), Buffer.from(this.secret)]
    return given.length === own.length && timingSafeEqual(given, own)
  }

  /** Newest first. */
  list(): readonly InboxDelivery[] {
    return this.#deliveries
  }

  async receive(request: Request): Promise<Response> {
    if (request.method !== 'POST') return await createPushReceiver({ onDelivery: () => undefined })(request)
    const bytes = await readBody(request, longestBody).catch(() => undefined)
    if (!bytes) return new Response(null, { status: 413 })
    const receive = createPushReceiver({
      maxBytes: longestBody,
      onDelivery: (delivery) => {
        const taken: InboxDelivery = {
          ...delivery,
          id: request.headers.get('x-a2a-delivery-id')?.slice(0, 200) ?? crypto.randomUUID(),
          receivedAt: new Date().toISOString(),
          headers: withoutSecrets(request.headers),
          body: new TextDecoder().decode(bytes),
        }
        this.#deliveries.unshift(taken)
        this.#bytes += Buffer.byteLength(taken.body)
        while (this.#deliveries.length > mostDeliveries || (this.#bytes > mostBytes && this.#deliveries.length > 1))
          this.#bytes -= Buffer.byteLength(this.#deliveries.pop()?.body ?? '')
        this.#tell(taken)
      },
    })
    const { url, method, headers } = request
    return await receive(new Request(url, { method, headers, body: new Uint8Array(bytes) }))
  }
}

function withoutSecrets(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    [...headers].map(([name, value]) => [name, /authori|token|cookie|key/i.test(name) ? '[redacted]' : value]),
  )
}
