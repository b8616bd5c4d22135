/** Whose task it is, and who else may touch it. */
import { A2AError, clip } from '../model/errors.js'
import type { Operation } from '../model/operations.js'
import type { CallContext, Caller } from '../model/service.js'
import type { Internals } from './internals.js'

/** What a task is called and whose it is, for whoever decides about access to it. */
export interface SharedTask {
  readonly id: string
  readonly contextId: string
  readonly tenant: string
  /** The caller that began it. */
  readonly owner: string
}

/** What may be allowed to callers that do not own a task. Lists and webhooks stay with the owner. */
export type SharingOperation = Extract<
  Operation,
  'getTask' | 'subscribeToTask' | 'cancelTask' | 'sendMessage' | 'sendStreamingMessage'
>

export type CanAccess = (caller: Caller, task: SharedTask, operation: SharingOperation) => boolean | Promise<boolean>

type Asking = Pick<CallContext, 'caller' | 'tenant'>

/** Callers see their own tasks, in the tenant they address. */
export function isOwn(task: Pick<SharedTask, 'tenant' | 'owner'>, context: Asking): boolean {
  return task.owner === context.caller.id && task.tenant === (context.tenant ?? '')
}

/** Whether a caller may do this to a task: because it is its own, or because somebody allowed it. */
export function mayAccess(
  internals: Pick<Internals, 'canAccess' | 'log' | 'name'>,
  task: SharedTask,
  context: Asking,
  operation: SharingOperation,
): boolean | Promise<boolean> {
  if (isOwn(task, context)) return true
  // Whatever is shared, it is shared within its tenant (R-TEN-3).
  if (!internals.canAccess || task.tenant !== (context.tenant ?? '')) return false
  return isAllowed(internals, internals.canAccess, task, context, operation)
}

/** Whoever cannot decide has not allowed it; and the caller must not learn that there was something to decide. */
async function isAllowed(
  { log, name }: Pick<Internals, 'log' | 'name'>,
  canAccess: CanAccess,
  { id, contextId, tenant, owner }: SharedTask,
  { caller }: Asking,
  operation: SharingOperation,
): Promise<boolean> {
  try {
    return (await canAccess(caller, { id, contextId, tenant, owner }, operation)) === true
  } catch (error) {
    log({ level: 'error', message: 'The policy failed: access denied', agent: name, taskId: id, error })
    return false
  }
}

/** The same words whether a task is missing or somebody else's (R-ERR-7). */
export function taskNotFound(taskId: string): A2AError {
  return new A2AError('TASK_NOT_FOUND', `Task not found: ${clip(taskId)}`, { metadata: { taskId: clip(taskId) } })
}
