/** A span for each attempt of a delivery, below the call that registered the webhook. */
import type { Tracing } from '../telemetry/tracing.js'
import type { Send } from './delivery.js'

export function traceDeliveries(send: Send, tracing: Tracing): Send {
  return async (delivery, abort) => {
    const { key, push } = delivery
    const span = tracing.start({
      name: 'push',
      kind: 'client',
      parent: push,
      facts: { agent: key.agent, taskId: key.id, peer: new URL(push.config.url).host },
    })
    const told = { ...delivery, push: { ...push, ...span.trace } }
    const outcome = await span.run(() => send(told, abort))
    const isFailure = outcome.result === 'failed' || outcome.result === 'refused'
    span.end({ isFailure, error: isFailure ? outcome.result : undefined })
    return outcome
  }
}
