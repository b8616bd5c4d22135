/** What the parts of one engine share. */

import type { AgentCard } from '../model/agent-card.js'
import type { Clock } from '../model/clock.js'
import { A2AError } from '../model/errors.js'
import type { Log } from '../model/log.js'
import type { AgentService, CallContext } from '../model/service.js'
import type { CompleteStore, Scope, TaskKey } from '../stores/store.js'
import { applicationTracing } from '../telemetry/tracing.js'
import type { CanAccess } from './access.js'
import type { CheckWebhook, PushSecrets } from './admission/push-configs.js'
import type { Agent, AgentRef } from './agent.js'
import type { Run } from './execution/run.js'
import { CallerBytes } from './execution/usage.js'
import { Topic } from './following/topic.js'
import { guardedStore } from './guarded-store.js'
import { type EngineLimits, Tally } from './limits.js'
import type { SchemaCheck } from './message-checks.js'

export interface EngineSettings {
  readonly leaseMs: number
  readonly cancelGraceMs: number
  /**
   * Milliseconds that the event loop may be blocked before that is logged and counted; 0 turns the check off. All servers
   * of a process share its event loop: the smallest value above 0 holds for all of them.
   */
  readonly stallMs: number
  readonly idempotencyMs: number
  readonly limits: EngineLimits
  readonly dedupeByMessageId: boolean
  /** Whether cancelling a cancelled task answers with the task or with an error (R-CANCEL-4). */
  readonly cancelTwice: 'task' | 'error'
  /** Who is shown the secrets of a webhook again (R-PUSH-9). */
  readonly pushSecrets: PushSecrets
}

export class Internals {
  readonly agent: Agent
  readonly name: string
  readonly store: CompleteStore
  readonly clock: Clock
  readonly log: Log
  readonly settings: EngineSettings
  readonly schemas: SchemaCheck | undefined
  /** Who this process is, in leases. */
  readonly owner: string
  /** Finds the agents that `turn.call` names. */
  readonly resolve: ((ref: AgentRef) => AgentService | undefined) | undefined
  readonly extendedCard: ((context: CallContext) => Promise<AgentCard>) | undefined
  readonly checkWebhook: CheckWebhook | undefined
  /** Lets callers at tasks that are not their own. */
  readonly canAccess: CanAccess | undefined
  /** Runs of this process, by task id. */
  readonly runs = new Map<string, Run>()
  /** Whose they are. */
  readonly running = new Tally()
  /** The size of their tasks together. */
  runBytes = 0
  /** Bytes stored by each caller. */
  readonly callerBytes: CallerBytes
  /** Who reads streams. */
  readonly streaming = new Tally()
  /** Absent when nobody traces. */
  readonly tracing = applicationTracing()
  isDraining = false
  /** Since the start; see `EngineStats`. */
  readonly counts = { storeFailures: 0, expiredTasks: 0, fencedRuns: 0, stalls: 0, stalledMs: 0 }

  readonly #topics = new Map<string, Topic>()
  #endOfTick: (() => void)[] = []
  #lastTime = 0
  #lastTimestamp = ''

  constructor(
    parts: Pick<
      Internals,
      | 'agent'
      | 'store'
      | 'clock'
      | 'log'
      | 'settings'
      | 'schemas'
      | 'owner'
      | 'resolve'
      | 'extendedCard'
      | 'checkWebhook'
      | 'canAccess'
    >,
  ) {
    this.agent = parts.agent
    this.name = parts.agent.card.name
    this.store = guardedStore(parts.store, (error) => {
      this.counts.storeFailures += 1
      parts.log({ level: 'error', message: 'The store failed', agent: parts.agent.card.name, error })
    })
    this.clock = parts.clock
    this.log = parts.log
    this.settings = parts.settings
    this.callerBytes = new CallerBytes(this.store, this.name, parts.settings.limits.bytesPerCaller)
    this.schemas = parts.schemas
    this.owner = parts.owner
    this.resolve = parts.resolve
    this.extendedCard = parts.extendedCard
    this.checkWebhook = parts.checkWebhook
    this.canAccess = parts.canAccess
  }

  key(id: string): TaskKey {
    return { agent: this.name, id }
  }

  scope(context: CallContext): Scope {
    return { agent: this.name, tenant: context.tenant ?? '', owner: context.caller.id }
  }

  /** The topic of a task, made on demand and dropped when nobody needs it. */
  topic(id: string): Topic {
    let topic = this.#topics.get(id)
    if (!topic) {
      const made = new Topic(this.key(id), this.store, () => {
        if (this.#topics.get(id) === made) this.#topics.delete(id)
      })
      topic = made
      this.#topics.set(id, topic)
      const run = this.runs.get(id)
      if (run) topic.feed(run.writer.fold.seq)
    }
    return topic
  }

  /** The topic, if anybody follows the task: a run nobody watches needs none. */
  existingTopic(id: string): Topic | undefined {
    return this.#topics.get(id)
  }

  get topics(): Iterable<Topic> {
    return this.#topics.values()
  }

  /** Runs at the end of this turn of the event loop; one timer for everything that waits for it. */
  atEndOfTick(work: () => void): void {
    this.#endOfTick.push(work)
    if (this.#endOfTick.length > 1) return
    setImmediate(() => {
      const due = this.#endOfTick
      this.#endOfTick = []
      for (const each of due) each()
    })
  }

  /** Now, as v1.0 spells it. Several events of one millisecond share the string. */
  timestamp(): string {
    const now = this.clock.now()
    // Never backwards, even when the machine's clock is set back (R-TASK-6).
    if (now > this.#lastTime) {
      this.#lastTime = now
      this.#lastTimestamp = new Date(now).toISOString()
    }
    return this.#lastTimestamp
  }

  /** Any failure as an error for the caller. Unknown ones are logged: nobody else will see them. */
  failure(error: unknown, taskId?: string): A2AError {
    if (!(error instanceof A2AError)) {
      this.log({ level: 'error', message: 'The engine failed', agent: this.name, ...(taskId && { taskId }), error })
    }
    return A2AError.from(error)
  }
}
