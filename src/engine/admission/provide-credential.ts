/**
 * Continues a task in AUTH_REQUIRED when its credential arrives (R-ITA-3).
 *
 * The turn that asked runs again from its beginning, with the credential. Only that turn sees it: no later message, no other
 * task and no other agent (R-ITA-8, R-ITA-9). The credential is kept in memory only. If the process dies during the turn, the
 * turn is handled like any interrupted turn (E-9); when it runs again, it has no credential and asks again.
 */
import { A2AError } from '../../model/errors.js'
import type { NamesOf } from '../../model/option-names.js'
import type { Store } from '../../stores/store.js'
import { taskNotFound } from '../access.js'
import type { Credential } from '../agent.js'
import type { Execution } from '../execution/execution.js'
import type { Run } from '../execution/run.js'
import type { RunningTasks } from '../execution/usage.js'
import { foldOf } from '../following/task-reader.js'

/** A credential for a task that asked for one with `askAuth`. */
export interface ProvidedCredential {
  readonly taskId: string
  readonly credential: Credential
  /**
   * The caller that granted the credential, if known. It must own the task: a link to a login page can be forwarded to
   * another person, who would then authorise a task of another caller.
   */
  readonly caller?: string
}

export const credentialNames = { taskId: true, credential: true, caller: true } satisfies NamesOf<ProvidedCredential>

interface CredentialDeps {
  readonly agent: string
  readonly store: Pick<Store, 'load'>
  readonly running: RunningTasks<Run>
  readonly execution: Pick<Execution, 'open' | 'isDraining'>
}

/** Attempts while other processes write to the task. */
const maxAttempts = 20

/** Resolves when the turn has begun. */
export async function provideCredential(deps: CredentialDeps, provided: ProvidedCredential): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) if (await tryBegin(deps, provided)) return
  throw busy(provided.taskId)
}

/** Returns false when another process wrote to the task meanwhile. */
async function tryBegin(deps: CredentialDeps, { taskId, credential, caller }: ProvidedCredential): Promise<boolean> {
  const { agent, store, running, execution } = deps
  if (execution.isDraining) throw busy(taskId)
  // The caller learns of the question before the turn that asked it is over.
  const asking = running.get(taskId)
  if (asking?.writer.fold.state === 'TASK_STATE_AUTH_REQUIRED') await asking.done
  const loaded = await store.load({ agent, id: taskId })
  if (loaded?.record.visibility !== 'task') throw taskNotFound(taskId)
  const { key, contextId, tenant, owner, dialect, leaseOwner, bytes } = loaded.record
  if (caller !== undefined && caller !== owner) throw taskNotFound(taskId)
  const fold = foldOf(loaded)
  const { current, state = '' } = fold
  if (state !== 'TASK_STATE_AUTH_REQUIRED' || !current) {
    const metadata = { taskId, state }
    throw new A2AError('UNSUPPORTED_OPERATION', `Task ${taskId} waits for no credential`, { metadata })
  }
  // Waiting messages run first, without the credential; their turns may ask again.
  if (leaseOwner !== undefined || fold.waiting.length > 0) throw busy(taskId)
  if (running.has(taskId)) return false
  const run = execution.open({ key, contextId, tenant, owner, dialect, fold, bytes, isNew: false, credential })
  run.holdAgain(current)
  if ((await run.commitFirst()) !== 'ok') return false
  run.begin(current)
  return true
}

function busy(taskId: string): A2AError {
  return new A2AError('UNAVAILABLE', `Task ${taskId} is being worked on, try again`, { retryAfterSeconds: 1 })
}
