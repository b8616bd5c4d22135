/**
 * Whoever wants to know of an agent's calls: the log, the metrics, the operator's audit. One place tells them all.
 * To be told of a call costs as much as a small part of answering it, so that nobody is told who did not ask.
 */
import type { Log } from '../model/log.js'
import type { CallObserver, CallRecord } from '../transports/call-record.js'

/** One line of the audit. */
export interface AuditEntry extends CallRecord {
  /** Empty where a path was asked for that no agent has. */
  readonly agent: string
}

/** Told of every call when it has ended, of refused ones too. Whatever it throws is logged and harms nobody. */
export type Audit = (entry: AuditEntry) => void

interface Interested {
  readonly log?: Log | undefined
  readonly logCalls?: boolean | undefined
  readonly audit?: Audit | undefined
  readonly metrics?: Tell | undefined
  readonly span?: CallObserver['span'] | undefined
}

type Tell = CallObserver['ended']

/** Absent when nobody wants to know: then nothing is kept. */
export function observeCalls(
  agent: string,
  { log, logCalls, audit, metrics, span }: Interested,
): CallObserver | undefined {
  const interested: Tell[] = []
  if (metrics) interested.push(metrics)
  if (log && logCalls) interested.push((record) => logCall(log, agent, record))
  if (audit) interested.push(guarded(audit, agent, log))
  if (interested.length === 0 && !span) return undefined
  return {
    ended(record) {
      for (const tell of interested) tell(record)
    },
    span,
  }
}

/** Calls that were understood, for whoever keeps count of who still speaks what (RL-ALL-4). */
function logCall(log: Log, agent: string, { operation, binding, dialect }: CallRecord): void {
  if (operation && binding && dialect) log({ level: 'debug', message: `${operation} over ${binding}`, agent, dialect })
}

function guarded(audit: Audit, agent: string, log: Log | undefined): Tell {
  const failed = (error: unknown) => log?.({ level: 'error', message: 'The audit failed', agent, error })
  return (record) => {
    try {
      const promised: unknown = audit({ agent, ...record })
      // Nothing waits for it; but a rejection that nobody takes would end the process.
      if (promised instanceof Promise) promised.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}
