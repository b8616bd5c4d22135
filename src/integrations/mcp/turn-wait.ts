/** Waits for the end of a turn, as long as the client of a tool does. */
import { readTurn, type TurnEvent } from '../../client/read-turn.js'
import { isLast } from '../../client/turn-event.js'
import type { CallContext, StreamItem } from '../../model/service.js'
import { isInterrupted, isTerminal, sentMessages, type Task } from '../../model/task.js'
import { TurnOutput } from './tool-result.js'
import type { ToolAgent } from './tools.js'
import type { Question } from './waiting-task.js'

/** A turn to read: `open` starts its stream. */
export interface Reading {
  readonly agent: ToolAgent
  readonly open: (context: CallContext) => AsyncIterable<StreamItem>
  /** The task, if it is known before the first event. */
  readonly task?: Task
  readonly turn?: number
  readonly after?: number
}

/** Reads the newest turn of a task: from the task itself if the turn has ended. */
export function following(agent: ToolAgent, task: Task): Reading {
  const { state } = task.status
  if (isTerminal(state) || isInterrupted(state)) return { agent, open: () => one(task) }
  const turn = sentMessages(task).length
  return { ...subscription(agent, task), ...(turn > 0 && { turn }) }
}

export function subscription(agent: ToolAgent, task: Task): Reading {
  const { id } = task
  const open = (context: CallContext) =>
    agent.service.subscribeToTask({ id }, { ...context, resumeAfter: 0, showsEndedTasks: true })
  return { agent, open, task }
}

export async function* one(task: Task): AsyncGenerator<StreamItem, void, void> {
  yield { event: { task } }
}

/** The event that ended the turn; `running` if it has not ended in time, `cancelled` if the client does not wait. */
export type WaitEnd = Extract<TurnEvent, { kind: 'end' }> | Question | { readonly kind: 'running' | 'cancelled' }

interface WaitHooks {
  /** Aborts when the client cancels or leaves. */
  readonly signal: AbortSignal
  /** Whether the client cancelled: if not, the task goes on without it. */
  readonly isCancelled: () => boolean
  readonly onProgress: (message: string) => void
}

/** The reading of one turn. */
export class TurnWait {
  readonly output = new TurnOutput()
  /** The task, as far as it is known. */
  task: { readonly id?: string | undefined; readonly contextId?: string | undefined; readonly turn: number } = {
    turn: 1,
  }
  readonly #reading: Reading
  readonly #asCaller: Pick<CallContext, 'caller'>
  readonly #waitMs: number
  readonly #stopped = new AbortController()
  #stop: 'running' | 'cancelled' | undefined
  #mustCancel = false
  #cancelling: Promise<unknown> | undefined

  constructor(reading: Reading, asCaller: Pick<CallContext, 'caller'>, waitMs: number) {
    this.#reading = reading
    if (reading.task) this.task = { id: reading.task.id, contextId: reading.task.contextId, turn: reading.turn ?? 1 }
    this.#asCaller = asCaller
    this.#waitMs = waitMs
  }

  async follow(hooks: WaitHooks): Promise<WaitEnd> {
    const { signal, isCancelled } = hooks
    const onAbort = () => {
      this.#stop = 'cancelled'
      this.#mustCancel = isCancelled()
      // A task that is not known yet is cancelled with its first event.
      if (this.#mustCancel) this.#cancel()
      else this.#stopped.abort()
    }
    const timer = setTimeout(
      () => {
        this.#stop ??= 'running'
        this.#stopped.abort()
      },
      Math.min(this.#waitMs, 2 ** 31 - 1),
    ) // longer timers fire at once
    // The signal fires after the exchange too, when the task may wait for an answer: the listener must not stay.
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    try {
      return await this.#read(hooks)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      await this.#cancelling
    }
  }

  async #read({ onProgress }: WaitHooks): Promise<WaitEnd> {
    const { open, agent: _agent, task: _task, ...options } = this.#reading
    const context = { ...this.#asCaller, mustBeTask: true, signal: this.#stopped.signal }
    try {
      for await (const event of readTurn(open(context), options)) {
        if (event.kind === 'begin') {
          const { taskId: id, contextId, turn } = event
          this.task = { id, contextId, turn }
          if (this.#mustCancel) this.#cancel()
        } else if (event.kind === 'progress') onProgress(event.text)
        this.output.add(event)
        if (isLast(event)) return event
      }
    } catch (error) {
      if (!this.#stop) throw error
    }
    return { kind: this.#stop ?? 'running' }
  }

  #cancel(): void {
    const { id } = this.task
    if (id === undefined || this.#cancelling) return
    this.#cancelling = this.#reading.agent.service.cancelTask({ id }, this.#asCaller).catch(() => undefined)
    this.#stopped.abort()
  }
}
