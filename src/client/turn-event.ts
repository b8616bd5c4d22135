/** The events of a turn, as `readTurn` yields them. */
import type { Approval } from '../model/approvals.js'
import type { JsonValue, Part, RawPart, Struct, UrlPart } from '../model/part.js'
import type { AgentStep } from '../model/steps.js'
import type { TaskState } from '../model/task.js'
import type { Usage } from '../model/usage.js'

/** An event of a turn. `seq` is the position in the task's log of the element it was made from, if the agent sent one. */
export type TurnEvent = TurnEventBody & { readonly seq?: number }

/** An event without its position in the log. */
export type TurnEventBody =
  /**
   * The first event. Without a task (the agent answered with a message) it has no `taskId`. Turns count from 1.
   * Comes again if the agent names another task later, as some do.
   */
  | { readonly kind: 'begin'; readonly taskId?: string; readonly contextId?: string; readonly turn: number }
  /** A piece of text of an artifact, or of the message that answers or completes. `id` is that of the artifact or message. */
  | { readonly kind: 'text'; readonly id: string; readonly name?: string; readonly text: string }
  /** The text is complete. Comes once for each text, before the last event of the turn at the latest. */
  | { readonly kind: 'textEnd'; readonly id: string }
  /** A data part; `index` counts the data parts of its artifact. A later one with the same `id` and `index` replaces it. */
  | {
      readonly kind: 'data'
      readonly id: string
      readonly name?: string
      readonly index: number
      readonly value: JsonValue
      readonly mediaType?: string
    }
  | { readonly kind: 'file'; readonly id: string; readonly name?: string; readonly part: RawPart | UrlPart }
  /** A progress message, without its steps. */
  | { readonly kind: 'progress'; readonly text: string; readonly parts: readonly Part[] }
  /** A tool call, its result, or reasoning. Only if the extension `steps` was asked for. */
  | { readonly kind: 'step'; readonly step: AgentStep }
  /** The tokens and the cost of the task so far. Only if the extension `usage` was asked for. */
  | { readonly kind: 'usage'; readonly usage: Usage }
  /** The agent waits for an answer; the last event. */
  | {
      readonly kind: 'question'
      /** The id of the message that asks. */
      readonly messageId?: string
      readonly text: string
      /** The parts of the question, without its form. */
      readonly parts: readonly Part[]
      /** The JSON Schema of the answer, if the question has a form. */
      readonly schema?: Struct
      /** The tool calls to decide about, if the extension `approvals` was asked for. Answered by `answerApproval`. */
      readonly approval?: Approval
    }
  /** The agent waits for a credential; the last event. `messageId` is that of the message that asks. */
  | { readonly kind: 'auth'; readonly messageId?: string; readonly text: string; readonly parts: readonly Part[] }
  /**
   * The turn has ended; the last event. `text` is that of the final message of a task that failed or was rejected or
   * cancelled. The message of a completed task was sent as `text`, `data` and `file` events.
   */
  | { readonly kind: 'end'; readonly state: TaskState; readonly text: string }
  /**
   * Discard all earlier events of the turn except `begin`: the agent replaced text, or the stream could not be resumed. The
   * whole content of the turn follows.
   */
  | { readonly kind: 'reset' }

/** Whether the event is the last one of its turn. */
export function isLast(event: TurnEvent): event is Extract<TurnEvent, { kind: 'question' | 'auth' | 'end' }> {
  return event.kind === 'question' || event.kind === 'auth' || event.kind === 'end'
}
