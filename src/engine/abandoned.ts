/** Tells an agent that a task of its was ended from outside, so that nothing goes on elsewhere for nobody. */

import type { Task } from '../model/task.js'
import { atMost } from './at-most.js'
import { serviceFor } from './call-agent.js'
import type { TurnSource } from './turn.js'

type Ended = Pick<TurnSource, 'internals' | 'caller' | 'tenant' | 'checkpoints'> & { readonly task: Task | undefined }

/** Waits for the agent as long as a cancel would; what it throws is for the log. */
export async function tellAbandoned(ended: Ended): Promise<void> {
  const { internals, caller, checkpoints, task } = ended
  const { agent, settings, name } = internals
  if (!agent.onAbandoned || !task) return
  try {
    const told = agent.onAbandoned({ task, caller, checkpoints, service: (ref) => serviceFor(ended, ref) })
    await atMost(settings.cancelGraceMs, told)
  } catch (error) {
    internals.log({
      level: 'warn',
      message: 'The agent threw when a task was abandoned',
      agent: name,
      taskId: task.id,
      error,
    })
  }
}
