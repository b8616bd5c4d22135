/**
 * Reads the stream of a send or a subscription as the events of one turn: text, data, files, progress, steps, a question,
 * the end. Integrations with other protocols only encode these events.
 */
import type { JsonValue, Part, RawPart, Struct, UrlPart } from '../model/part.js'
import type { StreamItem } from '../model/service.js'
import type { TaskState } from '../model/task.js'

/** An event of a turn. `seq` is the position in the task's log of the element it was made from, if the agent sent one. */
export type TurnEvent = TurnEventBody & { readonly seq?: number }

type TurnEventBody =
  /** The first event. Without a task (the agent answered with a message) it has no `taskId`. */
  | { readonly kind: 'begin'; readonly taskId?: string; readonly contextId?: string; readonly turn: number }
  /** A piece of text of an artifact, or of the final message. `id` is that of the artifact. */
  | { readonly kind: 'text'; readonly id: string; readonly name?: string; readonly text: string }
  | { readonly kind: 'textEnd'; readonly id: string }
  /** A data part. A later one with the same `id` and `index` replaces it. */
  | {
      readonly kind: 'data'
      readonly id: string
      readonly name?: string
      readonly index: number
      readonly value: JsonValue
      readonly mediaType?: string
    }
  | { readonly kind: 'file'; readonly id: string; readonly name?: string; readonly part: RawPart | UrlPart }
  | { readonly kind: 'progress'; readonly text: string; readonly parts: readonly Part[] }
  /** The agent waits for an answer; the last event. */
  | {
      readonly kind: 'question'
      readonly text: string
      readonly parts: readonly Part[]
      /** The JSON Schema of the answer, if the question has a form. */
      readonly schema?: Struct
    }
  /** The agent waits for a credential; the last event. */
  | { readonly kind: 'auth'; readonly text: string; readonly parts: readonly Part[] }
  /** The turn has ended; the last event. `text` is that of the final message, which was not sent as `text` events. */
  | { readonly kind: 'end'; readonly state: TaskState; readonly text: string }
  /** Discard all earlier events of the turn: text was replaced, or the stream could not be resumed. */
  | { readonly kind: 'reset' }

/** Reads one turn. Ends after `question`, `auth` or `end`, also if the stream stays open. */
export function readTurn(_stream: AsyncIterable<StreamItem>): AsyncIterable<TurnEvent> {
  throw new TypeError('not built yet')
}
