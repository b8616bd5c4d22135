/** Encodes the events of turns as chunks of a message of the AI SDK, for `useChat`. Each turn is a step of its message. */
import type { UIMessageChunk } from 'ai'
import type { TurnEvent } from '../../client/read-turn.js'
import type { Approval, Decisions } from '../../model/approvals.js'
import { isObject } from '../../model/is-object.js'
import type { JsonValue, Part } from '../../model/part.js'
import type { AgentStep } from '../../model/steps.js'
import type { TaskState } from '../../model/task.js'
import type { Usage } from '../../model/usage.js'
import { endText } from '../agent-tools.js'
import { fileUrl, isSafeFile } from '../file-source.js'

/** The name of the tool that questions appear as. */
export const askTool = 'ask'

/** The type of the result of a call that was not approved, as models of the AI SDK see it. */
export const deniedType = 'execution-denied'

/** The id of the message that a turn begins. It is the same after a reload, so the message is replaced, not repeated. */
export function messageIdOf(taskId: string, turn: number): string {
  return `${taskId}_${turn}`
}

/** The task and the turn in the id of a message; undefined for other messages. */
export function placeIn(messageId: string): { readonly taskId: string; readonly turn: number } | undefined {
  const [, taskId, turn] = /^(.+)_([1-9]\d{0,8})$/s.exec(messageId) ?? []
  return taskId === undefined ? undefined : { taskId, turn: Number(turn) }
}

/** The id of the call of the tool `ask`. It names the question, so an answer to an older question is noticed. */
export function askIdOf(question: string): string {
  return `${askTool}_${question}`
}

/** The id of the approval of a tool call. */
export function approvalIdOf(question: string, toolCallId: string): string {
  return `${question}_${toolCallId}`
}

/** The name of a state as a finish reason: `input-required`. */
export function rawState(state: TaskState): string {
  return state.slice('TASK_STATE_'.length).toLowerCase().replaceAll('_', '-')
}

/** A message that a turn continues, because it answers a question in it. */
export interface ContinuedMessage {
  readonly id: string
  /** The ids of the tool calls that the message shows. */
  readonly toolCalls: Iterable<string>
}

interface EncoderOptions {
  readonly continued?: ContinuedMessage | undefined
  /** The turn of the message before, if it has the same task. Agents that send no history do not count turns. */
  readonly after?: number | undefined
}

export class ChunkEncoder {
  readonly #continued: ContinuedMessage | undefined
  readonly #after: number
  #isStarted = false
  #taskId = ''
  #turn = 1
  readonly #texts = new Set<string>()
  #reasoning: string | undefined
  /** Tool calls in the message; the ones of this turn are taken back with it. */
  readonly #toolCalls: Set<string>
  readonly #turnCalls = new Set<string>()
  /** Approved calls without a result. */
  readonly #approved = new Set<string>()
  /** The call of `ask` in the last turn. */
  #asked: string | undefined
  #usage: Usage | undefined

  constructor({ continued, after = 0 }: EncoderOptions = {}) {
    this.#continued = continued
    this.#after = after
    this.#toolCalls = new Set(continued?.toolCalls)
  }

