/** Deliveries that were given up, for operators: to look at, and to send once more. */
import { assertOptions, type NamesOf } from '../model/option-names.js'
import type { DeadLetter, DeadLetterQuery } from '../stores/store.js'
import { deliveryId, type Send } from './delivery.js'
import { EventsRemoved, endedTask, type PayloadDeps, WebhookPayload } from './webhook-payload.js'

/** A delivery that was given up. */
export interface DeadDelivery extends Omit<DeadLetter, 'key'> {
  readonly agent: string
  readonly taskId: string
  /** What its attempts carried in `X-A2A-Delivery-Id`. */
  readonly deliveryId: string
}

type DeadDeliveryQuery = Partial<Omit<DeadLetterQuery, 'agents'>> & { readonly agent?: string }

const queryNames = {
  agent: true,
  tenant: true,
  owner: true,
  taskId: true,
  limit: true,
  afterId: true,
} satisfies NamesOf<DeadDeliveryQuery>

export interface PushOperations {
  /** Deliveries that were given up, oldest first; at most 100 unless told otherwise. */
  deadLetters(query?: DeadDeliveryQuery): Promise<readonly DeadDelivery[]>
  /**
   * Sends one once more, now. When it arrives it is no dead letter any more; otherwise it stays one. Absent when
   * there is none of that id.
   */
  redeliver(id: string): Promise<Redelivery | undefined>
}

export type Redelivery = { readonly isDelivered: true } | { readonly isDelivered: false; readonly error: string }

export interface PushOperationDeps extends PayloadDeps {
  /** Whose webhooks. Absent: those of all agents in the store. */
  readonly agents?: readonly string[] | undefined
  readonly send: Send
  readonly closing: AbortSignal
}

export function createPushOperations(parts: PushOperationDeps): PushOperations {
  const { store, agents } = parts
  const isOurs = (agent: string) => agents === undefined || agents.includes(agent)
  return {
    async deadLetters(asked = {}) {
      assertOptions('deadLetters', asked, queryNames)
      const { agent, limit = 100, ...query } = asked
      const chosen = agent === undefined ? agents : [agent].filter(isOurs)
      return (await store.deliveries.listDeadLetters({ ...query, limit, agents: chosen })).map(asDelivery)
    },
    async redeliver(id) {
      const letter = await store.deliveries.getDeadLetter(id)
      const push = letter && (await store.deliveries.getConfig(letter.key, letter.configId))
      if (!letter || !push || !isOurs(letter.key.agent)) return undefined
      const { key, configId, seq } = letter
      const telling = new WebhookPayload(parts, key, push)
      const body = await bodyOf(parts, telling, letter)
      if (body === undefined) return { isDelivered: false, error: 'Its event is not there any more' }
      const delivery = {
        id: deliveryId(key, configId, seq),
        key,
        push,
        contentType: telling.contentType ?? '',
        body,
      }
      const outcome = await parts.send(delivery, parts.closing)
      if ('error' in outcome) return { isDelivered: false, error: outcome.error }
      if (outcome.result === 'aborted') return { isDelivered: false, error: 'This server is shutting down' }
      await store.deliveries.deleteDeadLetter(id)
      return { isDelivered: true }
    },
  }
}

/** Where retention has removed the event, the task as it ended stands for it. */
async function bodyOf({ store }: PushOperationDeps, telling: WebhookPayload, { key, seq }: DeadLetter) {
  try {
    const [event] = (await store.read(key, seq - 1, 1)) ?? []
    if (event?.seq === seq) return await telling.bodyOf(event)
  } catch (error) {
    if (!(error instanceof EventsRemoved)) throw error
  }
  const ended = await endedTask(store, key)
  return ended && telling.bodyOfTask(ended.task)
}

function asDelivery({ key, ...letter }: DeadLetter): DeadDelivery {
  return { ...letter, agent: key.agent, taskId: key.id, deliveryId: deliveryId(key, letter.configId, letter.seq) }
}
