/** Counters and gauges of one engine. Counters begin at its start. */
export interface EngineStats {
  /** Tasks that run in this process. */
  readonly runningTasks: number
  /** Messages that wait for their turn in tasks of this process. */
  readonly waitingMessages: number
  /** Open streams. */
  readonly openStreams: number
  /** Events that the slowest reader of a stream has not received yet. */
  readonly streamLag: number
  /** Failed calls of the store. */
  readonly storeFailures: number
  /** Tasks that retention of this process removed, or whose events it removed. */
  readonly expiredTasks: number
  /** Runs that stopped because another process had taken over the task. */
  readonly fencedRuns: number
  /** Stalls of the event loop during steps of this agent's handlers. */
  readonly stalls: number
  /** The total duration of these stalls in milliseconds. */
  readonly stalledMs: number
  /** The duration of a lease in milliseconds. */
  readonly leaseMs: number
}
