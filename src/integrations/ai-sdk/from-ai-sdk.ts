/** An agent of the AI SDK as an A2A agent: `serve(fromAiSdk(new ToolLoopAgent({ model, tools }), 'Payer'))`. */
import type { ModelMessage } from 'ai'
import { type Agent, type AgentInit, agent, type Turn } from '../../engine/agent.js'
import { approve, artifact, step, type Yield } from '../../engine/yields.js'
import { isObject } from '../../model/is-object.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { data, type JsonValue, type Struct } from '../../model/part.js'
import { unlessAborted } from '../../model/unless-aborted.js'
import type { Usage } from '../../model/usage.js'
import { agentInit, earlierTasks } from '../agent-init.js'
import { toJson } from '../json.js'
import { deniedType } from './chunks.js'
import { earlierMessages, taskMessages, userMessage } from './model-messages.js'

/** An agent of the AI SDK, such as a `ToolLoopAgent` that takes no call options. */
export interface AiSdkAgent {
  readonly version: 'agent-v1'
  stream(options: { messages: ModelMessage[]; abortSignal?: AbortSignal }): PromiseLike<AiSdkRun>
}

/** The result of `streamText` and of the method `stream` of agents, in AI SDK 6 and 7. */
export interface AiSdkRun {
  readonly fullStream: AsyncIterable<unknown>
  readonly response: PromiseLike<{ readonly messages: readonly unknown[] }>
  /** AI SDK 7: includes the results of approved tools, which `response` lacks. */
  readonly responseMessages?: PromiseLike<readonly unknown[]>
  readonly output?: PromiseLike<unknown>
}

/** Runs one turn: `(turn, messages) => streamText({ model, messages, abortSignal: turn.signal })`. */
export type AiSdkFunction = (turn: Turn, messages: ModelMessage[]) => AiSdkRun | PromiseLike<AiSdkRun>

/** Options of `fromAiSdk`. */
export interface FromAiSdkOptions {
  /** The maximum number of earlier tasks of the conversation that the model sees, 0 to 100. Default 20. */
  readonly maxEarlierTasks?: number
}

/**
 * Makes an A2A agent of an agent of the AI SDK, or of a function that calls `streamText`. The model sees the earlier tasks
 * of the context. A tool that needs approval asks the caller; the task waits, also across restarts, and the tool is executed
 * when the caller approves. Callers see text, tool calls, reasoning, files and usage.
 *
 * ```ts
 * await serve(fromAiSdk(new ToolLoopAgent({ model, tools }), { name: 'Payer' }))
 * ```
 */
export function fromAiSdk(
  source: AiSdkAgent | AiSdkFunction,
  card: string | AgentInit,
  options: FromAiSdkOptions = {},
): Agent {
  assertOptions('fromAiSdk', options, { maxEarlierTasks: earlierTasks } satisfies NamesOf<FromAiSdkOptions>)
  const { maxEarlierTasks = 20 } = options
  const run = runOf(source)
  return agent(agentInit(card, 'fromAiSdk'), async function* (turn: Turn) {
    const { earlier, own } = await conversationOf(turn, maxEarlierTasks)
    const result = await run(turn, [...earlier, ...own.map((message) => resolve(message, turn))])
    const reader = new RunReader(turn)
    for await (const part of partsOf(result, turn.signal)) yield* reader.read(part)
    const { asked } = reader
    if (asked.length === 0) return yield* outputOf(result)
    const answers = (await result.responseMessages) ?? (await result.response).messages
    const waiting: WaitingRun = { own: [...own, ...(toJson(answers) as Struct[])], asked: asked.map(approvalOf) }
    await turn.checkpoint(keyOf(turn.number), waiting as unknown as JsonValue)
    const hint = asked
      .map(({ reason }) => reason)
      .filter(Boolean)
      .join('\n')
    const tools = asked.map(({ toolCall }) => toolApprovalOf(toolCall))
    yield approve(tools, hint === '' ? {} : { hint })
  })
}