  encode(event: TurnEvent): UIMessageChunk[] {
    switch (event.kind) {
      case 'begin':
        return this.#begin(event)
      case 'text':
        return [...this.#endReasoning(), ...this.#text(event.id, event.text)]
      case 'textEnd':
        return this.#endText(event.id)
      case 'data':
        return [{ type: `data-${event.name || 'data'}`, id: `${event.id}_${event.index}`, data: event.value }]
      case 'file': {
        const { id, part } = event
        if (!isSafeFile(part)) return [...this.#text(`${id}_link`, fileUrl(part)), ...this.#endText(`${id}_link`)]
        return [{ type: 'file', url: fileUrl(part), mediaType: part.mediaType ?? 'application/octet-stream' }]
      }
      case 'progress':
        return event.text === '' ? [] : [{ type: 'data-progress', data: { text: event.text }, transient: true }]
      case 'step':
        return this.#step(event.step)
      case 'usage':
        this.#usage = event.usage
        return []
      case 'question':
      case 'auth': {
        const approval = event.kind === 'question' ? event.approval : undefined
        // Agents of other vendors may ask without a message.
        const id = event.messageId ?? messageIdOf(this.#taskId, this.#turn)
        return [...(approval ? this.#approval(id, approval) : this.#ask(id, event)), ...this.#finish(event.kind)]
      }
      case 'end':
        return this.#end(event)
      case 'reset':
        return this.#reset()
    }
  }

  /** Shows decisions about tool calls of the message. The result of an approved call follows in the turn. */
  decide(decisions: Decisions): UIMessageChunk[] {
    const chunks: UIMessageChunk[] = []
    for (const [toolCallId, { approved }] of decisions) {
      if (!this.#toolCalls.has(toolCallId)) continue
      if (approved) this.#approved.add(toolCallId)
      else chunks.push({ type: 'tool-output-denied', toolCallId })
    }
    return chunks
  }

  /** Shows the answer to the question of the last turn. */
  answer(output: JsonValue): UIMessageChunk[] {
    const toolCallId = this.#asked
    return toolCallId !== undefined && this.#toolCalls.has(toolCallId)
      ? [{ type: 'tool-output-available', toolCallId, output, dynamic: true }]
      : []
  }

  #begin({ taskId, contextId, turn }: Extract<TurnEvent, { kind: 'begin' }>): UIMessageChunk[] {
    this.#taskId = taskId ?? ''
    this.#turn = Math.max(turn, this.#after + 1)
    this.#turnCalls.clear()
    const step: UIMessageChunk = { type: 'start-step' }
    if (this.#isStarted) return [step]
    this.#isStarted = true
    const messageId = this.#continued?.id ?? (taskId === undefined ? undefined : messageIdOf(taskId, this.#turn))
    const messageMetadata = { ...(taskId !== undefined && { taskId }), ...(contextId !== undefined && { contextId }) }
    return [{ type: 'start', ...(messageId !== undefined && { messageId }), messageMetadata }, step]
  }

  #text(id: string, delta: string): UIMessageChunk[] {
    const start: UIMessageChunk[] = this.#texts.has(id) ? [] : [{ type: 'text-start', id }]
    this.#texts.add(id)
    return [...start, { type: 'text-delta', id, delta }]
  }

  #endText(id: string): UIMessageChunk[] {
    return this.#texts.delete(id) ? [{ type: 'text-end', id }] : []
  }

  #endReasoning(): UIMessageChunk[] {
    const id = this.#reasoning
    this.#reasoning = undefined
    return id === undefined ? [] : [{ type: 'reasoning-end', id }]
  }

  #step(step: AgentStep): UIMessageChunk[] {
    switch (step.kind) {
      case 'reasoning': {
        const { id, text: delta } = step
        const isOpen = this.#reasoning === id
        const start: UIMessageChunk[] = isOpen ? [] : [...this.#endReasoning(), { type: 'reasoning-start', id }]
        this.#reasoning = id
        return [...start, { type: 'reasoning-delta', id, delta }]
      }
      case 'tool-call':
        return [...this.#endReasoning(), ...this.#toolCall(step.id, step.name, step.input)]
      case 'tool-result':
        return this.#toolResult(step)
    }
  }

  /** Calls of the agent are `providerExecuted`: the page neither executes them nor waits for them. */
  #toolCall(toolCallId: string, toolName: string, input: JsonValue = {}): UIMessageChunk[] {
    if (this.#toolCalls.has(toolCallId)) return []
    this.#toolCalls.add(toolCallId)
    this.#turnCalls.add(toolCallId)
    return [{ type: 'tool-input-available', toolCallId, toolName, input, dynamic: true, providerExecuted: true }]
  }

  #toolResult({
    id,
    name = 'tool',
    output = null,
    isError,
  }: Extract<AgentStep, { kind: 'tool-result' }>): UIMessageChunk[] {
    // A result without its call, such as that of a call in an earlier message, cannot be shown.
    const chunks = this.#toolCall(id, name)
    this.#approved.delete(id)
    if (!isError) chunks.push({ type: 'tool-output-available', toolCallId: id, output, dynamic: true })
    else if (isObject(output) && output.type === deniedType) chunks.push({ type: 'tool-output-denied', toolCallId: id })
    else {
      const errorText = typeof output === 'string' ? output : 'The tool failed'
      chunks.push({ type: 'tool-output-error', toolCallId: id, errorText, dynamic: true })
    }
    return chunks
  }

  #approval(question: string, { hint, tools }: Approval): UIMessageChunk[] {
    return tools.flatMap(({ id, name, args }) => [
      ...this.#toolCall(id, name, args),
      {
        type: 'tool-approval-request' as const,
        approvalId: approvalIdOf(question, id),
        toolCallId: id,
        ...(hint !== undefined && { reason: hint }),
      },
    ])
  }

  /** The text is shown by every page; the tool call lets a page show a form and answer with `addToolOutput`. */
  #ask(id: string, question: Extract<TurnEvent, { kind: 'question' | 'auth' }>): UIMessageChunk[] {
    const toolCallId = askIdOf(id)
    this.#asked = toolCallId
    this.#toolCalls.add(toolCallId)
    this.#turnCalls.add(toolCallId)
    const parts = question.parts.filter((part: Part) => !('text' in part))
    const input = {
      question: question.text,
      ...('schema' in question && { schema: question.schema }),
      ...(parts.length > 0 && { parts }),
    }
    const text = question.text === '' ? [] : [...this.#text(toolCallId, question.text), ...this.#endText(toolCallId)]
    return [...text, { type: 'tool-input-available', toolCallId, toolName: askTool, input, dynamic: true }]
  }

  #finish(kind: 'question' | 'auth' | 'end', state = 'completed'): UIMessageChunk[] {
    const isEnd = kind === 'end'
    const messageMetadata = {
      state: isEnd ? state : kind === 'auth' ? 'auth-required' : 'input-required',
      ...(this.#usage && { usage: this.#usage }),
    }
    const finishReason = !isEnd ? 'tool-calls' : state === 'completed' ? 'stop' : 'other'
    return [...this.#endStep(), { type: 'finish', finishReason, messageMetadata }]
  }

  #endStep(): UIMessageChunk[] {
    const texts = [...this.#texts].flatMap((id) => this.#endText(id))
    return [...this.#endReasoning(), ...texts, { type: 'finish-step' }]
  }

  #end(event: Extract<TurnEvent, { kind: 'end' }>): UIMessageChunk[] {
    const state = rawState(event.state)
    const chunks = this.#settleApproved()
    if (event.state === 'TASK_STATE_CANCELED')
      return [...chunks, { type: 'abort', reason: 'canceled' }, ...this.#finish('end', state)]
    if (event.state === 'TASK_STATE_COMPLETED') return [...chunks, ...this.#finish('end')]
    const error: UIMessageChunk = { type: 'error', errorText: endText(event) }
    // The page stops reading at an error.
    return [...chunks, ...this.#endStep(), { type: 'message-metadata', messageMetadata: { state } }, error]
  }

  /** An agent that reports no results: without one, the page would show the approved call as waiting. */
  #settleApproved(): UIMessageChunk[] {
    const settled = [...this.#approved]
    this.#approved.clear()
    return settled.map((toolCallId) => ({ type: 'tool-output-available', toolCallId, output: null, dynamic: true }))
  }

  /** AI SDK 7 removes the content of the step; AI SDK 6 has no such chunk. */
  #reset(): UIMessageChunk[] {
    this.#texts.clear()
    this.#reasoning = undefined
    for (const id of this.#turnCalls) this.#toolCalls.delete(id)
    this.#turnCalls.clear()
    return [{ type: 'reset-step' }]
  }
}
