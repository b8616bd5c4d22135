/**
 * Request bodies of deliveries, in the dialect that the webhook was registered in (RM-PUSH-1). Dialects that send whole tasks
 * need the task after each event: it is folded from the beginning of the log once, and then with each further event.
 */
import { setImmediate } from 'node:timers/promises'
import type { Dialect, PushForm } from '../dialects/dialect.js'
import { isPublic, type StreamResponse, type TaskEvent } from '../model/event.js'
import { wholeHistory } from '../model/history-window.js'
import { isTerminal, type Task } from '../model/task.js'
import { TaskFold } from '../model/task-fold.js'
import type { CompleteStore, StoredPushConfig, TaskKey, ViewedTask } from '../stores/store.js'

export interface PayloadDeps {
  readonly store: CompleteStore
  readonly dialects: ReadonlyMap<string, Dialect>
  /** The events that webhooks get, where the dialect has a choice. */
  readonly events: 'all' | 'statuses'
}

const readAhead = 256

export class WebhookPayload {
  readonly #deps: PayloadDeps
  readonly #key: TaskKey
  readonly #form: PushForm | undefined
  readonly #showsProgress: boolean
  #fold: TaskFold | undefined

  constructor(deps: PayloadDeps, key: TaskKey, { dialect }: StoredPushConfig) {
    this.#deps = deps
    this.#key = key
    this.#form = deps.dialects.get(dialect)?.push
    this.#showsProgress = deps.dialects.get(dialect)?.traits?.showsProgress === true
  }

  /** Undefined when this version does not know the dialect: a newer version stored the config. */
  get contentType(): string | undefined {
    return this.#form?.contentType
  }

  /** The body for an event; undefined when the webhook does not get it. Must be called for all events, in order. */
  async bodyOf(event: TaskEvent): Promise<string | undefined> {
    if (this.#fold?.seq === event.seq - 1) this.#fold.apply(event)
    const { body } = event
    if (!this.#form || !isPublic(body) || !this.#isSent(this.#form, body)) return undefined
    if ('encodeTask' in this.#form) return this.#form.encodeTask(await this.#taskAt(event.seq))
    // The log contains a new task without its messages; the fold has them.
    if (!('task' in body)) return this.#form.encodeEvent(body)
    const task = await this.#taskAt(event.seq)
    this.#fold = undefined
    return this.#form.encodeEvent({ task })
  }

  /** The body for a task whose events were removed. */
  bodyOfTask(task: Task): string | undefined {
    if (!this.#form) return undefined
    return 'encodeTask' in this.#form ? this.#form.encodeTask(task) : this.#form.encodeEvent({ task })
  }

  /** Messages without a task have no webhook (R-PUSH-7). */
  #isSent(form: PushForm, body: StreamResponse): boolean {
    const isStatus = 'statusUpdate' in body || 'task' in body
    return isStatus || ('artifactUpdate' in body && 'encodeEvent' in form && this.#deps.events === 'all')
  }

  async #taskAt(seq: number): Promise<Task> {
    this.#fold ??= new TaskFold()
    const fold = this.#fold
    fold.keepsProgress = this.#showsProgress
    while (fold.seq < seq) {
      const events = await this.#deps.store.read(this.#key, fold.seq, readAhead)
      if (!events?.length) throw new EventsRemoved()
      for (const event of events) if (event.seq <= seq) fold.apply(event)
      await setImmediate()
    }
    const task = fold.snapshot()
    if (!task) throw new Error(`Event ${seq} of task ${this.#key.id} has no task`)
    return task
  }
}

/** Retention has removed the events. */
export class EventsRemoved extends Error {}

/** The task if it has ended. It replaces events that retention has removed. */
export async function endedTask(store: CompleteStore, key: TaskKey): Promise<ViewedTask | undefined> {
  const viewed = await store.view(key, { history: wholeHistory, includeArtifacts: true })
  return viewed && isTerminal(viewed.task.status.state) ? viewed : undefined
}
