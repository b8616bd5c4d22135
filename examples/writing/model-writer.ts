// Writes with a language model behind any endpoint that implements OpenAI's API.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, type ModelMessage, RetryError, streamText } from 'ai'
import { A2AError } from 'dragoman'
import { languageOf } from './language.ts'
import { readOutline } from './outline.ts'
import type { Writer } from './writer.ts'

interface ModelOptions {
  readonly model: string
  /** Such as `https://models.example/v1`. */
  readonly url: string
  readonly key?: string
  /** Maximum time between two pieces. Default 60 s. */
  readonly silenceMs?: number
  /** Maximum time for the whole answer. Default 600 s. */
  readonly totalMs?: number
  /** Retries of requests that failed temporarily. Default 2. */
  readonly retries?: number
}

export function createModelWriter({
  model,
  url,
  key,
  silenceMs = 60_000,
  totalMs = 600_000,
  retries = 2,
}: ModelOptions): Writer {
  const provider = createOpenAICompatible({ name: 'model', baseURL: url, ...(key && { apiKey: key }) })

  /** Yields the text as it arrives. Throws errors whose messages may be shown to the caller of the agent. */
  async function* generate(system: string, messages: ModelMessage[], signal: AbortSignal | undefined) {
    const silence = createSilenceLimit(silenceMs)
    const signals = [silence.signal, AbortSignal.timeout(totalMs), ...(signal ? [signal] : [])]
    const { fullStream } = streamText({
      model: provider(model),
      system,
      messages,
      maxRetries: retries,
      abortSignal: AbortSignal.any(signals),
      onError: () => undefined, // the stream reports it too
    })
    let hasBegun = false
    let isFinished = false
    try {
      silence.begins()
      for await (const part of fullStream) {
        silence.ends()
        if (part.type === 'text-delta') {
          hasBegun = true
          yield part.text
        }
        if (part.type === 'error') throw part.error
        if (part.type === 'abort') break
        // With other reasons, such as a filter, the answer is incomplete.
        if (part.type === 'finish') isFinished = part.finishReason === 'stop' || part.finishReason === 'length'
        silence.begins()
      }
    } catch (error) {
      signal?.throwIfAborted()
      throw toCallerError(error, hasBegun)
    } finally {
      silence.ends()
    }
    signal?.throwIfAborted()
    if (!isFinished) throw toCallerError(undefined, hasBegun)
  }

  return {
    name: model,
    async outline(topic, { signal } = {}) {
      const wish = `Give an outline as JSON and nothing else: {"topic","title","sections":[{"title","brief","points":[…]}]}, three to six sections. ${languageInstruction(topic)}`
      let answer = ''
      for await (const piece of generate(wish, [user(topic)], signal)) answer += piece
      const outline = readOutline(jsonIn(answer))
      if (!outline) throw new A2AError('UNAVAILABLE', 'The language model returned no outline')
      return { ...outline, topic }
    },
    document: (outline, { signal } = {}) =>
      generate(
        `Write the document of this outline in Markdown: its title as #, each section as ##. ${languageInstruction(outline.title)}`,
        [user(JSON.stringify(outline))],
        signal,
      ),
    summary: (text, { signal } = {}) =>
      generate(
        `Summarise the text in a short paragraph, from the text alone. ${languageInstruction(text)}`,
        [user(text)],
        signal,
      ),
    chat: (lines, { signal } = {}) =>
      generate(
        'You are the front desk of an order agent and a document workflow, friendly and brief. Answer in the language you are spoken to in.',
        lines.map(({ role, text }) => (role === 'user' ? user(text) : { role: 'assistant', content: text })),
        signal,
      ),
  }
}

function languageInstruction(text: string) {
  return languageOf(text) === 'zh' ? 'Write in Chinese.' : 'Write in English.'
}

function user(content: string): ModelMessage {
  return { role: 'user', content }
}

/** Finds the JSON object in an answer: models often add prose and code fences around it. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))
  } catch {
    return undefined
  }
}

/** Aborts when the model sends nothing for `ms`. Time that the consumer takes does not count. */
function createSilenceLimit(ms: number) {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  return {
    signal: controller.signal,
    begins() {
      timer = setTimeout(() => controller.abort(new DOMException('The model is silent', 'TimeoutError')), ms)
    },
    ends: () => clearTimeout(timer),
  }
}

function toCallerError(error: unknown, hasBegun: boolean) {
  const cause = RetryError.isInstance(error) ? error.lastError : error
  if (hasBegun) return new A2AError('UNAVAILABLE', 'The language model stopped in the middle of its answer', { cause })
  const status = APICallError.isInstance(cause) ? (cause.statusCode ?? 0) : 0
  if (status === 429)
    return new A2AError('UNAVAILABLE', 'The language model is busy: try again later', { cause, retryAfterSeconds: 30 })
  if (status >= 400)
    return new A2AError('UNAVAILABLE', `The language model refused the request with status ${status}`, { cause })
  return new A2AError('UNAVAILABLE', 'The language model does not answer', { cause })
}
