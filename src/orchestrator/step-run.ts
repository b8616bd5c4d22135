/**
 * Has one step done: asks an agent, follows its task, passes its questions on, tries again and elsewhere. Every
 * attempt has a key of its own, made of the run, the step and its number: an agent that has been asked already
 * answers with the task it has (E-10). Where an agent knows no keys, its task is found by its id.
 */
import { requestedDelay, systemTiming } from '../client/retry.js'
import { taskIdIn } from '../engine/relay-agent.js'
import type { StatusDraft } from '../engine/yields.js'
import { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { Part } from '../model/part.js'
import { textOf } from '../model/part.js'
import type { AgentService, CallContext, SendMessageRequest } from '../model/service.js'
import { isInterrupted, type Task, type TaskStatus } from '../model/task.js'
import { traceContextOf } from '../model/trace-context.js'
import { TransportError, wasNotSent } from '../model/transport-error.js'
import { AttemptPlan, RetryBudget } from './attempt-plan.js'
import { answerId, ChildTask, followTask, isPaused, sendAndFollow, startNote } from './child-task.js'
import type { Step, StepAgent, StepMessage } from './flow.js'
import { nameOf, placeOf, UnknownAgentError } from './step-agents.js'
import type { StepRecord } from './step-record.js'
import { StepError, StepResult } from './step-result.js'
import { createTimeLimit } from './time-limit.js'
import { type StepSpan, traceStep } from './trace-step.js'
import type { WorkflowRun } from './workflow-run.js'

type AttemptOutcome =
  | { readonly child: ChildTask }
  | { readonly why: string; readonly canRetry: boolean; readonly cause?: unknown }

const defaultRetryBudgetMs = 30_000
const maxSilenceMs = 3_000
const graceMs = 1_000
const maxCancelMs = 5_000

export class StepRun {
  readonly #run: WorkflowRun
  readonly #name: string
  readonly #step: Step
  readonly #plan: AttemptPlan
  readonly #span: StepSpan | undefined
  #retryBudget = new RetryBudget(systemTiming, Date.now)
  #record: StepRecord
  #service: AgentService | undefined
  #isAnswered = false
  #isCancelled = false
  #mayHaveBegun = false
  #named: Promise<void> | undefined
  #onNamed: () => void = () => undefined

  constructor(run: WorkflowRun, name: string, step: Step, kind: StepRecord['kind']) {
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
        this.#named = new Promise((resolve) => {
          this.#onNamed = resolve
        })
      }
      await this.#write({
        ...this.#record,
        state: 'running',
        agent: nameOf(agent),
        ...(place !== undefined && { place }),
      })
      if (this.#record.taskId === undefined) this.#run.tell(startNote(this.#name, nameOf(agent)))
      const outcome = await this.#attempt(agent).finally(this.#onNamed)
      this.#run.delivered(this.#name)
      if ('child' in outcome) return await this.#done(outcome.child)
      if (this.#run.isFailing && this.#record.kind !== 'undo') throw this.#run.over
      const next = this.#plan.after(this.#record.attempt, outcome.canRetry)
      if (next === undefined) return await this.#failed(outcome.why, outcome.cause)
      await this.#run.pause(this.#plan.delayBefore(next, outcome.cause, systemTiming))
      const { taskId: _lost, ...rest } = this.#record
      this.#record = { ...rest, attempt: next, attemptAt: Date.now(), error: outcome.why }
      this.#mayHaveBegun = false
    }
  }

  /** Ends the task at the agent; one that is being asked just now is waited for until it has a name. */
  async cancel(): Promise<void> {
    this.#isCancelled = true
    if (this.#service) await this.named()
    await this.#letGo()
  }

  /** Resolves when the agent has told the name of its task, or is not going to. */
  async named(): Promise<void> {
    await this.#named
  }

  async #attempt(agent: StepAgent): Promise<AttemptOutcome> {
    const { timeoutMs } = this.#step
    using limit = createTimeLimit(this.#run.left)
    this.#retryBudget = new RetryBudget(systemTiming, Date.now)
    // What ended while nobody looked is still taken.
    let earliest = this.#record.taskId === undefined ? 0 : Date.now() + graceMs
    for (;;) {
      if (timeoutMs !== undefined) limit.at(Math.max(this.#record.attemptAt + timeoutMs, earliest))
      try {
        return await this.#exchange(agent, limit.signal)
      } catch (error) {
        if (error === this.#run.over || this.#run.left.aborted) throw this.#run.over
        if (limit.isLate) {
          await this.#letGo()
          return { why: `${nameOf(agent)} was not done within ${timeoutMs} ms`, canRetry: true }
        }
        this.#mayHaveBegun ||= !wasNotSent(error)
        earliest = 0
        const delayMs = this.#retryBudget.delayAfter(error, this.#retryBudgetMs)
        if (delayMs === undefined) return failureOf(agent, error)
        await systemTiming.wait(delayMs, limit.signal).catch(() => undefined) // looked at above
      }
    }
  }

  /** Tells the agent that nobody waits for its task any more, if it is known. Who is asked next does not wait for long. */
  async #letGo(): Promise<void> {
    const id = this.#record.taskId
    if (id === undefined) return
    const signal = AbortSignal.timeout(maxCancelMs)
    await this.#service?.cancelTask({ id }, this.#context(signal)).catch(() => undefined) // it may have ended meanwhile
  }

  /**
   * A task that is somewhere is waited for. Who went silent while it was being asked may have begun, and is asked
   * once more with the same key before another one is; who was never reached has nothing to lose.
   */
  get #retryBudgetMs(): number {
    const { retryBudgetMs = defaultRetryBudgetMs } = this.#step
    const isOnlyHope = this.#record.taskId !== undefined || this.#plan.after(this.#record.attempt, true) === undefined
    if (isOnlyHope) return retryBudgetMs
    return this.#mayHaveBegun ? Math.min(retryBudgetMs, maxSilenceMs) : 0
  }

  async #exchange(agent: StepAgent, signal: AbortSignal): Promise<AttemptOutcome> {
    const { turn, agents } = this.#run
    this.#service = await agents.find(agent, this.#record.attempt, turn)
    if (this.#isCancelled) throw this.#run.over
    const child = new ChildTask(this.#name)
    // Whoever asks again is `Patience`, and nobody below it.
    const context: CallContext = { ...this.#context(signal), attempts: 1 }
    for await (const event of await this.#events(this.#service, context)) {
      this.#retryBudget.heard()
      await this.#learnName(event)
      for (const said of child.see(event)) await this.#run.say(said)
    }
    if (child.message) return { child }
    const { task } = child
    if (!task || !isPaused(task)) throw new TransportError('broken-stream', 'The agent said no more')
    const { status } = task
    if (isInterrupted(status.state)) return await this.#ask(agent, status)
    if (status.state === 'TASK_STATE_COMPLETED') return { child }
    // We may have been killed when we had let go of it, and before another attempt was written down.
    const isLetGo = status.state === 'TASK_STATE_CANCELED' && this.#isLate
    return { why: `${nameOf(agent)} ${wordsFor(status)}`, canRetry: status.state === 'TASK_STATE_FAILED' || isLetGo }
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
    const parts = status.message?.parts.length ? status.message.parts : [{ text: `${nameOf(agent)} asks for more` }]
    const question: StatusDraft = {
      kind: 'status',
      state: status.state as StatusDraft['state'], // one of the two questions
      parts: [{ text: `${this.#name}: ` }, ...parts],
    }
    return await this.#run.ask(this.#name, fingerprintOf(status), question)
  }

  async #learnName(event: StreamResponse): Promise<void> {
    const taskId = taskIdIn(event)
    if (taskId === undefined || taskId === this.#record.taskId) return
    this.#record = { ...this.#record, taskId }
    this.#onNamed()
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

  async #failed(why: string, cause: unknown): Promise<never> {
    await this.#write({ ...this.#record, state: 'failed', endedAt: Date.now(), error: why })
    throw new StepError(this.#name, this.#record.agent ?? '', why, cause)
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

function wordsFor({ state, message }: TaskStatus): string {
  const words = message ? textOf(message) : ''
  const what = state.replace('TASK_STATE_', '').toLowerCase()
  return words === '' ? what : `${what}: ${words}`
}

function failureOf(agent: StepAgent, error: unknown): AttemptOutcome {
  const name = nameOf(agent)
  if (error instanceof UnknownAgentError) return { why: error.message, canRetry: false, cause: error }
  // Who wants to be left alone for long is; there may be others.
  const isBackSoon = (requestedDelay(error) ?? 0) <= defaultRetryBudgetMs
  if (error instanceof TransportError) return { why: `${name} cannot be reached`, canRetry: isBackSoon, cause: error }
  if (error instanceof A2AError) {
    const canRetry = isBackSoon && !isOurFault.has(error.code)
    return { why: `${name} answers: ${error.message}`, canRetry, cause: error }
  }
  return { why: `${name} could not be asked`, canRetry: true, cause: error }
}

/** The same request would be refused again. */
const isOurFault: ReadonlySet<A2AError['code']> = new Set([
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

/** What tells a question from the next one: some peers make up ids each time they are asked. */
function fingerprintOf({ state, timestamp = '', message }: TaskStatus): string {
  return `${state} ${timestamp} ${message ? textOf(message).slice(0, 500) : ''}`
}

export function partsOf(said: StepMessage): readonly Part[] {
  return listOf(said).flatMap((each) => {
    if (typeof each === 'string') return [{ text: each }]
    return each instanceof StepResult ? each.parts : [each]
  })
}

/** The results a step builds on, each once. */
export function inputsOf({ message, after = [] }: Pick<Step, 'message' | 'after'>): readonly StepResult[] {
  const inMessage = listOf(message).filter((each) => each instanceof StepResult)
  return [...new Set([...inMessage, ...after])]
}

function listOf(said: StepMessage): readonly (string | Part | StepResult)[] {
  // `Array.isArray` does not narrow readonly arrays.
  return Array.isArray(said) ? (said as readonly (string | Part | StepResult)[]) : [said as string | Part | StepResult]
}
