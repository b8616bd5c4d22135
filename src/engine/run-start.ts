/** What a run begins with. */
import type { AcceptedMessage, TaskFold } from '../model/apply-event.js'
import type { TurnRequest } from '../model/event.js'
import type { Message } from '../model/message.js'
import type { TaskKey } from '../stores/store.js'
import type { WithMessage } from './commit.js'
import type { Credential } from './provide-credential.js'

export interface RunStart {
  readonly key: TaskKey
  readonly contextId: string
  readonly tenant: string
  readonly owner: string
  readonly dialect: string
  readonly fold: TaskFold
  /** The size of the task in the store; absent for a new one. */
  readonly bytes?: number
  readonly isNew: boolean
  readonly fencingToken?: number
  readonly withMessage?: WithMessage
  /** For the first turn of this run, and no other. */
  readonly credential?: Credential
}

/** The event that puts a message into the queue. */
export function accepted(
  turn: number,
  message: Message,
  request: TurnRequest | undefined,
): { readonly accepted: AcceptedMessage } {
  return { accepted: request ? { turn, message, request } : { turn, message } }
}
