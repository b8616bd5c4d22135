/** Webhook deliveries that wait, in the order in which they were caused. */
import type { ClaimedDelivery, ClaimRequest, DeliveryOutcome, OutboxEntry, TaskKey } from './store.js'

interface Delivery extends OutboxEntry {
  readonly deliveryId: string
  readonly key: TaskKey
  attempts: number
  dueMs: number
  leasedUntilMs: number
  isDead: boolean
}

export class MemoryOutbox {
  readonly #deliveries = new Map<string, Delivery>()
  #count = 0

  add(key: TaskKey, entries: readonly OutboxEntry[]): void {
    for (const entry of entries) {
      this.#count += 1
      const deliveryId = String(this.#count)
      this.#deliveries.set(deliveryId, {
        deliveryId,
        key,
        ...entry,
        attempts: 0,
        dueMs: 0,
        leasedUntilMs: 0,
        isDead: false,
      })
    }
  }

  /** Only the oldest of each task and config may go: order is kept per lane. */
  claim({ agents, lease, limit }: ClaimRequest, now: number): ClaimedDelivery[] {
    const claimed: ClaimedDelivery[] = []
    const taken = new Set<string>()
    for (const delivery of this.#deliveries.values()) {
      if (claimed.length >= limit) break
      const { deliveryId, key, configId, seq, attempts } = delivery
      const lane = `${key.agent}\n${key.id}\n${configId}`
      if (delivery.isDead || !agents.includes(key.agent) || taken.has(lane)) continue
      taken.add(lane)
      if (delivery.leasedUntilMs > now || delivery.dueMs > now) continue
      delivery.leasedUntilMs = now + lease.ttlMs
      claimed.push({ deliveryId, key, configId, seq, attempts })
    }
    return claimed
  }

  settle(deliveryId: string, outcome: DeliveryOutcome, now: number): void {
    const delivery = this.#deliveries.get(deliveryId)
    if (!delivery) return
    if (outcome === 'delivered') {
      this.#deliveries.delete(deliveryId)
      return
    }
    delivery.attempts += 1
    delivery.leasedUntilMs = 0
    if (outcome === 'dead') delivery.isDead = true
    else delivery.dueMs = now + outcome.retryInMs
  }

  /** What was to be delivered about a task, or to one of its configs. */
  remove(key: TaskKey, configId?: string): void {
    for (const delivery of this.#deliveries.values()) {
      if (delivery.key.agent !== key.agent || delivery.key.id !== key.id) continue
      if (configId === undefined || delivery.configId === configId) this.#deliveries.delete(delivery.deliveryId)
    }
  }
}