function runOf(source: AiSdkAgent | AiSdkFunction): AiSdkFunction {
  if (typeof source === 'function') return source
  if (isObject(source) && typeof source.stream === 'function')
    return (turn, messages) => source.stream({ messages, abortSignal: turn.signal })
  throw new TypeError('`fromAiSdk` takes an agent of the AI SDK, or (turn, messages) => streamText({ … })')
}

/** A run that waits for approvals, as the checkpoint keeps it. */
interface WaitingRun {
  readonly own: readonly OwnMessage[]
  readonly asked: readonly { readonly approvalId: string; readonly toolCallId: string }[]
}

/** A message of the task for the model. Messages of the caller are in the history already, with their files. */
type OwnMessage = { readonly sent: string } | Struct

/** The key of the run that a turn left waiting. Only the next turn answers it. */
function keyOf(turn: number): string {
  return `ai-sdk-${turn}`
}

async function conversationOf(
  turn: Turn,
  limit: number,
): Promise<{ readonly earlier: ModelMessage[]; readonly own: readonly OwnMessage[] }> {
  const earlierTasks = limit > 0 ? await turn.earlier({ limit }) : []
  const first = turn.history.find(({ role }) => role === 'ROLE_USER') ?? turn.message
  const earlier = earlierMessages(earlierTasks, first)
  const sent = { sent: turn.message.messageId }
  const waiting = turn.checkpoints.get(keyOf(turn.number - 1)) as WaitingRun | undefined // written by `fromAiSdk`
  if (waiting) return { earlier, own: [...waiting.own, decisionMessage(turn, waiting)] }
  if (turn.number === 1) return { earlier, own: [sent] }
  // A message that came while another one was handled.
  const history = turn.history.filter(({ messageId }) => messageId !== turn.message.messageId)
  return { earlier: [...earlier, ...taskMessages({ ...turn.task, history })], own: [sent] }
}

function decisionMessage({ approvals, text }: Turn, { asked }: WaitingRun): Struct {
  const content = asked.map(({ approvalId, toolCallId }) => {
    // Without a decision the tool is not called.
    const { approved, reason = '' } = approvals?.get(idOf(toolCallId)) ?? { approved: false, reason: text }
    return { type: 'tool-approval-response', approvalId, approved, ...(reason !== '' && { reason }) }
  })
  return { role: 'tool', content }
}

function resolve(message: OwnMessage, { history, message: current }: Turn): ModelMessage {
  // Other messages come from the AI SDK, by way of the checkpoint.
  if (typeof message.sent !== 'string') return message as unknown as ModelMessage
  return userMessage(history.find(({ messageId }) => messageId === message.sent) ?? current)
}

interface ToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
}

interface AskedApproval {
  readonly approvalId: string
  readonly toolCall: ToolCall
  readonly reason?: string
}

function approvalOf({ approvalId, toolCall }: AskedApproval): WaitingRun['asked'][number] {
  return { approvalId, toolCallId: toolCall.toolCallId }
}

function toolApprovalOf({ toolCallId, toolName, input }: ToolCall) {
  return { id: idOf(toolCallId), name: toolName, args: toJson(input) ?? {} }
}

/** The parts of `fullStream` that are read; AI SDK 6 and 7 agree in them. */
export type RunPart =
  | { readonly type: 'text-start'; readonly id: string }
  | { readonly type: 'text-delta'; readonly id: string; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly id: string; readonly text: string }
  | { readonly type: 'reasoning-end'; readonly id: string }
  | ({ readonly type: 'tool-call' } & ToolCall)
  | ({ readonly type: 'tool-result'; readonly output: unknown; readonly preliminary?: boolean } & ToolCall)
  | ({ readonly type: 'tool-error' } & ToolCall)
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string; readonly toolName: string }
  | ({ readonly type: 'tool-approval-request'; readonly isAutomatic?: boolean } & AskedApproval)
  | { readonly type: 'file'; readonly file: { readonly base64: string; readonly mediaType: string } }
  | { readonly type: 'finish-step'; readonly response: { readonly modelId: string } }
  | { readonly type: 'finish'; readonly totalUsage: RunUsage }
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'abort' }

interface RunUsage {
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly totalTokens: number | undefined
  readonly inputTokenDetails?: { readonly cacheReadTokens: number | undefined }
}

