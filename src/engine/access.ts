/** Decides which callers may use a task. */
import { A2AError, clip } from '../model/errors.js'
import type { Log } from '../model/log.js'
import type { Operation } from '../model/operations.js'
import type { CallContext, Caller } from '../model/service.js'
import type { TaskState } from '../model/task.js'
import type { TaskRecord } from '../stores/store.js'

/** A task, as access policies see it. */
export interface SharedTask {
  readonly id: string
  readonly contextId: string
  readonly tenant: string
  /** The id of the caller that created the task. */
  readonly owner: string
}

/** Operations that a policy can allow to callers that do not own a task. Lists and webhooks belong to the owner. */
export type SharingOperation = Extract<
  Operation,
  'getTask' | 'subscribeToTask' | 'cancelTask' | 'sendMessage' | 'sendStreamingMessage'
>

/** Decides whether a caller may use a task of another caller in the same tenant. */
export type CanAccess = (caller: Caller, task: SharedTask, operation: SharingOperation) => boolean | Promise<boolean>

type CallerScope = Pick<CallContext, 'caller' | 'tenant'>

interface AccessDeps {
  readonly agent: string
  readonly log: Log
  readonly canAccess: CanAccess | undefined
}

export class TaskAccess {
  readonly #deps: AccessDeps

  constructor(deps: AccessDeps) {
    this.#deps = deps
  }

  /** Whether callers may use tasks of others at all. */
  get hasPolicy(): boolean {
    return this.#deps.canAccess !== undefined
  }

  /** Whether a caller may do this to a task: it is the owner, or the policy allows it. */
  allows(task: SharedTask, context: CallerScope, operation: SharingOperation): boolean | Promise<boolean> {
    if (isOwn(task, context)) return true
    const { canAccess } = this.#deps
    // Tasks are never shared across tenants (R-TEN-3).
    if (!canAccess || task.tenant !== (context.tenant ?? '')) return false
    return this.#ask(canAccess, task, context, operation)
  }

  /** A policy that throws denies access, and the caller cannot tell that the task exists. */
  async #ask(
    canAccess: CanAccess,
    { id, contextId, tenant, owner }: SharedTask,
    { caller }: CallerScope,
    operation: SharingOperation,
  ): Promise<boolean> {
    try {
      return (await canAccess(caller, { id, contextId, tenant, owner }, operation)) === true
    } catch (error) {
      const { log, agent } = this.#deps
      log({ level: 'error', message: 'The policy failed: access denied', agent, taskId: id, error })
      return false
    }
  }
}

/** Whether the caller owns the task, in the tenant that the call addresses. */
export function isOwn(task: Pick<SharedTask, 'tenant' | 'owner'>, context: CallerScope): boolean {
  return task.owner === context.caller.id && task.tenant === (context.tenant ?? '')
}

export function sharedTaskOf({ key, contextId, tenant, owner }: TaskRecord): SharedTask {
  return { id: key.id, contextId, tenant, owner }
}

/** The same error for a missing task and for a task of another caller (R-ERR-7). */
export function taskNotFound(taskId: string): A2AError {
  return new A2AError('TASK_NOT_FOUND', `Task not found: ${clip(taskId)}`, { metadata: { taskId: clip(taskId) } })
}

/** The error for a message to an ended task (R-TASK-2). */
export function hasEnded(taskId: string, state: TaskState): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', `Task ${taskId} has ended and takes no more messages`, {
    metadata: { taskId, state },
  })
}
