/**
 * A span for each step that a turn works on, below the turn's; what agents do for it is below the step's. It ends with
 * the step, or with the turn: a step that a later turn goes on with has another one there.
 */
import { type TraceContext, traceContextOf } from '../model/trace-context.js'
import { applicationTracing } from '../telemetry/tracing.js'
import type { WorkflowRun } from './workflow-run.js'

export interface StepSpan {
  readonly trace: TraceContext
  /** Does the step's work, and ends with it. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Absent when nobody traces. */
export function traceStep(
  name: string,
  agent: string,
  { turn, left, over }: Pick<WorkflowRun, 'turn' | 'left' | 'over'>,
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
