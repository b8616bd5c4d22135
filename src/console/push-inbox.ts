/** The console as a receiver of push notifications: an address nobody can guess, and what came there. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createPushReceiver } from '../client/push-receiver.js'
import type { InboxDelivery } from './console-api.js'

const mostDeliveries = 500
const longestBody = 1024 * 1024

export class PushInbox {
  /** In the address; who knows it may deliver. */
  readonly secret = randomBytes(18).toString('base64url')
  readonly #deliveries: InboxDelivery[] = []
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
    const copy = request.method === 'POST' ? await request.clone().text() : ''
    const receive = createPushReceiver({
      maxBytes: longestBody,
      onDelivery: (delivery) => {
        const taken: InboxDelivery = {
          ...delivery,
          id: request.headers.get('x-a2a-delivery-id') ?? crypto.randomUUID(),
          receivedAt: new Date().toISOString(),
          headers: withoutSecrets(request.headers),
          body: copy.slice(0, longestBody),
        }
        this.#deliveries.unshift(taken)
        if (this.#deliveries.length > mostDeliveries) this.#deliveries.pop()
        this.#tell(taken)
      },
    })
    return await receive(request)
  }
}

function withoutSecrets(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    [...headers].map(([name, value]) => [name, /authori|token|cookie|key/i.test(name) ? '[redacted]' : value]),
  )
}