/** Reasoning is sent in pieces of about this many characters: each one is an event of the log. */
const reasoningPiece = 400

/** Reads the parts of a run as yields of a turn. */
class RunReader {
  /** The tool calls that wait for the caller. */
  readonly asked: AskedApproval[] = []
  readonly #turn: Turn
  #hasText = false
  #reasoning = ''
  #model: string | undefined
  #files = 0

  constructor(turn: Turn) {
    this.#turn = turn
  }

  *read(part: RunPart): Generator<Yield, void, void> {
    switch (part.type) {
      case 'text-start':
        // Texts of several steps are paragraphs of one answer.
        if (this.#hasText) yield '\n\n'
        break
      case 'text-delta':
        if (part.text === '') break
        this.#hasText = true
        yield part.text
        break
      case 'reasoning-delta':
        this.#reasoning += part.text
        if (this.#reasoning.length >= reasoningPiece) yield* this.#reason(part.id)
        break
      case 'reasoning-end':
        yield* this.#reason(part.id)
        break
      case 'tool-call': {
        const { id, name, args: input } = toolApprovalOf(part)
        yield step({ kind: 'tool-call', id, name, input })
        break
      }
      case 'tool-result':
        if (!part.preliminary) yield this.#result(part, { output: toJson(part.output) ?? null })
        break
      case 'tool-error':
        // The error may name files or addresses of this server. The model sees it, the caller does not.
        yield this.#result(part, { isError: true, output: 'The tool failed' })
        break
      case 'tool-output-denied':
        yield this.#result(part, { isError: true, output: { type: deniedType } })
        break
      case 'tool-approval-request':
        if (!part.isAutomatic) this.asked.push(part)
        break
      case 'file':
        this.#files += 1
        yield artifact(`file-${this.#files}`, { raw: part.file.base64, mediaType: part.file.mediaType })
        break
      case 'finish-step':
        this.#model = part.response.modelId
        break
      case 'finish':
        this.#turn.usage.add(usageOf(part.totalUsage, this.#model))
        break
      case 'error':
        throw part.error instanceof Error ? part.error : new Error('The run failed', { cause: part.error })
      case 'abort':
        this.#turn.signal.throwIfAborted()
        throw new Error('The run was aborted')
    }
  }

  *#reason(id: string): Generator<Yield, void, void> {
    const text = this.#reasoning
    this.#reasoning = ''
    if (text !== '') yield step({ kind: 'reasoning', id: idOf(id), text })
  }

  #result(
    { toolCallId, toolName: name }: Pick<ToolCall, 'toolCallId' | 'toolName'>,
    result: { readonly output: JsonValue; readonly isError?: boolean },
  ): Yield {
    return step({ kind: 'tool-result', id: idOf(toolCallId), name, ...result })
  }
}

/** The parts of a run, until the signal aborts: a model may ignore it. */
async function* partsOf({ fullStream }: AiSdkRun, signal: AbortSignal): AsyncGenerator<RunPart, void, void> {
  const parts = (fullStream as AsyncIterable<RunPart>)[Symbol.asyncIterator]()
  for (;;) {
    const next = await unlessAborted(parts.next(), signal)
    if (next.done) return
    yield next.value
  }
}

/** The output of an agent with a schema, as data. Text has been sent already. */
async function* outputOf({ output }: AiSdkRun): AsyncGenerator<Yield, void, void> {
  const value = toJson(await output)
  if (value !== undefined && typeof value !== 'string') yield artifact('output', data(value))
}

function usageOf({ inputTokens, outputTokens, totalTokens, inputTokenDetails }: RunUsage, model?: string): Usage {
  const cachedTokens = inputTokenDetails?.cacheReadTokens
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(totalTokens !== undefined && { totalTokens }),
    ...(cachedTokens !== undefined && { cachedTokens }),
    ...(model !== undefined && { model: model.slice(0, 200) }),
  }
}

/** Ids of steps and approvals have at most 255 characters. */
function idOf(toolCallId: string): string {
  return toolCallId.slice(0, 255)
}
