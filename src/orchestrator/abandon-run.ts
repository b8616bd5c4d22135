/** What a run leaves behind when it ends early: agents at work are told to stop, what was done is undone. */
import type { AbandonedTask } from '../engine/agent.js'
import type { CallContext } from '../model/service.js'
import type { StepAgents } from './step-agents.js'
import { recordsIn, type StepRecord, undoName } from './step-record.js'

type Abandoned = Pick<AbandonedTask, 'task' | 'caller' | 'service'> & { readonly agents: StepAgents }

/** Nobody waits for answers here: the run is over. */
export async function abandonRun(abandoned: Abandoned & Pick<AbandonedTask, 'checkpoints'>): Promise<void> {
  const records = recordsIn(abandoned.checkpoints)
  await cancelChildren(records, abandoned)
  for (const [name, record] of undoable(records)) {
    // One that the agent has begun goes on by itself.
    const isAsked = hasBegun(records.get(undoName(name)))
    if (!isAsked) await sendUndo(name, record, abandoned).catch(() => undefined) // the next one still may
  }
}

function hasBegun(record: StepRecord | undefined): boolean {
  return record !== undefined && (record.taskId !== undefined || record.endedAt !== undefined)
}

/** Every task that is under way somewhere, as far as it is known. What undoes something is left to its end. */
export async function cancelChildren(
  records: ReadonlyMap<string, StepRecord>,
  { agents, caller, service }: Abandoned,
): Promise<void> {
  const context: CallContext = { caller }
  const underWay = [...records.values()].filter(
    ({ kind, state }) => kind !== 'undo' && (state === 'running' || state === 'asking'),
  )
  await Promise.all(
    underWay.map(async ({ taskId, place, attempt }) => {
      if (taskId === undefined || place === undefined) return
      // An agent that is not there, or has ended meanwhile, has nothing left to cancel.
      const child = await agents.find(place, attempt, { service }).catch(() => undefined)
      await child?.cancelTask({ id: taskId }, context).catch(() => undefined)
    }),
  )
}

/** Steps that were done and can be undone, the last first. */
export function undoable(records: ReadonlyMap<string, StepRecord>): readonly (readonly [string, StepRecord])[] {
  // Of those that ended in the same millisecond, the one begun later.
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
