/** Encodes the events of a turn as the events of a run of AG-UI. */
import type { TurnEvent } from '../../client/read-turn.js'
import type { JsonValue, RawPart, Struct, UrlPart } from '../../model/part.js'
import type { AgentStep } from '../../model/steps.js'
import type { Usage } from '../../model/usage.js'
import { interruptsOf } from './interrupts.js'

/** An event of AG-UI. */
export type RunEvent = Struct & { readonly type: string }

/** A run, as its client knows it. */
export interface RunFacts {
  readonly threadId: string
  readonly runId: string
  /** Absent before AG-UI 1.0. */
  readonly protocolVersion?: string
  /** The messages before the answer. The client returns to them when an agent starts its answer again. */
  readonly messages: readonly JsonValue[]
  /** The state of the client before the run. */
  readonly state?: JsonValue | undefined
  /** Whether to send `messages` first, to a client that does not have them. */
  readonly showsMessages?: boolean
}

/** The version of AG-UI, for clients that name theirs. */
const protocolVersion = '1.0'
const patchMediaType = 'application/json-patch+json'

/** Encodes the events of one run, in the order of `readTurn`. It remembers open messages: each run has its own encoder. */
export class RunEncoder {
  readonly #run: RunFacts
  #task: { readonly taskId?: string; readonly turn: number } | undefined
  readonly #openTexts = new Set<string>()
  #openReasoning: string | undefined
  #reasonings = 0
  /** Tool calls and results that were sent: an agent that runs again after a crash repeats them. */
  readonly #sentSteps = new Set<string>()
  #hasState = false
  #usage: Usage | undefined

  constructor(run: RunFacts) {
    this.#run = run
  }

  encode(event: TurnEvent): readonly RunEvent[] {
    if (event.kind === 'step') return this.#encodeStep(event.step)
    return [...this.#endReasoning(), ...this.#encode(event)]
  }

  #encode(event: Exclude<TurnEvent, { kind: 'step' }>): readonly RunEvent[] {
    switch (event.kind) {
      case 'begin':
        return this.#begin(event)
      case 'text':
        return this.#encodeText(this.#messageId(event.id), event.text)
      case 'textEnd':
        return this.#endText(this.#messageId(event.id))
      case 'data':
        return [this.#encodeData(event)]
      case 'file':
        return [{ type: 'CUSTOM', name: 'file', value: mediaPart(event.part, event.name) }]
      case 'progress':
        return [this.#encodeProgress(event.text)]
      case 'usage':
        this.#usage = event.usage
        return []
      case 'reset':
        return this.#reset()
      case 'question':
      case 'auth': {
        const interrupts = interruptsOf(event, { taskId: this.#task?.taskId, turn: this.#task?.turn ?? 1 })
        return [this.#finished({ type: 'interrupt', interrupts })]
      }
      case 'end':
        return [this.#encodeEnd(event)]
    }
  }

  #begin({ taskId, turn }: Extract<TurnEvent, { kind: 'begin' }>): readonly RunEvent[] {
    const hasBegun = this.#task !== undefined
    this.#task = taskId === undefined ? { turn } : { taskId, turn }
    if (hasBegun) return []
    const { threadId, runId, showsMessages, messages } = this.#run
    const started = { type: 'RUN_STARTED', threadId, runId, ...(this.#run.protocolVersion && { protocolVersion }) }
    return showsMessages ? [started, { type: 'MESSAGES_SNAPSHOT', messages }] : [started]
  }

  #messageId(id: string): string {
    return messageIdOf(this.#task?.taskId, id)
  }

  #encodeText(messageId: string, delta: string): readonly RunEvent[] {
    const content = { type: 'TEXT_MESSAGE_CONTENT', messageId, delta }
    if (this.#openTexts.has(messageId)) return [content]
    this.#openTexts.add(messageId)
    return [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }, content]
  }

  #endText(messageId: string): readonly RunEvent[] {
    return this.#openTexts.delete(messageId) ? [{ type: 'TEXT_MESSAGE_END', messageId }] : []
  }

  /** The artifact `state` is the state of the client: whole, or a JSON Patch. */
  #encodeData({ id, name, value, mediaType }: Extract<TurnEvent, { kind: 'data' }>): RunEvent {
    if (name !== 'state' && id !== 'state') return { type: 'CUSTOM', name: name ?? id, value }
    this.#hasState = true
    if (mediaType === patchMediaType && Array.isArray(value)) return { type: 'STATE_DELTA', delta: value }
    return { type: 'STATE_SNAPSHOT', snapshot: value }
  }

  #encodeProgress(text: string): RunEvent {
    const messageId = this.#messageId(`progress-${this.#task?.turn ?? 1}`)
    return { type: 'ACTIVITY_SNAPSHOT', messageId, activityType: 'progress', content: { text }, replace: true }
  }

  /** Takes the text and the state of the run back. */
  #reset(): readonly RunEvent[] {
    const { messages, state = {} } = this.#run
    const ended = [...this.#openTexts].flatMap((id) => this.#endText(id))
    const hadState = this.#hasState
    this.#hasState = false
    return [
      ...ended,
      { type: 'MESSAGES_SNAPSHOT', messages },
      ...(hadState ? [{ type: 'STATE_SNAPSHOT', snapshot: state }] : []),
    ]
  }

  #encodeStep(step: AgentStep): readonly RunEvent[] {
    if (step.kind === 'reasoning') return this.#encodeReasoning(step)
    const key = `${step.kind} ${step.id}`
    const isRepeated = this.#sentSteps.has(key)
    this.#sentSteps.add(key)
    if (isRepeated) return []
    const toolCallId = step.id
    if (step.kind === 'tool-result') {
      const content = textIn(step.output)
      const result = { type: 'TOOL_CALL_RESULT', messageId: `${toolCallId}-result`, toolCallId, content, role: 'tool' }
      return [...this.#endReasoning(), result]
    }
    return [
      ...this.#endReasoning(),
      { type: 'TOOL_CALL_START', toolCallId, toolCallName: step.name },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(step.input ?? {}) },
      { type: 'TOOL_CALL_END', toolCallId },
    ]
  }

  /** Pieces of one reasoning are one message, until another event comes. */
  #encodeReasoning({ id, text }: Extract<AgentStep, { kind: 'reasoning' }>): readonly RunEvent[] {
    const prefix = this.#messageId(`reasoning-${this.#task?.turn ?? 1}-${id}`)
    const open = this.#openReasoning
    if (open?.startsWith(`${prefix}-`)) return [{ type: 'REASONING_MESSAGE_CONTENT', messageId: open, delta: text }]
    const ended = this.#endReasoning()
    const messageId = `${prefix}-${++this.#reasonings}`
    this.#openReasoning = messageId
    return [
      ...ended,
      { type: 'REASONING_START', messageId },
      { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId, delta: text },
    ]
  }

  #endReasoning(): readonly RunEvent[] {
    const messageId = this.#openReasoning
    if (messageId === undefined) return []
    this.#openReasoning = undefined
    return [
      { type: 'REASONING_MESSAGE_END', messageId },
      { type: 'REASONING_END', messageId },
    ]
  }

