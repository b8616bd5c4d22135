/** Cleans up after a run that ended early: cancels the tasks of its steps and sends compensations. */
import type { AbandonedTask } from '../engine/agent.js'
import type { CallContext } from '../model/service.js'
import type { StepAgents } from './step-agents.js'
import { recordsIn, type StepRecord, undoName } from './step-record.js'

type Abandoned = Pick<AbandonedTask, 'task' | 'caller' | 'service'> & { readonly agents: StepAgents }

/** Does not wait for the compensations to finish: the run is over. */
export async function abandonRun(abandoned: Abandoned & Pick<AbandonedTask, 'checkpoints'>): Promise<void> {
  const records = recordsIn(abandoned.checkpoints)
  await cancelChildren(records, abandoned)
  for (const [name, record] of undoable(records)) {
    // A compensation that has started continues at its agent.
    const hasStarted = hasBegun(records.get(undoName(name)))
    if (!hasStarted) await sendUndo(name, record, abandoned).catch(() => undefined) // continue with the others
  }
}

function hasBegun(record: StepRecord | undefined): boolean {
  return record !== undefined && (record.taskId !== undefined || record.endedAt !== undefined)
}

/** Cancels the known tasks of open steps. Compensations are not cancelled. */
export async function cancelChildren(
  records: ReadonlyMap<string, StepRecord>,
  { agents, caller, service }: Abandoned,
): Promise<void> {
  const context: CallContext = { caller }
  const open = [...records.values()].filter(
    ({ kind, state }) => kind !== 'undo' && (state === 'running' || state === 'asking'),
  )
  await Promise.all(
    open.map(async ({ taskId, place, attempt }) => {
      if (taskId === undefined || place === undefined) return
      // Ignores agents that cannot be reached and tasks that have ended.
      const child = await agents.find(place, attempt, { service }).catch(() => undefined)
      await child?.cancelTask({ id: taskId }, context).catch(() => undefined)
    }),
  )
}

/** Completed steps that have a compensation, the last one first. */
export function undoable(records: ReadonlyMap<string, StepRecord>): readonly (readonly [string, StepRecord])[] {
  // Of steps that ended in the same millisecond, the one that started later comes first.
  return [...records]
    .reverse()
    .filter(([, { state, undo }]) => state === 'completed' && undo !== undefined)
    .sort(([, a], [, b]) => (b.endedAt ?? 0) - (a.endedAt ?? 0))
}

async function sendUndo(name: string, { undo, taskId }: StepRecord, abandoned: Abandoned): Promise<void> {
  if (!undo) return
  const { agents, caller, service, task } = abandoned
  const agent = await agents.find(undo.agent, 1, { service })
  await agent.sendMessage(
    {
      message: {
        messageId: crypto.randomUUID(),
        role: 'ROLE_USER',
        contextId: task.contextId,
        parts: undo.parts,
        ...(taskId !== undefined && { referenceTaskIds: [taskId] }),
      },
      configuration: { returnImmediately: true },
    },
    { caller, idempotencyKey: `${task.id}:${undoName(name)}:1` },
  )
}
