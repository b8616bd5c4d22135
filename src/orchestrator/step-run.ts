/**
 * Runs one step: calls an agent, follows its task, forwards its questions, and retries at the same or another agent. Each
 * attempt has an idempotency key from the run, the step and the attempt number, so that a repeated call gets the same task
 * (E-10). At agents without idempotency keys, the task is found by its id.
 */
import { requestedDelay, systemTiming } from '../client/retry.js'
import type { Turn } from '../engine/agent.js'
import { taskIdIn } from '../engine/relay-agent.js'
import type { StatusDraft, Yield } from '../engine/yields.js'
import { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { Message } from '../model/message.js'
import { type Part, textOf } from '../model/part.js'
import type { AgentService, CallContext, SendMessageRequest } from '../model/service.js'
import { isInterrupted, type Task, type TaskStatus } from '../model/task.js'
import { traceContextOf } from '../model/trace-context.js'
import { TransportError, wasNotSent } from '../model/transport-error.js'
import { AttemptPlan, RetryBudget } from './attempt-plan.js'
import { answerId, ChildTask, followTask, isPaused, sendAndFollow, startNote } from './child-task.js'
import type { Step, StepAgent, StepMessage } from './flow.js'
import { nameOf, placeOf, type StepAgents, UnknownAgentError } from './step-agents.js'
import type { StepRecord } from './step-record.js'
import { StepError, StepResult } from './step-result.js'
import { createTimeLimit } from './time-limit.js'
import { type StepSpan, traceStep } from './trace-step.js'

/** The parts of a workflow run that a step uses. */
export interface StepHost {
  readonly turn: Turn<unknown>
  readonly agents: StepAgents
  readonly records: ReadonlyMap<string, StepRecord>
  /** Rejection of work that stops because the turn is over. */
  readonly over: DOMException
  /** Aborted when the turn is over. */
  readonly left: AbortSignal
  readonly isFailing: boolean
  post(output: Yield): void
  yield(output: Yield): Promise<void>
  pause(ms: number): Promise<void>
  write(name: string, record: StepRecord): Promise<void>
  answerTo(step: string, fingerprint: string): Message | undefined
  delivered(step: string): void
  ask(step: string, fingerprint: string, question: StatusDraft): Promise<never>
}

type AttemptOutcome =
  | { readonly child: ChildTask }
  | { readonly reason: string; readonly canRetry: boolean; readonly cause?: unknown }

const defaultRetryBudgetMs = 30_000
const maxSilenceMs = 3_000
const graceMs = 1_000
const maxCancelMs = 5_000

export class StepRun {
  readonly #run: StepHost
  readonly #name: string
  readonly #step: Step
  readonly #plan: AttemptPlan
  readonly #span: StepSpan | undefined
  #retryBudget = new RetryBudget(systemTiming, Date.now)
  #record: StepRecord
  #service: AgentService | undefined
  #isAnswered = false
  #isCancelled = false
  #mayHaveStarted = false
  #taskIdKnown: Promise<void> | undefined
  #onTaskId: () => void = () => undefined

  constructor(run: StepHost, name: string, step: Step, kind: StepRecord['kind']) {
    this.#run = run
    this.#name = name
    this.#step = step
    this.#plan = new AttemptPlan(step)
    this.#span = traceStep(name, nameOf(this.#plan.agentOf(1)), run)
    const now = Date.now()
    const after = inputsOf(step).map((result) => result.name)
    this.#record = run.records.get(name) ?? {
      kind,
      state: 'running',
      startedAt: now,
      attempt: 1,
      attemptAt: now,
      ...(after.length > 0 && { after }),
    }
  }

  result(): Promise<StepResult> {
    return this.#span ? this.#span.run(() => this.#work()) : this.#work()
  }

  async #work(): Promise<StepResult> {
    for (;;) {
      const agent = this.#plan.agentOf(this.#record.attempt)
      const place = placeOf(agent)
      if (this.#record.taskId === undefined) {
        this.#taskIdKnown = new Promise((resolve) => {
          this.#onTaskId = resolve
        })
      }
      await this.#write({
        ...this.#record,
        state: 'running',
        agent: nameOf(agent),
        ...(place !== undefined && { place }),
      })
      if (this.#record.taskId === undefined) this.#run.post(startNote(this.#name, nameOf(agent)))
      const outcome = await this.#attempt(agent).finally(this.#onTaskId)
      this.#run.delivered(this.#name)
      if ('child' in outcome) return await this.#done(outcome.child)
      if (this.#run.isFailing && this.#record.kind !== 'undo') throw this.#run.over
      const next = this.#plan.after(this.#record.attempt, outcome.canRetry)
      if (next === undefined) return await this.#failed(outcome.reason, outcome.cause)
      await this.#run.pause(this.#plan.delayBefore(next, outcome.cause, systemTiming))
      const { taskId: _lost, ...rest } = this.#record
      this.#record = { ...rest, attempt: next, attemptAt: Date.now(), error: outcome.reason }
      this.#mayHaveStarted = false
    }
  }

  /** Cancels the task at the agent. If the call has just started, waits until the id of the task is known. */
  async cancel(): Promise<void> {
    this.#isCancelled = true
    if (this.#service) await this.taskIdKnown()
    await this.#cancelTask()
  }

  /** Resolves when the id of the task is known, or the attempt has ended. */
  async taskIdKnown(): Promise<void> {
    await this.#taskIdKnown
  }

  async #attempt(agent: StepAgent): Promise<AttemptOutcome> {
    const { timeoutMs } = this.#step
    using limit = createTimeLimit(this.#run.left)
    this.#retryBudget = new RetryBudget(systemTiming, Date.now)
    // A task that ended while this process was down is still accepted.
    let earliest = this.#record.taskId === undefined ? 0 : Date.now() + graceMs
    for (;;) {
      if (timeoutMs !== undefined) limit.at(Math.max(this.#record.attemptAt + timeoutMs, earliest))
      try {
        return await this.#exchange(agent, limit.signal)
      } catch (error) {
        if (error === this.#run.over || this.#run.left.aborted) throw this.#run.over
        if (limit.isLate) {
          await this.#cancelTask()
          return { reason: `${nameOf(agent)} did not finish within ${timeoutMs} ms`, canRetry: true }
        }
        this.#mayHaveStarted ||= !wasNotSent(error)
        earliest = 0
        const delayMs = this.#retryBudget.delayAfter(error, this.#retryBudgetMs)
        if (delayMs === undefined) return failureOf(agent, error)
        await systemTiming.wait(delayMs, limit.signal).catch(() => undefined) // the loop checks the signal
      }
    }
  }

  /** Cancels the task if its id is known, within a short time limit, because the next attempt waits for it. */
  async #cancelTask(): Promise<void> {
    const id = this.#record.taskId
    if (id === undefined) return
    const signal = AbortSignal.timeout(maxCancelMs)
    await this.#service?.cancelTask({ id }, this.#context(signal)).catch(() => undefined) // the task may have ended
  }

  /**
   * The whole budget if the agent has the task or no other attempt is left. A short one if the call may have reached the
   * agent. None if it was never reached, so that the next attempt starts at once.
   */
  get #retryBudgetMs(): number {
    const { retryBudgetMs = defaultRetryBudgetMs } = this.#step
    const isLastChance = this.#record.taskId !== undefined || this.#plan.after(this.#record.attempt, true) === undefined
    if (isLastChance) return retryBudgetMs
    return this.#mayHaveStarted ? Math.min(retryBudgetMs, maxSilenceMs) : 0
  }

  async #exchange(agent: StepAgent, signal: AbortSignal): Promise<AttemptOutcome> {
    const { turn, agents } = this.#run
    this.#service = await agents.find(agent, this.#record.attempt, turn)
    if (this.#isCancelled) throw this.#run.over
    const child = new ChildTask(this.#name)
    // `RetryBudget` retries; the client below must not.
    const context: CallContext = { ...this.#context(signal), attempts: 1 }
    for await (const event of await this.#events(this.#service, context)) {
      this.#retryBudget.answered()
      await this.#learnTaskId(event)
      for (const output of child.apply(event)) await this.#run.yield(output)
    }
    if (child.message) return { child }
    const { task } = child
    if (!task || !isPaused(task)) throw new TransportError('broken-stream', 'The stream ended before the task')
    const { status } = task
    if (isInterrupted(status.state)) return await this.#ask(agent, status)
    if (status.state === 'TASK_STATE_COMPLETED') return { child }
    // The process may have crashed after it cancelled the task and before it stored the next attempt.
    const wasCancelledHere = status.state === 'TASK_STATE_CANCELED' && this.#isLate
    return {
      reason: `${nameOf(agent)} ${statusText(status)}`,
      canRetry: status.state === 'TASK_STATE_FAILED' || wasCancelledHere,
    }
  }

  get #isLate(): boolean {
    const { timeoutMs } = this.#step
    return timeoutMs !== undefined && Date.now() >= this.#record.attemptAt + timeoutMs
  }

  async #events(service: AgentService, context: CallContext): Promise<AsyncIterable<StreamResponse>> {
    const { taskId } = this.#record
    if (taskId === undefined) return sendAndFollow(service, this.#request(), { ...context, idempotencyKey: this.#key })
    const task = await service.getTask({ id: taskId }, context)
    const answer = this.#isAnswered ? undefined : this.#run.answerTo(this.#name, fingerprintOf(task.status))
    if (answer && isInterrupted(task.status.state)) return this.#answering(service, task, answer.parts, context)
    this.#run.delivered(this.#name)
    return followTask(service, task, context, systemTiming)
  }

  async *#answering(
    service: AgentService,
    { id, contextId }: Task,
    parts: SendMessageRequest['message']['parts'],
    context: CallContext,
  ): AsyncGenerator<StreamResponse, void, void> {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', taskId: id, contextId, parts } as const
    this.#record = { ...this.#record, attemptAt: Date.now() }
    const idempotencyKey = `${this.#key}:${this.#run.turn.number}`
    for await (const event of sendAndFollow(service, { message }, { ...context, idempotencyKey })) {
      this.#isAnswered = true
      this.#run.delivered(this.#name)
      yield event
    }
  }

  async #ask(agent: StepAgent, status: TaskStatus): Promise<never> {
    await this.#write({ ...this.#record, state: 'asking' })
    const parts = status.message?.parts.length ? status.message.parts : [{ text: `${nameOf(agent)} asks for input` }]
    const question: StatusDraft = {
      kind: 'status',
      state: status.state as StatusDraft['state'], // one of the two interrupted states
      parts: [{ text: `${this.#name}: ` }, ...parts],
    }
    return await this.#run.ask(this.#name, fingerprintOf(status), question)
  }

  async #learnTaskId(event: StreamResponse): Promise<void> {
    const taskId = taskIdIn(event)
    if (taskId === undefined || taskId === this.#record.taskId) return
    this.#record = { ...this.#record, taskId }
    this.#onTaskId()
    await this.#write(this.#record)
  }

  async #done({ message, task }: ChildTask): Promise<StepResult> {
    const { error: _past, ...record } = this.#record
    const artifacts = message
      ? [{ artifactId: answerId, name: this.#name, parts: message.parts }]
      : (task?.artifacts ?? [])
    const result = new StepResult({
      name: this.#name,
      agent: record.agent ?? '',
      artifacts,
      task: task && { id: task.id, contextId: task.contextId, status: task.status, artifacts },
    })
    const undo = this.#step.compensate?.(result)
    await this.#write({
      ...record,
      state: 'completed',
      endedAt: Date.now(),
      artifacts: artifacts.map(({ artifactId }) => artifactId),
      ...(task && { status: task.status }),
      ...(undo && { undo: { agent: placeOf(undo.agent) ?? '', parts: partsOf(undo.message) } }),
    })
    return result
  }

  async #failed(reason: string, cause: unknown): Promise<never> {
    await this.#write({ ...this.#record, state: 'failed', endedAt: Date.now(), error: reason })
    throw new StepError(this.#name, this.#record.agent ?? '', reason, cause)
  }

  get #key(): string {
    return `${this.#run.turn.task.id}:${this.#name}:${this.#record.attempt}`
  }

  #request(): SendMessageRequest {
    const { contextId } = this.#run.turn
    const { message, metadata } = this.#step
    const referenceTaskIds = inputsOf(this.#step).flatMap(({ task }) => (task ? [task.id] : []))
    return {
      message: {
        messageId: crypto.randomUUID(),
        role: 'ROLE_USER',
        contextId,
        parts: partsOf(message),
        ...(referenceTaskIds.length > 0 && { referenceTaskIds }),
      },
      ...(metadata && { metadata }),
    }
  }

  #context(signal?: AbortSignal): CallContext {
    const { caller } = this.#run.turn
    return { caller, ...(signal && { signal }), ...traceContextOf(this.#span?.trace ?? this.#run.turn) }
  }

  async #write(record: StepRecord): Promise<void> {
    this.#record = record
    await this.#run.write(this.#name, record)
  }
}

