/**
 * What a webhook is told of a task's events, spelled in the dialect it was registered in (RM-PUSH-1). Dialects that send
 * whole tasks need the task as each event left it: it is folded once, from the beginning of the log, and then goes along
 * with the events as long as the cursor is held.
 */
import { setImmediate } from 'node:timers/promises'
import type { Dialect, PushForm } from '../dialects/dialect.js'
import { TaskFold } from '../model/apply-event.js'
import { isPublic, type StreamResponse, type TaskEvent } from '../model/event.js'
import { wholeHistory } from '../model/history-window.js'
import { isTerminal, type Task } from '../model/task.js'
import type { CompleteStore, StoredPushConfig, TaskKey, ViewedTask } from '../stores/store.js'

export interface PayloadDeps {
  readonly store: CompleteStore
  readonly dialects: ReadonlyMap<string, Dialect>
  /** What webhooks that can be told of every event are told of. */
  readonly events: 'all' | 'statuses'
}

const readAhead = 256

export class WebhookPayload {
  readonly #parts: PayloadDeps
  readonly #key: TaskKey
  readonly #form: PushForm | undefined
  readonly #showsProgress: boolean
  #fold: TaskFold | undefined

  constructor(parts: PayloadDeps, key: TaskKey, { dialect }: StoredPushConfig) {
    this.#parts = parts
    this.#key = key
    this.#form = parts.dialects.get(dialect)?.push
    this.#showsProgress = parts.dialects.get(dialect)?.traits?.showsProgress === true
  }

  /** Absent when the dialect is not known here: a newer program made the config. */
  get contentType(): string | undefined {
    return this.#form?.contentType
  }

  /** The body for an event, or nothing when there is nothing to tell. Events must be shown in order, all of them. */
  async bodyOf(event: TaskEvent): Promise<string | undefined> {
    if (this.#fold?.seq === event.seq - 1) this.#fold.apply(event)
    const { body } = event
    if (!this.#form || !isPublic(body) || !this.#isTold(this.#form, body)) return undefined
    if ('encodeTask' in this.#form) return this.#form.encodeTask(await this.#taskAt(event.seq))
    // The log keeps a new task without its messages: the fold knows them.
    if (!('task' in body)) return this.#form.encodeEvent(body)
    const task = await this.#taskAt(event.seq)
    this.#fold = undefined
    return this.#form.encodeEvent({ task })
  }

  /** The body about a task whose events are not kept any more. */
  bodyOfTask(task: Task): string | undefined {
    if (!this.#form) return undefined
    return 'encodeTask' in this.#form ? this.#form.encodeTask(task) : this.#form.encodeEvent({ task })
  }

  /** Answers that are no task have no webhook (R-PUSH-7). */
  #isTold(form: PushForm, body: StreamResponse): boolean {
    const isStatus = 'statusUpdate' in body || 'task' in body
    return isStatus || ('artifactUpdate' in body && 'encodeEvent' in form && this.#parts.events === 'all')
  }

  async #taskAt(seq: number): Promise<Task> {
    this.#fold ??= new TaskFold()
    const fold = this.#fold
    fold.keepsProgress = this.#showsProgress
    while (fold.seq < seq) {
      const events = await this.#parts.store.read(this.#key, fold.seq, readAhead)
      if (!events?.length) throw new EventsRemoved()
      for (const event of events) if (event.seq <= seq) fold.apply(event)
      await setImmediate()
    }
    const task = fold.snapshot()
    if (!task) throw new Error(`Event ${seq} of task ${this.#key.id} is about no task`)
    return task
  }
}

/** Retention was faster. */
export class EventsRemoved extends Error {}

/** The task, once it has ended: it stands for events that are not kept any more. */
export async function endedTask(store: CompleteStore, key: TaskKey): Promise<ViewedTask | undefined> {
  const viewed = await store.view(key, { history: wholeHistory, includeArtifacts: true })
  return viewed && isTerminal(viewed.task.status.state) ? viewed : undefined
}
