/** An entry of the operator's log. Callers never see it. */
export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  /** Absent if the entry concerns all agents. */
  readonly agent?: string
  /** The dialect a call was recognised as. */
  readonly dialect?: string
  readonly taskId?: string
  readonly error?: unknown
}

/** A function that receives log entries. */
export type Log = (entry: LogEntry) => void
