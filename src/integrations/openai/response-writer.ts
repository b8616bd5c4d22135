/**
 * Encodes the events of a turn as a response and as the events of its stream.
 *
 * `sequence_number` is 16 × the position in the log + n, for the n-th event that an element of the log makes. So every
 * replica numbers the events of a turn equally, and a client can resume at any of them.
 */
import { isLast, type TurnEvent } from '../../client/turn-event.js'
import type { JsonValue, Struct } from '../../model/part.js'
import type { Usage } from '../../model/usage.js'
import { failureText, stateAfter, TextJoiner, tokensOf } from './output.js'
import { idOf, type StartedTurn, timeOf } from './turns.js'

/** An event of a response's stream. */
export interface ResponseEvent {
  readonly type: string
  readonly sequence_number: number
  readonly [member: string]: unknown
}

type ResponseStatus = 'in_progress' | 'completed' | 'failed' | 'cancelled'

/** One element of the log makes fewer events: it opens the message, adds to it, and ends it and the response. */
const eventsPerElement = 16

/** Makes the response of one turn. `write` takes the events of `readTurn` in their order; `response` is its state so far. */
export class ResponseWriter {
  readonly #turn: StartedTurn
  #status: ResponseStatus = 'in_progress'
  #last: TurnEvent | undefined
  #usage: Usage | undefined
  #text = new TextJoiner()
  /** The messages that were begun; only the last one is part of the response. */
  #messages = 0
  #isOpen = false
  #sequence = -1
  #seq = 0

  constructor(turn: StartedTurn) {
    this.#turn = turn
  }

  get lastSequence(): number {
    return this.#sequence
  }

  /** Whether the turn has ended. */
  get isEnded(): boolean {
    return this.#status !== 'in_progress'
  }

  get status(): ResponseStatus {
    return this.#status
  }

  /** Takes an event of the turn and returns the events of the stream that it makes. */
  write(event: TurnEvent): readonly ResponseEvent[] {
    if (event.seq !== undefined) this.#seq = event.seq
    const events: ResponseEvent[] = []
    if (event.kind === 'begin') {
      events.push(this.#event('response.created', { response: this.response }))
      events.push(this.#event('response.in_progress', { response: this.response }))
      return events
    }
    if (event.kind === 'reset') {
      this.#close(events)
      this.#text = new TextJoiner()
      return events
    }
    if (event.kind === 'usage') this.#usage = event.usage
    const delta = this.#text.add(event)
    if (delta !== '') this.#append(events, delta)
    this.#last = event
    if (isLast(event)) {
      this.#close(events)
      this.#status = statusAfter(event)
      const type = this.#status === 'completed' ? 'response.completed' : 'response.failed'
      events.push(this.#event(type, { response: this.response }))
    }
    return events
  }

  /** The response as it is now. */
  get response(): Struct {
    const { agent, contextId, message } = this.#turn
    const openai = (message.metadata?.openai ?? {}) as Struct // written by `startTurn`
    const hasOutput = this.#text.text !== ''
    return {
      id: `resp_${idOf(this.#turn)}`,
      object: 'response',
      access_programs: null,
      created_at: timeOf(message),
      status: this.#status,
      background: openai.background ?? false,
      error: this.#error,
      incomplete_details: null,
      instructions: openai.instructions ?? null,
      max_output_tokens: null,
      model: agent.card.name,
      output: hasOutput ? [this.#message(this.isEnded ? 'completed' : 'in_progress')] : [],
      parallel_tool_calls: false,
      previous_response_id: openai.previous_response_id ?? null,
      conversation: { id: contextId },
      reasoning: { effort: null, summary: null },
      store: true,
      temperature: null,
      text: { format: { type: 'text' } },
      tool_choice: 'none',
      tools: [],
      top_p: null,
      truncation: 'disabled',
      usage: this.isEnded ? usageOf(this.#usage) : null,
      metadata: { ...(openai.metadata as Struct | undefined), a2a_state: stateAfter(this.#last) },
    }
  }

  get #error(): JsonValue {
    const end = this.#last
    if (this.#status !== 'failed' || end?.kind !== 'end') return null
    return { code: 'server_error', message: failureText(end) }
  }

  #append(events: ResponseEvent[], delta: string): void {
    if (!this.#isOpen) {
      this.#isOpen = true
      this.#messages += 1
      const item = { ...this.#message('in_progress'), content: [] }
      events.push(this.#event('response.output_item.added', { output_index: this.#index, item }))
      events.push(this.#event('response.content_part.added', { ...this.#place, part: partOf('') }))
    }
    events.push(this.#event('response.output_text.delta', { ...this.#place, delta, logprobs: [] }))
  }

  #close(events: ResponseEvent[]): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const { text } = this.#text
    events.push(this.#event('response.output_text.done', { ...this.#place, text, logprobs: [] }))
    events.push(this.#event('response.content_part.done', { ...this.#place, part: partOf(text) }))
    const item = this.#message('completed')
    events.push(this.#event('response.output_item.done', { output_index: this.#index, item }))
  }

  get #index(): number {
    return this.#messages - 1
  }

  get #place() {
    return { item_id: this.#itemId, output_index: this.#index, content_index: 0 }
  }

  get #itemId(): string {
    return `msg_${idOf(this.#turn)}_${this.#messages}`
  }

  #message(status: 'in_progress' | 'completed') {
    return { id: this.#itemId, type: 'message', role: 'assistant', status, content: [partOf(this.#text.text)] }
  }

  #event(type: string, members: Readonly<Record<string, unknown>>): ResponseEvent {
    this.#sequence = Math.max(this.#sequence + 1, eventsPerElement * this.#seq)
    return { type, sequence_number: this.#sequence, ...members }
  }
}

function partOf(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function statusAfter(event: TurnEvent): ResponseStatus {
  if (event.kind !== 'end' || event.state === 'TASK_STATE_COMPLETED') return 'completed'
  return event.state === 'TASK_STATE_CANCELED' ? 'cancelled' : 'failed'
}

function usageOf(usage: Usage | undefined): Struct {
  const { input, output, cached, total } = tokensOf(usage)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: total,
  }
}
