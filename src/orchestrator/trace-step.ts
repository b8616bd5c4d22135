/**
 * Creates a span for a step, as a child of the turn's span and parent of the agent's spans. It ends with the step or with the
 * turn; a later turn that continues the step creates another one.
 */
import type { Turn } from '../engine/agent.js'
import { type TraceContext, traceContextOf } from '../model/trace-context.js'
import { applicationTracing } from '../telemetry/tracing.js'

export interface StepSpan {
  readonly trace: TraceContext
  /** Runs the step inside the span and ends the span. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Returns undefined if tracing is not configured. */
export function traceStep(
  name: string,
  agent: string,
  { turn, left, over }: { readonly turn: Turn<unknown>; readonly left: AbortSignal; readonly over: unknown },
): StepSpan | undefined {
  const span = applicationTracing()?.start({
    name: `step ${name}`,
    kind: 'internal',
    parent: traceContextOf(turn),
    facts: { step: name, agent, taskId: turn.task.id, contextId: turn.contextId },
  })
  if (!span) return undefined
  let isEnded = false
  const end = (isFailure: boolean) => {
    if (!isEnded) span.end({ isFailure })
    isEnded = true
  }
  left.addEventListener('abort', () => end(false), { once: true })
  return {
    trace: span.trace,
    async run(work) {
      try {
        const result = await span.run(work)
        end(false)
        return result
      } catch (error) {
        end(error !== over)
        throw error
      }
    },
  }
}
