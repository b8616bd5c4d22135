/** Yields for the events of a run: text, tool calls and reasoning. */
import type { RunItem, RunStreamEvent } from '@openai/agents-core'
import { artifact, step, type Yield } from '../../engine/yields.js'
import { isObject } from '../../model/is-object.js'
import type { JsonValue } from '../../model/part.js'
import { parseJson, toJson } from '../json.js'

/** Reads the events of one run. */
export class RunOutput {
  readonly #turn: number
  readonly #showsText: () => boolean
  /** The texts so far, and the last of them. Each response of the model has one. */
  #texts = 0
  #last = ''
  #isOpen = false

  /** `turn` makes the ids of artifacts, so that a repeated turn replaces them. `showsText`: whether text may be sent now. */
  constructor(turn: number, showsText: () => boolean) {
    this.#turn = turn
    this.#showsText = showsText
  }

  *read(event: RunStreamEvent): Generator<Yield, void, void> {
    if (event.type === 'raw_model_stream_event') {
      const { data } = event
      if (data.type === 'output_text_delta' && this.#showsText()) yield* this.#text(data.delta)
      else if (data.type === 'response_done') this.#isOpen = false
    } else if (event.type === 'run_item_stream_event') yield* stepOf(event.item)
  }

  /** Yields the final output unless it was the last text. */
  *finish(final: string): Generator<Yield, void, void> {
    if (final !== this.#last) yield* this.#text(final)
  }

  *#text(text: string): Generator<Yield, void, void> {
    if (text === '') return
    if (!this.#isOpen) {
      this.#isOpen = true
      this.#texts += 1
      this.#last = ''
    }
    this.#last += text
    yield artifact('', text, { id: `text-${this.#turn}-${this.#texts}`, append: true })
  }
}

function* stepOf(item: RunItem): Generator<Yield, void, void> {
  const { rawItem } = item
  if (item.type === 'tool_call_item' && rawItem?.type === 'function_call') {
    const { callId: id, name, arguments: input } = rawItem
    yield step({ kind: 'tool-call', id, name, input: parseJson(input, input) })
  } else if (item.type === 'tool_call_output_item' && rawItem?.type === 'function_call_result') {
    yield step({ kind: 'tool-result', id: rawItem.callId, name: rawItem.name, output: outputOf(rawItem.output) })
  } else if (item.type === 'reasoning_item' && rawItem?.type === 'reasoning') {
    const text = rawItem.content.map((piece) => piece.text).join('')
    if (text !== '') yield step({ kind: 'reasoning', id: rawItem.id || 'reasoning', text })
  }
}

function outputOf(output: unknown): JsonValue {
  if (isObject(output) && output.type === 'text' && typeof output.text === 'string') return output.text
  return toJson(output) ?? null
}
