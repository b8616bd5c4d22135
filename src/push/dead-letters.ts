/** Dead letters, for operators: lists them and sends them again. */
import { assertOptions, type NamesOf } from '../model/option-names.js'
import type { DeadLetter, DeadLetterQuery } from '../stores/store.js'
import { deliveryId, type Send } from './delivery.js'
import { EventsRemoved, endedTask, type PayloadDeps, WebhookPayload } from './webhook-payload.js'

/** A delivery that the server has given up. */
export interface DeadDelivery extends Omit<DeadLetter, 'key'> {
  readonly agent: string
  readonly taskId: string
  /** The `X-A2A-Delivery-Id` of its attempts. */
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

/** Operations on webhook deliveries that were given up. */
export interface PushOperations {
  /** Lists dead letters, oldest first. Default limit 100. */
  deadLetters(query?: DeadDeliveryQuery): Promise<readonly DeadDelivery[]>
  /** Sends a dead letter again, and deletes it if the webhook accepts it. Undefined if there is none with this id. */
  redeliver(id: string): Promise<Redelivery | undefined>
}

/** The result of `redeliver`. */
export type Redelivery = { readonly isDelivered: true } | { readonly isDelivered: false; readonly error: string }

interface PushOperationDeps extends PayloadDeps {
  /** The agents whose webhooks are included. Default: all agents of the store. */
  readonly agents?: readonly string[] | undefined
  readonly send: Send
  readonly closing: AbortSignal
}

export function createPushOperations(deps: PushOperationDeps): PushOperations {
  const { store, agents } = deps
  const isIncluded = (agent: string) => agents === undefined || agents.includes(agent)
  return {
    async deadLetters(options = {}) {
      assertOptions('deadLetters', options, queryNames)
      const { agent, limit = 100, ...query } = options
      const chosen = agent === undefined ? agents : [agent].filter(isIncluded)
      return (await store.deliveries.listDeadLetters({ ...query, limit, agents: chosen })).map(asDelivery)
    },
    async redeliver(id) {
      const letter = await store.deliveries.getDeadLetter(id)
      const push = letter && (await store.deliveries.getConfig(letter.key, letter.configId))
      if (!letter || !push || !isIncluded(letter.key.agent)) return undefined
      const { key, configId, seq } = letter
      const payload = new WebhookPayload(deps, key, push)
      const body = await bodyOf(deps, payload, letter)
      if (body === undefined) return { isDelivered: false, error: 'Its event was removed' }
      const delivery = {
        id: deliveryId(key, configId, seq),
        key,
        push,
        contentType: payload.contentType ?? '',
        body,
      }
      const outcome = await deps.send(delivery, deps.closing)
      if ('error' in outcome) return { isDelivered: false, error: outcome.error }
      if (outcome.result === 'aborted') return { isDelivered: false, error: 'This server is shutting down' }
      await store.deliveries.deleteDeadLetter(id)
      return { isDelivered: true }
    },
  }
}

/** If retention has removed the event, the ended task replaces it. */
async function bodyOf({ store }: PushOperationDeps, payload: WebhookPayload, { key, seq }: DeadLetter) {
  try {
    const [event] = (await store.read(key, seq - 1, 1)) ?? []
    if (event?.seq === seq) return await payload.bodyOf(event)
  } catch (error) {
    if (!(error instanceof EventsRemoved)) throw error
  }
  const ended = await endedTask(store, key)
  return ended && payload.bodyOfTask(ended.task)
}

function asDelivery({ key, ...letter }: DeadLetter): DeadDelivery {
  return { ...letter, agent: key.agent, taskId: key.id, deliveryId: deliveryId(key, letter.configId, letter.seq) }
}
