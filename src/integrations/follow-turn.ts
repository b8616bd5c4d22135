/** Turns of agents that frameworks call: aborting cancels the task. Runs in browsers too. */
import type { ClientOperations } from '../client/agent-client.js'
import { isLast, type TurnEvent } from '../client/turn-event.js'
import { unlessAborted } from '../model/unless-aborted.js'

interface FollowOptions {
  /** The task, if it is known before the stream names it. */
  readonly taskId?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Whether an abort cancels the task; called after the code that aborted has run. Default: always. */
  readonly cancels?: () => boolean
}

/** Yields the events of a turn. If the signal aborts before the last one, cancels the task and throws the signal's reason. */
export async function* followTurn(
  agent: Pick<ClientOperations, 'cancelTask'>,
  turn: AsyncIterable<TurnEvent>,
  { taskId, signal, cancels = () => true }: FollowOptions,
): AsyncGenerator<TurnEvent, void, void> {
  signal?.throwIfAborted()
  const events = turn[Symbol.asyncIterator]()
  let next: Promise<IteratorResult<TurnEvent, unknown>> = events.next()
  const onAbort = () => void abandon()
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    for (;;) {
      const result = await unlessAborted(next, signal)
      if (result.done) return
      const { value } = result
      if (value.kind === 'begin') taskId = value.taskId ?? taskId
      // A question is no reason to cancel, even if its reader is slow.
      if (isLast(value)) signal?.removeEventListener('abort', onAbort)
      yield value
      next = events.next()
    }
  } finally {
    signal?.removeEventListener('abort', onAbort)
    if (!signal?.aborted) await events.return?.()
  }

  /** The task may be unknown when the signal aborts: reads on until it is named. */
  async function abandon(): Promise<void> {
    try {
      await Promise.resolve()
      if (!cancels()) return
      while (taskId === undefined) {
        const result = await next
        if (result.done) return
        if (result.value.kind !== 'begin') next = events.next()
        else if (result.value.taskId === undefined) return
        else taskId = result.value.taskId
      }
      await agent.cancelTask({ id: taskId })
    } catch {
      // The task has ended, or the agent cannot be reached: nothing is left to cancel.
    } finally {
      await events.return?.()
    }
  }
}
