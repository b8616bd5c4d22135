/** An A2A agent as a language model of the AI SDK: `generateText({ model: asModel('localhost:8001'), prompt })`. */
import type { LanguageModel } from 'ai'
import type { TurnEvent } from '../../client/read-turn.js'
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import { file, type JsonValue, type Part, type Struct } from '../../model/part.js'
import type { SendMessageRequest } from '../../model/service.js'
import { steps } from '../../model/steps.js'
import { type Usage, usage } from '../../model/usage.js'
import { endText, sendTurn } from '../agent-tools.js'
import { base64Part, fileUrl, isSafeFile, linkedPart } from '../file-source.js'
import { type ClientOrAddress, lazyClient } from '../lazy-client.js'
import { rawState } from './chunks.js'

/** A language model of version 3, which AI SDK 6 and 7 take. */
export type AgentModel = Extract<LanguageModel, { specificationVersion: 'v3' }>
type CallOptions = Parameters<AgentModel['doStream']>[0]
type StreamPart = Awaited<ReturnType<AgentModel['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never
type Result = Awaited<ReturnType<AgentModel['doGenerate']>>
type Warning = Result['warnings'][number]
type PromptMessage = CallOptions['prompt'][number]

/** The key of our metadata in answers, and of the options that a call can have. */
const provider = 'a2a'
/** Approvals are not asked for: a model reads them as questions. */
const extensions = [steps.uri, usage.uri]

/**
 * Makes a language model of an agent. Each call sends the last user message. Earlier answers in the prompt name the
 * context, so the agent remembers the conversation, and a message after a question answers it. Aborting cancels the task.
 *
 * ```ts
 * const { text } = await generateText({ model: asModel('localhost:8001'), prompt: 'A suit' })
 * ```
 *
 * `providerOptions: { a2a: { contextId, taskId, metadata } }` sets these members of the message explicitly.
 */
export function asModel(client: ClientOrAddress): AgentModel {
  const open = lazyClient(client)
  const events = async (options: CallOptions) => {
    const request = requestOf(options)
    return sendTurn(await open(), request, { signal: options.abortSignal, extensions })
  }
  return {
    specificationVersion: 'v3',
    provider,
    modelId: typeof client === 'string' ? client : client.card.name,
    // The agent fetches links itself.
    supportedUrls: { '*/*': [/^https?:/] },
    async doGenerate(options) {
      let encoder = new PartEncoder()
      let parts: StreamPart[] = []
      for await (const event of await events(options)) {
        if (event.kind === 'reset') {
          encoder = encoder.restart()
          parts = []
        } else parts.push(...encoder.encode(event))
      }
      return resultOf(parts, warningsOf(options))
    },
    async doStream(options) {
      const turn = await events(options)
      // Errors of the send reject the call; later ones are parts of the stream.
      const first = await turn.next()
      const encoder = new PartEncoder()
      let isStarted = false
      const stream = new ReadableStream<StreamPart>({
        async pull(controller) {
          try {
            if (!isStarted) {
              isStarted = true
              controller.enqueue({ type: 'stream-start', warnings: warningsOf(options) })
              if (!first.done) for (const part of encoder.encode(first.value)) controller.enqueue(part)
              return
            }
            for (;;) {
              const next = await turn.next()
              if (next.done) return controller.close()
              const parts = encoder.encode(next.value)
              for (const part of parts) controller.enqueue(part)
              if (parts.length > 0) return
            }
          } catch (error) {
            controller.error(error)
          }
        },
        cancel() {
          // The turn ends with its next event, which may be hours away; the reader does not wait for it.
          turn.return().catch(() => undefined)
        },
      })
      return { stream }
    },
  }
}

/** Encodes the events of a turn as parts of a stream. */
class PartEncoder {
  #begin: { readonly taskId?: string; readonly contextId?: string } = {}
  readonly #open = new Set<string>()
  #reasoning: string | undefined
  #hasText = false
  #count = 0
  #usage: Usage | undefined
  readonly #data = new Map<string, JsonValue>()

  /** An encoder for the same turn without its content. */
  restart(): PartEncoder {
    const encoder = new PartEncoder()
    encoder.#begin = this.#begin
    return encoder
  }

  encode(event: TurnEvent): StreamPart[] {
    switch (event.kind) {
      case 'begin':
        this.#begin = event
        return []
      case 'text':
        return this.#text(event.id, event.text)
      case 'textEnd':
        return this.#endText(event.id, {})
      case 'data':
        this.#data.set(`${event.id}/${event.index}`, event.value)
        return []
      case 'file':
        if (isSafeFile(event.part)) return [this.#file(event.part)]
        return [...this.#text(`${event.id}_link`, fileUrl(event.part)), ...this.#endText(`${event.id}_link`, {})]
      case 'step':
        return event.step.kind === 'reasoning' ? this.#reason(event.step.id, event.step.text) : []
      case 'usage':
        this.#usage = event.usage
        return []
      case 'progress':
        return []
      case 'question':
      case 'auth': {
        const state = event.kind === 'auth' ? 'auth-required' : 'input-required'
        return [...this.#text('question', event.text, state), ...this.#finish('other', state)]
      }
      case 'end':
        if (event.state !== 'TASK_STATE_COMPLETED')
          return [{ type: 'error', error: new Error(endText(event)) }, ...this.#finish('error', rawState(event.state))]
        return this.#finish('stop', 'completed')
      case 'reset':
        // A stream cannot take text back: the text that follows is another part.
        this.#data.clear()
        return [...this.#endAll({}), ...this.#endReasoning()]
    }
  }

  #text(id: string, text: string, state?: string): StreamPart[] {
    const parts: StreamPart[] = this.#endReasoning()
    if (!this.#open.has(id)) {
      this.#open.add(id)
      this.#hasText = true
      parts.push({ type: 'text-start', id })
    }
    parts.push({ type: 'text-delta', id, delta: text })
    return state === undefined ? parts : [...parts, ...this.#endText(id, { state })]
  }

  #endText(id: string, extra: Struct): StreamPart[] {
    return this.#open.delete(id) ? [{ type: 'text-end', id, providerMetadata: this.#metadata(extra) }] : []
  }

  #endAll(extra: Struct): StreamPart[] {
    return [...this.#open].flatMap((id) => this.#endText(id, extra))
  }

  #reason(id: string, text: string): StreamPart[] {
    const parts: StreamPart[] = this.#reasoning === id ? [] : this.#endReasoning()
    if (this.#reasoning === undefined) parts.push({ type: 'reasoning-start', id })
    this.#reasoning = id
    return [...parts, { type: 'reasoning-delta', id, delta: text }]
  }

  #endReasoning(): StreamPart[] {
    const id = this.#reasoning
    this.#reasoning = undefined
    return id === undefined ? [] : [{ type: 'reasoning-end', id }]
  }

  #file(part: Extract<TurnEvent, { kind: 'file' }>['part']): StreamPart {
    const mediaType = part.mediaType ?? 'application/octet-stream'
    if ('raw' in part) return { type: 'file', mediaType, data: part.raw, providerMetadata: this.#metadata({}) }
    this.#count += 1
    const title = part.filename === undefined ? {} : { title: part.filename }
    return { type: 'source', sourceType: 'url', id: `link-${this.#count}`, url: part.url, ...title }
  }

  #finish(unified: 'stop' | 'error' | 'other', raw: string): StreamPart[] {
    const parts = [...this.#endReasoning(), ...this.#endAll({})]
    const data = [...this.#data.values()]
    // An answer of data alone is shown as JSON. The next call finds the context in the metadata of the text.
    if (!this.#hasText) parts.push(...this.#text('answer', data.map((value) => JSON.stringify(value)).join('\n')))
    parts.push(...this.#endAll({}))
    const { inputTokens, outputTokens, cachedTokens } = this.#usage ?? {}
    return [
      ...parts,
      {
        type: 'finish',
        finishReason: { unified, raw },
        usage: {
          inputTokens: { total: inputTokens, noCache: undefined, cacheRead: cachedTokens, cacheWrite: undefined },
          outputTokens: { total: outputTokens, text: undefined, reasoning: undefined },
        },
        providerMetadata: this.#metadata({ state: raw, ...(data.length > 0 && { data }) }),
      },
    ]
  }

  #metadata(extra: Struct): NonNullable<Result['providerMetadata']> {
    const { taskId, contextId } = this.#begin
    const ids = { ...(taskId !== undefined && { taskId }), ...(contextId !== undefined && { contextId }) }
    // The metadata of the AI SDK is JSON with mutable types.
    return { [provider]: { ...ids, ...extra } } as NonNullable<Result['providerMetadata']>
  }
}

/** The parts of a stream as one result. */
function resultOf(parts: readonly StreamPart[], warnings: Warning[]): Result {
  const content: Result['content'] = []
  const texts = new Map<string, { type: 'text' | 'reasoning'; text: string; providerMetadata?: never }>()
  let finish: Extract<StreamPart, { type: 'finish' }> | undefined
  for (const part of parts) {
    if (part.type === 'error') throw part.error
    if (part.type === 'text-start' || part.type === 'reasoning-start') {
      const opened = { type: part.type === 'text-start' ? ('text' as const) : ('reasoning' as const), text: '' }
      texts.set(part.id, opened)
      content.push(opened)
    } else if (part.type === 'text-delta' || part.type === 'reasoning-delta') {
      const opened = texts.get(part.id)
      if (opened) opened.text += part.delta
    } else if (part.type === 'text-end')
      Object.assign(texts.get(part.id) ?? {}, { providerMetadata: part.providerMetadata })
    else if (part.type === 'file' || part.type === 'source') content.push(part)
    else if (part.type === 'finish') finish = part
  }
  if (!finish) throw new Error('The agent ended its turn without a state')
  const { finishReason, usage, providerMetadata } = finish
  return { content, finishReason, usage, warnings, ...(providerMetadata && { providerMetadata }) }
}

/** The message that a call sends: the last one of the user. */
function requestOf({ prompt, providerOptions }: CallOptions): SendMessageRequest {
  const user = prompt.findLast(({ role }) => role === 'user')
  if (user?.role !== 'user') throw new TypeError('The prompt has no user message to send to the agent')
  const given = providerOptions?.[provider] ?? {}
  const found = { ...conversationIn(prompt), ...given }
  const message: Message = {
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: user.content.map(partOf),
    ...(typeof found.contextId === 'string' && { contextId: found.contextId }),
    ...(typeof found.taskId === 'string' && { taskId: found.taskId }),
  }
  return { message, ...(isObject(given.metadata) && { metadata: given.metadata as Struct }) }
}

type UserContent = Extract<PromptMessage, { role: 'user' }>['content'][number]

function partOf(part: UserContent): Part {
  if (part.type === 'text') return { text: part.text }
  const { data, mediaType, filename } = part
  const about = { mediaType, ...(filename !== undefined && { filename }) }
  if (data instanceof Uint8Array) return file(data, about)
  const refuse = (problem: string) => new TypeError(`A file of the prompt ${problem}`)
  return { ...(data instanceof URL ? linkedPart(data.href, refuse) : base64Part(data, refuse)), ...about }
}

/** The ids in the metadata of the last answer. The task is continued if it asked a question. */
function conversationIn(prompt: readonly PromptMessage[]): { readonly contextId?: unknown; readonly taskId?: unknown } {
  for (const { role, content } of prompt.toReversed()) {
    if (role !== 'assistant') continue
    for (const part of content.toReversed()) {
      const metadata = part.providerOptions?.[provider]
      if (!isObject(metadata)) continue
      const { contextId, taskId, state } = metadata
      const isWaiting = state === 'input-required' || state === 'auth-required'
      return isWaiting ? { contextId, taskId } : { contextId }
    }
  }
  return {}
}

const settings = [
  'maxOutputTokens',
  'temperature',
  'stopSequences',
  'topP',
  'topK',
  'presencePenalty',
  'frequencyPenalty',
  'seed',
  'toolChoice',
] as const

/** Settings that have no effect: the agent has its own instructions, model and tools. */
function warningsOf(options: CallOptions): Warning[] {
  const features: string[] = settings.filter((name) => options[name] !== undefined && !isDefault(options, name))
  if (options.tools?.length) features.push('tools')
  if (options.responseFormat?.type === 'json') features.push('responseFormat')
  if (options.prompt.some(({ role }) => role === 'system')) features.push('system messages')
  return features.map((feature) => ({ type: 'unsupported', feature, details: 'The A2A agent decides this itself' }))
}

/** The AI SDK sets the choice itself. */
function isDefault({ toolChoice }: CallOptions, name: (typeof settings)[number]): boolean {
  return name === 'toolChoice' && toolChoice?.type === 'auto'
}
