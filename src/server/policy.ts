/** Who may use what, beyond having proved who it is. */
import type { SharedTask, SharingOperation } from '../engine/access.js'
import type { Caller } from '../model/service.js'

/** Access of callers to tenants and to tasks of other owners. */
export interface Policy {
  /**
   * Whether a caller may use a tenant. To a caller that may not, the tenant does not exist; and the public card
   * then names no tenants. Default: everybody may use every tenant.
   */
  readonly tenants?: (caller: Caller, tenant: string) => boolean
  /**
   * Whether a caller may do something to a task that is not its own, in the tenant it addresses. To a caller
   * that may not, the task does not exist. Lists show one's own tasks only, and webhooks are their owner's.
   * Default: nobody may.
   */
  readonly canAccess?: (caller: Caller, task: SharedTask, operation: SharingOperation) => boolean | Promise<boolean>
}
