/**
 * Calls of tools: sends a message to an agent, reads the turn, and answers with its result or with a question.
 *
 * Clients of revision 2026-07-28 get a question as the result `input_required` and call again with the answer and the
 * request state. Older clients are asked while their call is open. Clients that cannot ask their user get text.
 */
import type {
  CallToolRequest,
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server'
import { readTurn } from '../../client/read-turn.js'
import { A2AError, clip } from '../../model/errors.js'
import type { Message } from '../../model/message.js'
import { data, type JsonValue, type Struct, text } from '../../model/part.js'
import type { CallContext, Caller } from '../../model/service.js'
import { isInterrupted, sentMessages, type Task } from '../../model/task.js'
import { TransportError } from '../../model/transport-error.js'
import { formOf, givenParts, type QuestionForm } from './form.js'
import type { ServerSdk } from './load-server.js'
import {
  authResult,
  endResult,
  errorResult,
  questionResult,
  runningResult,
  type TaskRef,
  TurnOutput,
} from './tool-result.js'
import { type AgentTool, replyTool, type ToolAgent, taskTool } from './tools.js'
import { following, one, type Reading, subscription, TurnWait } from './turn-wait.js'
import {
  answerId,
  partsIn,
  type Question,
  questionBefore,
  stateOf,
  urlIn,
  type Waiting,
  waitingIn,
} from './waiting-task.js'

type Result = CallToolResult | InputRequiredResult

/** The agents that a client may call, and for whom. */
export interface ToolAccess {
  readonly caller: Caller
  readonly agents: ReadonlyMap<string, ToolAgent>
  readonly tools: ReadonlyMap<string, AgentTool>
  /** Receives errors that the client must not see. */
  readonly onError: (error: unknown) => void
  /** The text after the error of an agent that requires credentials. */
  readonly authHint?: string
}

export interface ToolCallDeps {
  readonly sdk: ServerSdk
  readonly waitMs: number
  /** Whether the server shuts down: connections that it closes do not cancel tasks. */
  readonly isClosing: () => boolean
  /** The capabilities that the client declared when it connected; later revisions declare them with each request. */
  readonly clientCapabilities: () => ClientCapabilities | undefined
}

/** The answer of the user: the content of the form if the action is `accept`. */
interface GivenAnswer {
  readonly action: 'accept' | 'decline' | 'cancel' | 'missing'
  readonly content?: Record<string, unknown> | undefined
}

/** A question that the user answers at a web page. */
interface QuestionLink {
  readonly message: string
  readonly url: string
}

/** A question that is asked again, because the answer was refused. */
interface Retry {
  /** The reason. */
  readonly remark?: string | undefined
  /** The number of refused answers. */
  readonly refusals?: number
}

/** The time that a client of an older revision has to answer. */
const askMs = 600_000
/** After as many refused answers, a client of an older revision gets the question as text. */
const maxRefusals = 3
const maxMessage = 4000

/** One call of a tool. */
export class ToolCall {
  readonly #deps: ToolCallDeps
  readonly #access: ToolAccess
  readonly #ctx: ServerContext
  readonly #asCaller: Pick<CallContext, 'caller'>
  #progress = 0

  constructor(deps: ToolCallDeps, access: ToolAccess, ctx: ServerContext) {
    this.#deps = deps
    this.#access = access
    this.#ctx = ctx
    this.#asCaller = { caller: access.caller }
  }

  /** Errors of agents are results, so that the model reads them. */
  async answer(params: CallToolRequest['params']): Promise<Result> {
    try {
      return await this.#dispatch(params)
    } catch (error) {
      if (error instanceof this.#deps.sdk.ProtocolError) throw error
      const { authHint, onError } = this.#access
      if (error instanceof A2AError && error.code === 'UNAUTHENTICATED' && authHint !== undefined)
        return errorResult(`${error.message}. ${authHint}`)
      if (error instanceof A2AError && error.code !== 'INTERNAL_ERROR') return errorResult(error.message)
      if (error instanceof TransportError) return errorResult(`The agent cannot be reached: ${error.message}`)
      onError(error)
      return errorResult('Internal error')
    }
  }

  async #dispatch({ name, arguments: given = {} }: CallToolRequest['params']): Promise<Result> {
    const args = given as Struct // the arguments were JSON
    const state = this.#ctx.mcpReq.requestState<string>()
    const tool = this.#access.tools.get(name)
    if (!tool && name !== replyTool && name !== taskTool) throw this.#invalid(`Tool not found: ${clip(name)}`)
    if (state !== undefined) return await this.#resume(state, tool)
    if (tool) return await this.#begin(tool, args)
    return name === replyTool ? await this.#reply(args) : await this.#follow(args)
  }

  async #begin({ agent, skillId }: AgentTool, args: Struct): Promise<Result> {
    const { message, context_id: contextId } = args
    if (skillId === undefined && (typeof message !== 'string' || message === ''))
      return errorResult('message: must be a text')
    if (skillId === undefined && contextId !== undefined && typeof contextId !== 'string')
      return errorResult('context_id: must be a text')
    const content: Pick<Message, 'parts' | 'contextId' | 'metadata'> =
      skillId === undefined
        ? { parts: [text(String(message))], ...(typeof contextId === 'string' && { contextId }) }
        : { parts: [data(args)], metadata: { skillId } }
    return await this.#read(this.#sending(agent, { messageId: crypto.randomUUID(), ...content }))
  }

  /** Answers the question of a task, for clients that cannot ask their user. */
  async #reply({ task_id: ref, answer }: Struct): Promise<Result> {
    const { agent, taskId } = this.#taskOf(ref)
    if (answer === undefined || answer === '') return errorResult('answer: must not be empty')
    const task = await agent.service.getTask({ id: taskId }, this.#asCaller)
    const { state } = task.status
    if (!isInterrupted(state)) return errorResult(`The task does not wait for an answer: it is ${state}`)
    const turn = sentMessages(task).length
    // One key for each question: it has one answer. Agents of other vendors may keep no history.
    const messageId = turn === 0 ? crypto.randomUUID() : answerId({ agent, taskId, turn })
    try {
      return await this.#read(this.#sending(agent, { messageId, taskId, parts: givenParts(answer) }))
    } catch (error) {
      if (!(error instanceof A2AError && error.code === 'INVALID_REQUEST')) throw error
      return errorResult(`The question is not open any more: ${error.message}`)
    }
  }

  /** Waits for the end of a task. A client that stops waiting does not cancel it: the tool is declared as read-only. */
  async #follow({ task_id: ref }: Struct): Promise<Result> {
    const { agent, taskId } = this.#taskOf(ref)
    const task = await agent.service.getTask({ id: taskId }, this.#asCaller)
    return await this.#read(following(agent, task), {}, () => false)
  }

  /** Continues the call that asked. */
  async #resume(state: string, tool: AgentTool | undefined): Promise<Result> {
    const waiting = waitingIn(state, this.#access.agents)
    if (!waiting || (tool && tool.agent.key !== waiting.agent.key)) throw this.#invalidState()
    const response = this.#deps.sdk.inputResponse(this.#ctx.mcpReq.inputResponses, 'answer')
    return await this.#continue(waiting, response.kind === 'elicit' ? response : { action: 'missing' })
  }

  /** Continues with the answer of the user. Throws if the task does not wait for it, or does not exist for the caller. */
  async #continue(waiting: Waiting, given: GivenAnswer, refusals = 0): Promise<Result> {
    const { agent, taskId, turn, authSeq } = waiting
    const task = await agent.service.getTask({ id: taskId }, this.#asCaller).catch((error: unknown) => {
      throw error instanceof A2AError && error.code === 'TASK_NOT_FOUND' ? this.#invalidState() : error
    })
    const sent = sentMessages(task)
    // Agents of other vendors may keep no history.
    const isAtTurn = sent.length === 0 || sent.length === turn
    const isOpen = isAtTurn && isInterrupted(task.status.state)
    if (isOpen && given.action === 'missing') return await this.#read(following(agent, task))
    if (isOpen && given.action !== 'accept') return await this.#declined(agent, task)
    // The credential arrives at the agent, which may have continued already.
    if (isAtTurn && authSeq !== undefined) return await this.#afterSignIn(agent, task, { turn, after: authSeq })
    if (isOpen) return await this.#answer(waiting, task, given, refusals)
    // The client may have lost the result of its answer and repeat it.
    const repeated = sent[turn]
    if (repeated?.messageId !== answerId(waiting)) throw this.#invalidState()
    const parts = partsIn(given.content, questionBefore(task, repeated))
    if (JSON.stringify(repeated.parts) !== JSON.stringify(parts)) throw this.#invalidState()
    return await this.#read({ ...subscription(agent, task), turn: turn + 1 })
  }

  async #answer(waiting: Waiting, task: Task, { content }: GivenAnswer, refusals: number): Promise<Result> {
    const { agent, taskId } = waiting
    const parts = partsIn(content, task.status.message)
    try {
      return await this.#read(this.#sending(agent, { messageId: answerId(waiting), taskId, parts }))
    } catch (error) {
      if (!(error instanceof A2AError && error.code === 'INVALID_PARAMS')) throw error
      // The answer does not fit the form: the agent still waits.
      return await this.#read(following(agent, task), { remark: error.message, refusals: refusals + 1 })
    }
  }

  async #afterSignIn(agent: ToolAgent, task: Task, place: { readonly turn: number; readonly after: number }) {
    if (task.status.state !== 'TASK_STATE_AUTH_REQUIRED') return await this.#read(following(agent, task))
    // An agent without positions shows the old request again: the client is not asked twice.
    const retry = place.after === 0 ? { refusals: Number.POSITIVE_INFINITY } : {}
    return await this.#read({ ...subscription(agent, task), ...place }, retry)
  }

  /** The user did not answer. The task keeps waiting. */
  async #declined(agent: ToolAgent, task: Task): Promise<Result> {
    for await (const event of readTurn(one(task))) {
      if (event.kind !== 'question' && event.kind !== 'auth') continue
      const asked = { ...event, text: `${event.text} (The user did not answer.)` }
      return this.#asText(asked, TurnOutput.of(task), { taskId: `${agent.key}/${task.id}`, contextId: task.contextId })
    }
    return errorResult('The user did not answer')
  }

  /** Whether the agent has a tool that continues a conversation. Tools of skills take the arguments of their schema only. */
  #takesMessages({ key }: ToolAgent): boolean {
    return [...this.#access.tools.values()].some((tool) => tool.agent.key === key && tool.skillId === undefined)
  }

  /** Reads a turn until it ends or asks, or until the client stops waiting. */
  async #read(
    reading: Reading,
    { remark, refusals = 0 }: Retry = {},
    isCancelled = () => this.#isCancelled(),
  ): Promise<Result> {
    const { agent } = reading
    const { signal } = this.#ctx.mcpReq
    const waiting = new TurnWait(reading, this.#asCaller, this.#deps.waitMs)
    const end = await waiting.follow({
      signal,
      isCancelled,
      onProgress: (message) => this.#report(message),
    })
    const { output, task } = waiting
    const ref = { taskId: task.id === undefined ? undefined : `${agent.key}/${task.id}`, contextId: task.contextId }
    switch (end.kind) {
      case 'end':
        return endResult(end, await this.#wholeOutput(reading, waiting), ref, this.#takesMessages(agent))
      case 'cancelled':
        return errorResult('The call was cancelled')
      case 'running':
        return task.id === undefined ? errorResult('The agent did not answer in time') : runningResult(output, ref)
      default: {
        const authSeq = end.kind === 'auth' ? (end.seq ?? 0) : undefined
        const asking = { agent, taskId: task.id ?? '', turn: task.turn, authSeq }
        return await this.#ask(end, asking, output, ref, { remark, refusals })
      }
    }
  }

  async #ask(
    question: Question,
    waiting: Waiting,
    output: TurnOutput,
    ref: TaskRef,
    { remark, refusals = 0 }: Retry,
  ): Promise<Result> {
    const request = refusals > maxRefusals ? undefined : this.#requestFor(question, output, remark)
    if (!request) return this.#asText(question, output, ref)
    if (this.#isModern) {
      const { inputRequired } = this.#deps.sdk
      const asked = 'url' in request ? inputRequired.elicitUrl(request) : inputRequired.elicit(request)
      return inputRequired({ inputRequests: { answer: asked }, requestState: stateOf(waiting) })
    }
    const params =
      'url' in request
        ? { mode: 'url' as const, ...request, elicitationId: crypto.randomUUID() }
        : { mode: 'form' as const, ...request }
    const { signal, id } = this.#ctx.mcpReq
    // Related to the call, because a client need not listen to a stream of its own. Clients cancel a call that their user
    // does not answer in time; nothing runs then, so the task keeps waiting.
    const options = { timeout: askMs, signal, relatedRequestId: id }
    const given = await this.#ctx.mcpReq.elicitInput(params, options).catch(() => undefined)
    return given ? await this.#continue(waiting, given, refusals) : this.#asText(question, output, ref)
  }

  /** The question as a form or a link; undefined if the client cannot show it. */
  #requestFor(
    question: Question,
    output: TurnOutput,
    remark: string | undefined,
  ): QuestionForm | QuestionLink | undefined {
    const { elicitation } = this.#capabilities() ?? {}
    if (!elicitation) return undefined
    if (question.kind === 'auth') {
      const url = elicitation.url ? urlIn(question) : undefined
      return url === undefined ? undefined : { message: question.text || 'The agent needs you to sign in', url }
    }
    // A client that names no mode supports forms.
    if (!elicitation.form && elicitation.url) return undefined
    const { message, requestedSchema } = formOf(question.text, question.schema)
    const shown = [remark, output.text.slice(0, maxMessage), message].filter(Boolean).join('\n\n')
    return { message: shown, requestedSchema }
  }

  #asText(question: Question, output: TurnOutput, ref: TaskRef): CallToolResult {
    return question.kind === 'auth' ? authResult(question, output, ref) : questionResult(question, output, ref)
  }

  /** A later turn does not repeat the output of earlier ones, which a client that was asked has not seen. */
  async #wholeOutput({ agent, after = 0 }: Reading, { task, output }: TurnWait): Promise<TurnOutput> {
    if (task.id === undefined || (task.turn === 1 && after === 0)) return output
    try {
      return TurnOutput.of(await agent.service.getTask({ id: task.id }, this.#asCaller))
    } catch {
      return output // the agent cannot show its tasks
    }
  }

  #sending(agent: ToolAgent, content: Omit<Message, 'role'>): Reading {
    const message: Message = { role: 'ROLE_USER', ...content }
    return {
      agent,
      open: (context) =>
        agent.service.sendStreamingMessage({ message }, { ...context, idempotencyKey: message.messageId }),
    }
  }

  #report(message: string): void {
    const { _meta: meta } = this.#ctx.mcpReq
    const progressToken = meta?.progressToken
    if (progressToken === undefined || message === '') return
    const params = { progressToken, progress: ++this.#progress, message: message.slice(0, maxMessage) }
    // A client that is gone is noticed by the signal.
    this.#ctx.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }

  /**
   * Whether the client asked to cancel: by a notification, or with revision 2026-07-28 over HTTP by closing the response.
   * Otherwise it left, or this server closed the connection.
   */
  #isCancelled(): boolean {
    const { reason } = this.#ctx.mcpReq.signal as { readonly reason: unknown }
    const { SdkError, SdkErrorCode } = this.#deps.sdk
    const isClosed = reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed
    return !isClosed || (this.#isModern && this.#ctx.http !== undefined && !this.#deps.isClosing())
  }

  get #isModern(): boolean {
    return this.#ctx.mcpReq.envelope !== undefined
  }

  #capabilities(): ClientCapabilities | undefined {
    const { envelope } = this.#ctx.mcpReq
    return envelope ? capabilitiesIn(envelope) : this.#deps.clientCapabilities()
  }

  #taskOf(ref: JsonValue | undefined): { readonly agent: ToolAgent; readonly taskId: string } {
    if (typeof ref !== 'string') throw new A2AError('INVALID_PARAMS', 'task_id: must be a text')
    const slash = ref.indexOf('/')
    const agent = this.#access.agents.get(ref.slice(0, slash))
    if (slash < 0 || !agent) throw new A2AError('TASK_NOT_FOUND', `Task not found: ${clip(ref)}`)
    return { agent, taskId: ref.slice(slash + 1) }
  }

  #invalid(message: string, details?: unknown): Error {
    const { ProtocolError, ProtocolErrorCode } = this.#deps.sdk
    return new ProtocolError(ProtocolErrorCode.InvalidParams, message, details)
  }

  #invalidState(): Error {
    return this.#invalid('Invalid or expired requestState', { reason: 'invalid_request_state' })
  }
}

/** The package declares the envelope without the names of its members. */
function capabilitiesIn(envelope: object): ClientCapabilities | undefined {
  return (envelope as { readonly 'io.modelcontextprotocol/clientCapabilities'?: ClientCapabilities })[
    'io.modelcontextprotocol/clientCapabilities'
  ]
}
