/**
 * How senders and subscribers read a task's log. A sender's call or stream ends only at a state
 * reached in or after its own turn (E-1); a subscription ends when the task does.
 */
import { A2AError } from '../model/errors.js'
import type { TaskEvent } from '../model/event.js'
import type { Message } from '../model/message.js'
import type { CallTraits } from '../model/service.js'
import { isInterrupted, isTerminal, type TaskState } from '../model/task.js'

export type WatchKind = 'unary' | 'stream' | 'subscription'

export class TurnWatch {
  /** The first messages, as the snapshot of a new task shows them. */
  readonly messages: Message[] = []
  readonly #kind: WatchKind
  /** Set for dialects whose streams end at every new interruption. A subscription may wait on one that is open already. */
  readonly #endsAtQuestions: boolean
  #mine: number | undefined
  #current: number

  /** `turn` is learnt from the first accepted message unless it is given. */
  constructor(kind: WatchKind, { endsAtQuestions = false }: CallTraits = {}, turn?: number, current = 0) {
    this.#kind = kind
    this.#endsAtQuestions = endsAtQuestions
    this.#mine = turn
    this.#current = current
  }

  /** Looks at one event; true when it is the last one for this watcher. Throws what the agent refused with. */
  see({ body }: TaskEvent): boolean {
    if ('accepted' in body) {
      this.#mine ??= body.accepted.turn
      this.messages.push(body.accepted.message)
    } else if ('started' in body) this.#current = body.started.turn
    else if ('message' in body) return true
    else if ('refused' in body) throw new A2AError(body.refused.code, body.refused.message, body.refused.details)
    else if ('statusUpdate' in body) {
      const { state } = body.statusUpdate.status
      const isNewQuestion = this.#kind === 'subscription' && this.#endsAtQuestions && isInterrupted(state)
      return isNewQuestion || this.endsAt(state)
    }
    return false
  }

  endsAt(state: TaskState): boolean {
    if (isTerminal(state)) return true
    if (this.#kind === 'subscription' || !isInterrupted(state)) return false
    if (this.#mine === undefined || this.#current < this.#mine) return false
    // Streams stay open while the caller fetches a credential (R-STRM-7), unless the dialect marks the end of a stream.
    return this.#kind === 'unary' || this.#endsAtQuestions || state === 'TASK_STATE_INPUT_REQUIRED'
  }
}
