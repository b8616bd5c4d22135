/** Calls at a steady concurrency until there were enough of them, the time is over, or somebody stops it. */
import { A2AError, type AgentClient, TransportError } from '../../client/index.js'
import type { Sample, Tally } from './tally.js'

export interface LoadOptions {
  readonly concurrency: number
  /** Absent: as many as fit into the time. */
  readonly requests?: number
  /** No call begins after it. */
  readonly durationMs?: number
  /** Stops everything; calls under way do not count. */
  readonly signal: AbortSignal
}

type Call = (signal: AbortSignal) => Promise<Sample>

export async function load(call: Call, tally: Tally, options: LoadOptions): Promise<void> {
  const { concurrency, requests = Number.POSITIVE_INFINITY, durationMs = Number.POSITIVE_INFINITY, signal } = options
  const endsAt = performance.now() + durationMs
  let begun = 0
  const worker = async () => {
    while (begun < requests && performance.now() < endsAt && !signal.aborted) {
      begun += 1
      try {
        tally.success(await call(signal))
      } catch (error) {
        if (signal.aborted) return
        tally.failure(kindOf(error))
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, requests) }, worker))
}

/** A task that did not work out: an answer elsewhere, a failure here. */
export class FailedTask extends Error {}

function kindOf(error: unknown): string {
  if (error instanceof TransportError) return error.failure
  if (error instanceof A2AError) return error.code
  if (error instanceof FailedTask) return error.message
  throw error
}

const failures: ReadonlySet<string> = new Set(['TASK_STATE_FAILED', 'TASK_STATE_REJECTED', 'TASK_STATE_CANCELED'])

export function unaryCall(agent: AgentClient, text: string): Call {
  return async (signal) => {
    const started = performance.now()
    const { state } = await agent.ask(text, { signal })
    const ms = performance.now() - started
    if (failures.has(state)) throw new FailedTask(state)
    return { ms }
  }
}

export function streamCall(agent: AgentClient, text: string): Call {
  return async (signal) => {
    const started = performance.now()
    let firstMs: number | undefined
    let events = 0
    let state = ''
    for await (const update of agent.stream(text, { signal })) {
      firstMs ??= performance.now() - started
      events += 1
      if ('statusUpdate' in update) state = update.statusUpdate.status.state
      else if ('task' in update) state = update.task.status.state
    }
    const ms = performance.now() - started
    if (failures.has(state)) throw new FailedTask(state)
    return { ms, events, ...(firstMs !== undefined && { firstMs }) }
  }
}
