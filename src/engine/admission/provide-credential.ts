/**
 * A credential that a task waits for has arrived, by whatever way it came: the task goes on (R-ITA-3).
 *
 * The turn that asked runs again, from its beginning and with the credential. It alone sees it: not a later
 * message, not another task, not another agent (R-ITA-8, R-ITA-9). The credential is kept in memory and nowhere
 * else. So when the process dies during that turn, the credential dies with it: the turn is treated like any
 * interrupted one (E-9), and if it may run again it runs without, and asks again.
 */
import { A2AError } from '../../model/errors.js'
import type { NamesOf } from '../../model/option-names.js'
import { taskNotFound } from '../access.js'
import { Run } from '../execution/run.js'
import { foldOf } from '../following/task-reader.js'
import type { Internals } from '../internals.js'
import { commitFirst } from './admit.js'

/** Whatever the agent can use: a token, or a set of them. */
export type Credential = string | { readonly [name: string]: unknown }

export interface ProvidedCredential {
  readonly taskId: string
  readonly credential: Credential
  /**
   * Who granted it, as far as that is known here. The task must be this caller's: a link to a login page can be
   * sent to somebody else, who would then pay for a stranger's task.
   */
  readonly caller?: string
}

export const credentialNames = { taskId: true, credential: true, caller: true } satisfies NamesOf<ProvidedCredential>

/** Attempts while others write to the task. */
const mostAttempts = 20

/** Resolves when the turn has begun. */
export async function provideCredential(internals: Internals, provided: ProvidedCredential): Promise<void> {
  for (let attempt = 0; attempt < mostAttempts; attempt++) if (await tryBegin(internals, provided)) return
  throw busy(provided.taskId)
}

/** False when somebody else wrote to the task meanwhile. */
async function tryBegin(internals: Internals, { taskId, credential, caller }: ProvidedCredential): Promise<boolean> {
  if (internals.isDraining) throw busy(taskId)
  // The turn that asked may be about to end: its question is told before it is over.
  const asking = internals.runs.get(taskId)
  if (asking?.writer.fold.state === 'TASK_STATE_AUTH_REQUIRED') await asking.done
  const loaded = await internals.store.load(internals.key(taskId))
  if (loaded?.record.visibility !== 'task') throw taskNotFound(taskId)
  const { key, contextId, tenant, owner, dialect, leaseOwner, bytes } = loaded.record
  if (caller !== undefined && caller !== owner) throw taskNotFound(taskId)
  const fold = foldOf(loaded)
  const { current, state = '' } = fold
  if (state !== 'TASK_STATE_AUTH_REQUIRED' || !current) {
    throw new A2AError('UNSUPPORTED_OPERATION', `Task ${taskId} waits for no credential`, {
      metadata: { taskId, state },
    })
  }
  // Messages come first: their turns see that there is no credential, and may well ask again.
  if (leaseOwner !== undefined || fold.waiting.length > 0) throw busy(taskId)
  if (internals.runs.has(taskId)) return false
  const run = new Run(internals, { key, contextId, tenant, owner, dialect, fold, bytes, isNew: false, credential })
  run.holdAgain(current)
  if ((await commitFirst(run)) !== 'ok') return false
  run.begin(current)
  return true
}

function busy(taskId: string): A2AError {
  return new A2AError('UNAVAILABLE', `Task ${taskId} is being worked on, try again`, { retryAfterSeconds: 1 })
}
