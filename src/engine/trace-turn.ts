/** A span for each attempt of a turn, below the call that brought its message, wherever and whenever that was. */
import type { AcceptedMessage } from '../model/apply-event.js'
import { type OpenSpan, operationNames, type Tracing } from '../telemetry/tracing.js'
import type { Run } from './run.js'
import type { TurnEnd } from './run-handler.js'

interface TracedTurn {
  readonly current: AcceptedMessage
  readonly run: Pick<Run, 'id' | 'internals' | 'attempt'>
}

export async function traceTurn(
  tracing: Tracing,
  { current, run }: TracedTurn,
  work: (span: OpenSpan) => Promise<TurnEnd>,
): Promise<TurnEnd> {
  const { agent, name } = run.internals
  const operation = agent.isWorkflow ? operationNames.workflow : operationNames.agent
  const span = tracing.start({
    name: `${operation} ${name}`,
    kind: 'internal',
    parent: current.request,
    facts: {
      operation,
      agent: name,
      contextId: current.message.contextId,
      taskId: run.id,
      turn: current.turn,
      attempt: run.attempt,
    },
  })
  try {
    const end = await work(span)
    span.end(outcomeOf(end))
    return end
  } catch (error) {
    span.end({ isFailure: true, error: error instanceof Error ? error.name : 'Error' })
    throw error
  }
}

function outcomeOf(end: TurnEnd): Parameters<OpenSpan['end']>[0] {
  if (end.kind === 'refused') return { isFailure: true, error: end.error.code }
  if (end.kind !== 'state') return { isFailure: false }
  return { isFailure: end.state === 'TASK_STATE_FAILED', state: end.state }
}
