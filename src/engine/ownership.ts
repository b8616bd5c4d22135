import { A2AError, clip } from '../model/errors.js'
import type { CallContext } from '../model/service.js'

/** Callers see their own tasks, in the tenant they address. */
export function isOwn(
  task: { readonly tenant: string; readonly owner: string },
  context: Pick<CallContext, 'caller' | 'tenant'>,
): boolean {
  return task.owner === context.caller.id && task.tenant === (context.tenant ?? '')
}

/** The same words whether a task is missing or somebody else's (R-ERR-7). */
export function taskNotFound(taskId: string): A2AError {
  return new A2AError('TASK_NOT_FOUND', `No task ${clip(taskId)}`, { metadata: { taskId: clip(taskId) } })
}
