/** Encodes the events of a turn as one text: both APIs show the answer of an agent as one message. */
import { exampleAnswer, fieldsOf } from '../../client/question-form.js'
import type { TurnEvent } from '../../client/read-turn.js'
import type { Part, RawPart, UrlPart } from '../../model/part.js'
import type { TaskState } from '../../model/task.js'
import type { Usage } from '../../model/usage.js'
import { fileUrl, isSafeFile } from '../file-source.js'

/** Joins the text, data and files of a turn. Different artifacts are separated by an empty line. */
export class TextJoiner {
  text = ''
  #last: string | undefined
  #data: { readonly id: string; readonly index: number; readonly text: string } | undefined
  #hasBefore: boolean

  /** `hasBefore`: other text precedes this one. */
  constructor(hasBefore = false) {
    this.#hasBefore = hasBefore
  }

  /** Returns the text that an event adds. Data waits for the next content, because later data may replace it. */
  add(event: TurnEvent): string {
    switch (event.kind) {
      case 'text':
        return this.#flush() + this.#append(event.text, event.id)
      case 'data': {
        const { id, index, value } = event
        const isReplaced = this.#data?.id === id && this.#data.index === index
        const before = isReplaced ? '' : this.#flush()
        this.#data = { id, index, text: JSON.stringify(value) }
        return before
      }
      case 'file':
        return this.#flush() + this.#append(linkTo(event.part, event.name))
      case 'question':
        return this.#flush() + this.#append(questionText(event))
      case 'auth':
        return this.#flush() + this.#append(withLinks(event.text || 'The agent needs a credential.', event.parts))
      case 'end':
        return this.#flush()
      default:
        return ''
    }
  }

  #flush(): string {
    const { text = '' } = this.#data ?? {}
    this.#data = undefined
    return this.#append(text)
  }

  /** Text with the same `id` is continued; without one it stands alone. */
  #append(text: string, id?: string): string {
    if (text === '') return ''
    const isFirst = this.text === '' && !this.#hasBefore
    const separator = isFirst || (id !== undefined && id === this.#last) ? '' : '\n\n'
    this.#last = id
    this.text += separator + text
    return separator + text
  }
}

function questionText({ text, parts, schema, approval }: Extract<TurnEvent, { kind: 'question' }>): string {
  const asked = withLinks(text || 'The agent needs more information.', parts)
  if (approval) return `${asked}\n\nAnswer yes or no.`
  // The bare value of a form with one field is enough.
  if (!schema || fieldsOf(schema).length === 1) return asked
  return `${asked}\n\nAnswer with JSON, such as ${JSON.stringify(exampleAnswer(schema))}`
}

function withLinks(text: string, parts: readonly Part[]): string {
  const links = parts.flatMap((part) => ('raw' in part || 'url' in part ? [linkTo(part)] : []))
  return [text, ...links].join('\n\n')
}

/** A file as a Markdown link: to its address, or a data URL with its bytes. */
function linkTo(part: RawPart | UrlPart, name?: string): string {
  const label = (part.filename ?? name ?? 'file').replace(/[[\]()\\<>\s]+/g, ' ').trim() || 'file'
  const url = fileUrl(part)
  // Only addresses that a browser opens as documents become links.
  if (!isSafeFile(part)) return `${label}: ${JSON.stringify(url)}`
  const isImage = part.mediaType?.startsWith('image/') === true
  // These characters would end the link.
  const address = url
    .replace(/[\s<>]/g, encodeURIComponent)
    .replaceAll('(', '%28')
    .replaceAll(')', '%29')
  return `${isImage ? '!' : ''}[${label}](${address})`
}

/** The state of the task, as `metadata.a2a_state` shows it. */
export function stateAfter(event: TurnEvent | undefined): string {
  if (event?.kind === 'question') return 'input-required'
  if (event?.kind === 'auth') return 'auth-required'
  return event?.kind === 'end' ? nameOf(event.state) : 'working'
}

function nameOf(state: TaskState): string {
  return state.replace('TASK_STATE_', '').toLowerCase()
}

/** Tokens of the task so far; 0 if the agent does not count them. */
export function tokensOf(usage: Usage | undefined) {
  const { inputTokens: input = 0, outputTokens: output = 0, cachedTokens: cached = 0 } = usage ?? {}
  return { input, output, cached, total: usage?.totalTokens ?? input + output }
}

/** The text of an error about a turn that failed. */
export function failureText({ state, text }: Extract<TurnEvent, { kind: 'end' }>): string {
  return text || `The task was ${nameOf(state)}`
}
