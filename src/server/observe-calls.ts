/**
 * Reports an agent's calls to its observers: the log, the metrics and the operator's audit. Call records are created
 * only if there is an observer, because each costs a noticeable share of a call.
 */
import type { Log } from '../model/log.js'
import type { CallObserver, CallRecord } from '../transports/call-record.js'

/** One entry of the audit. */
export interface AuditEntry extends CallRecord {
  /** Name of the agent; empty if no agent has the requested path. */
  readonly agent: string
}

/** Receives every call when it has ended, rejected calls included. Its exceptions are logged and do not affect calls. */
export type Audit = (entry: AuditEntry) => void

interface Observers {
  readonly log?: Log | undefined
  readonly logCalls?: boolean | undefined
  readonly audit?: Audit | undefined
  readonly metrics?: OnEnded | undefined
  readonly span?: CallObserver['span'] | undefined
}

type OnEnded = CallObserver['ended']

/** Returns undefined if there is no observer. */
export function observeCalls(
  agent: string,
  { log, logCalls, audit, metrics, span }: Observers,
): CallObserver | undefined {
  const observers: OnEnded[] = []
  if (metrics) observers.push(metrics)
  if (log && logCalls) observers.push((record) => logCall(log, agent, record))
  if (audit) observers.push(guarded(audit, agent, log))
  if (observers.length === 0 && !span) return undefined
  return {
    ended(record) {
      for (const onEnded of observers) onEnded(record)
    },
    span,
  }
}

/** Logs calls whose operation was recognised, so that operators can count the use of each dialect (RL-ALL-4). */
function logCall(
  log: Log,
  agent: string,
  { operation, endpoint, binding = endpoint, dialect }: Omit<CallRecord, 'binding'> & { readonly binding?: string },
): void {
  if (operation && binding && dialect) log({ level: 'debug', message: `${operation} over ${binding}`, agent, dialect })
}

function guarded(audit: Audit, agent: string, log: Log | undefined): OnEnded {
  const failed = (error: unknown) => log?.({ level: 'error', message: 'The audit failed', agent, error })
  return (record) => {
    try {
      const promised: unknown = audit({ agent, ...record })
      // Not awaited; but an unhandled rejection would end the process.
      if (promised instanceof Promise) promised.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}