function statusText({ state, message }: TaskStatus): string {
  const words = message ? textOf(message) : ''
  const what = state.replace('TASK_STATE_', '').toLowerCase()
  return words === '' ? what : `${what}: ${words}`
}

function failureOf(agent: StepAgent, error: unknown): AttemptOutcome {
  const name = nameOf(agent)
  if (error instanceof UnknownAgentError) return { reason: error.message, canRetry: false, cause: error }
  // An agent that requests a long delay is not retried; the next one is tried.
  const isBackSoon = (requestedDelay(error) ?? 0) <= defaultRetryBudgetMs
  if (error instanceof TransportError)
    return { reason: `${name} cannot be reached`, canRetry: isBackSoon, cause: error }
  if (error instanceof A2AError) {
    const canRetry = isBackSoon && !requestErrors.has(error.code)
    return { reason: `${name} answers: ${error.message}`, canRetry, cause: error }
  }
  return { reason: `${name} could not be called`, canRetry: true, cause: error }
}

/** The agent would reject the same request again. */
const requestErrors: ReadonlySet<A2AError['code']> = new Set([
  'INVALID_REQUEST',
  'INVALID_PARAMS',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'CONTENT_TYPE_NOT_SUPPORTED',
  'EXTENSION_SUPPORT_REQUIRED',
  'VERSION_NOT_SUPPORTED',
  'UNSUPPORTED_OPERATION',
  'METHOD_NOT_FOUND',
  'PAYLOAD_TOO_LARGE',
])

/** Identifies a question by its content, because some peers change its message id with each read. */
function fingerprintOf({ state, timestamp = '', message }: TaskStatus): string {
  return `${state} ${timestamp} ${message ? textOf(message).slice(0, 500) : ''}`
}

function partsOf(message: StepMessage): readonly Part[] {
  return listOf(message).flatMap((each) => {
    if (typeof each === 'string') return [{ text: each }]
    return each instanceof StepResult ? each.parts : [each]
  })
}

/** The results that a step depends on, without duplicates. */
function inputsOf({ message, after = [] }: Pick<Step, 'message' | 'after'>): readonly StepResult[] {
  const inMessage = listOf(message).filter((each) => each instanceof StepResult)
  return [...new Set([...inMessage, ...after])]
}

function listOf(message: StepMessage): readonly (string | Part | StepResult)[] {
  // `Array.isArray` does not narrow readonly arrays.
  return Array.isArray(message)
    ? (message as readonly (string | Part | StepResult)[])
    : [message as string | Part | StepResult]
}
