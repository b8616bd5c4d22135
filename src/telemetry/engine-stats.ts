/** How one agent is doing in this process, as its engine counts it when it is asked. */
export interface EngineStats {
  /** Tasks that run here now. */
  readonly runningTasks: number
  /** Messages to tasks that run here, waiting for their turn. */
  readonly waitingMessages: number
  /** Streams that are read here now. */
  readonly openStreams: number
  /** How many events the slowest reader of a stream has not been given yet. */
  readonly streamLag: number
  /** Calls of the store that failed, since the start. */
  readonly storeFailures: number
  /** Tasks that retention removed or trimmed from here, since the start. */
  readonly expiredTasks: number
  /** Runs that were stopped because another process had taken their task over, since the start. */
  readonly fencedRuns: number
  /** Times that the event loop was blocked for too long while a handler of this agent ran, since the start. */
  readonly stalls: number
  /** Milliseconds that it was blocked, in total. */
  readonly stalledMs: number
  /** How long a lease is. */
  readonly leaseMs: number
}