  #encodeEnd({ state, text }: Extract<TurnEvent, { kind: 'end' }>): RunEvent {
    switch (state) {
      case 'TASK_STATE_COMPLETED':
        return this.#finished({ type: 'success' })
      case 'TASK_STATE_CANCELED':
        // Earlier versions have no such outcome, and refuse it.
        return this.#finished(this.#run.protocolVersion === undefined ? undefined : { type: 'cancelled' })
      default: {
        const code = state === 'TASK_STATE_REJECTED' ? 'rejected' : 'failed'
        return { type: 'RUN_ERROR', message: text || `The task was ${code}`, code, ...this.#counted() }
      }
    }
  }

  #finished(outcome: Struct | undefined): RunEvent {
    const { threadId, runId } = this.#run
    return { type: 'RUN_FINISHED', threadId, runId, ...(outcome && { outcome }), ...this.#counted() }
  }

  #counted(): { readonly usage?: readonly Struct[] } {
    if (!this.#usage) return {}
    const { inputTokens, outputTokens, totalTokens, cachedTokens, model } = this.#usage
    const usage = { inputTokens, outputTokens, totalTokens, cachedInputTokens: cachedTokens, model }
    const given = Object.entries(usage).filter(([, value]) => value !== undefined)
    return { usage: [Object.fromEntries(given) as Struct] } // the undefined members were filtered out
  }
}

/** The id of a message of AG-UI: task and artifact. An answer without a task has the id of its message. */
export function messageIdOf(taskId: string | undefined, id: string): string {
  return taskId === undefined ? id : `${taskId}-${id}`
}

/** A file as a content part of AG-UI. */
export function mediaPart(part: RawPart | UrlPart, name?: string): Struct {
  const { mediaType, filename = name } = part
  const kind = mediaType?.split('/', 1)[0] ?? ''
  const mimeType = mediaType ?? 'application/octet-stream'
  return {
    type: ['image', 'audio', 'video'].includes(kind) ? kind : 'document',
    source: 'raw' in part ? { type: 'data', value: part.raw, mimeType } : { type: 'url', value: part.url, mimeType },
    ...(filename !== undefined && { metadata: { filename } }),
  }
}

function textIn(output: JsonValue | undefined): string {
  if (output === undefined) return ''
  return typeof output === 'string' ? output : JSON.stringify(output)
}
