/** The turn as a handler sees it. */

import type { Decisions } from '../../model/approvals.js'
import { CopiedValues, copyJson } from '../../model/copy-json.js'
import { A2AError } from '../../model/errors.js'
import type { Log } from '../../model/log.js'
import type { Message } from '../../model/message.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { type JsonValue, type Struct, textOf } from '../../model/part.js'
import type { AgentService, Caller } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import type { AcceptedMessage } from '../../model/task-fold.js'
import type { TraceContext } from '../../model/trace-context.js'
import { addUsage, usage } from '../../model/usage.js'
import type { SharedTask } from '../access.js'
import type {
  Agent,
  AgentRef,
  CallAgentOptions,
  CallResult,
  CheckpointOptions,
  Credential,
  EarlierOptions,
  TaskScope,
  Turn,
  UsageMeter,
} from '../agent.js'
import type { Content } from '../yields.js'
import { callAgent, serviceFor, type TaskOwner } from './call-agent.js'
import { type StopController, stopError, waitAtMost } from './stop.js'
import type { TaskWriter } from './task-writer.js'
import { CheckpointWriter, type YieldWriter } from './yield-writer.js'

export interface TurnDeps {
  readonly agent: Agent
  readonly log: Log
  readonly newId: () => string
  /** Finds the agents that `turn.call` names. */
  readonly resolve: ((ref: AgentRef) => AgentService | undefined) | undefined
  /** Reads the other tasks of the context. */
  readonly earlier: (task: SharedTask, options: EarlierOptions) => Promise<readonly Task[]>
}

/** The state of a run that its turns share. */
export class RunState implements TaskOwner {
  readonly taskId: string
  readonly caller: Caller
  readonly tenant: string
  readonly #writer: TaskWriter
  readonly #output: YieldWriter
  readonly #stop: StopController
  readonly #run: { onFailed(error: unknown): void }
  /** Created with the first checkpoint: few handlers write any. */
  #checkpointWriter: CheckpointWriter | undefined
  #credential: Credential | undefined

  constructor(
    {
      owner,
      tenant,
      credential,
    }: { readonly owner: string; readonly tenant: string; readonly credential?: Credential },
    writer: TaskWriter,
    output: YieldWriter,
    stop: StopController,
    run: { onFailed(error: unknown): void },
  ) {
    this.taskId = writer.key.id
    this.caller = { id: owner }
    this.tenant = tenant
    this.#credential = credential
    this.#writer = writer
    this.#output = output
    this.#stop = stop
    this.#run = run
  }

  get isStopped(): boolean {
    return this.#stop.reason !== undefined
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get attempt(): number {
    return this.#output.attempt
  }

  /** The committed task; undefined before it exists. */
  get task(): Task | undefined {
    return this.#writer.fold.snapshot()
  }

  /** The question that the message of the current turn answers. */
  get answered(): Message | undefined {
    return this.#writer.fold.answered
  }

  get checkpoints(): ReadonlyMap<string, JsonValue> {
    return this.#writer.fold.checkpoints
  }

  /** Commits a checkpoint. Throws the stop error if the run was stopped. */
  async checkpoint(key: string, value: JsonValue, options?: CheckpointOptions): Promise<void> {
    let isWritten = false
    try {
      this.#checkpointWriter ??= new CheckpointWriter(this.#writer)
      isWritten = !this.isStopped && (await this.#checkpointWriter.write(key, value, options))
    } catch (error) {
      // A failure of the store is a failure of the run, not of the handler.
      if (error instanceof A2AError) this.#run.onFailed(error)
      throw error
    }
    if (!isWritten) throw stopError(this.#stop.reason ?? 'fenced')
  }

  /** Counts the usage of the task, if that extension is active. */
  usage(isActive: boolean): UsageMeter {
    const output = this.#output
    return {
      add(more) {
        if (isActive) output.addUsage(more)
        else addUsage({}, more) // finds mistakes of the author without a caller that asks for the extension
      },
      get total() {
        return isActive ? output.usage : {}
      },
    }
  }

  /** Returns the credential once. */
  takeCredential(): Credential | undefined {
    const credential = this.#credential
    this.#credential = undefined
    return credential
  }

  currentTask(current: AcceptedMessage): Task {
    return this.task ?? this.#output.provisionalTask(current)
  }
}

/** Facts of one attempt of a turn. */
interface TurnFacts {
  /** URIs of the active extensions. */
  readonly active: readonly string[]
  /** The output of the skills' schemas. */
  readonly checked: { readonly input: unknown } | undefined
  /** The decisions that the message brings. */
  readonly approvals: Decisions | undefined
  /** The turn's own span, if there is one. */
  readonly trace: TraceContext | undefined
}

const callNames = { taskId: true } satisfies NamesOf<CallAgentOptions>

/**
 * Implements `Turn`. Expensive members are created when the handler reads them. Values of the engine are copied once: a
 * handler that changes its message or history changes its own copy.
 */
export class RunningTurn implements Turn<unknown> {
  readonly extensions: readonly string[]
  readonly approvals: Decisions | undefined
  readonly #accepted: AcceptedMessage
  readonly #deps: TurnDeps
  readonly #scope: RunState
  readonly #credential: Credential | undefined
  readonly #trace: TraceContext
  /** The engine's own task. */
  #begun: Task | undefined
  #message: Message | undefined
  #data: { readonly input: unknown } | undefined
  #task: Task | undefined
  #history: readonly Message[] | undefined
  #metadata: Struct | undefined

  constructor(deps: TurnDeps, accepted: AcceptedMessage, scope: RunState, facts: TurnFacts) {
    this.#deps = deps
    this.#accepted = accepted
    this.#scope = scope
    this.#data = facts.checked
    this.#trace = facts.trace ?? accepted.request ?? {}
    this.extensions = facts.active
    this.approvals = facts.approvals
    this.#credential = scope.takeCredential()
  }

  get text(): string {
    return textOf(this.#accepted.message)
  }

  get message(): Message {
    this.#message ??= copyJson(this.#accepted.message)
    return this.#message
  }

  data(): unknown {
    this.#data ??= { input: copyJson(firstData(this.#accepted.message)) }
    return this.#data.input
  }

  get task(): Task {
    this.#task ??= copyJson(this.#taskAtStart)
    return this.#task
  }

  get history(): readonly Message[] {
    this.#history ??= copyJson(this.#taskAtStart.history ?? [])
    return this.#history
  }

  get #taskAtStart(): Task {
    this.#begun ??= this.#scope.currentTask(this.#accepted)
    return this.#begun
  }

  get contextId(): string {
    return this.#accepted.message.contextId ?? ''
  }

  get scope(): TaskScope {
    const { tenant, caller } = this.#scope
    return { agent: this.#deps.agent.card.name, tenant, owner: caller.id }
  }

  get caller(): Caller {
    return { ...this.#scope.caller, ...this.#accepted.request?.caller }
  }

  get credential(): Credential | undefined {
    return this.#credential
  }

  get signal(): AbortSignal {
    return this.#scope.signal
  }

  get number(): number {
    return this.#accepted.turn
  }

  get attempt(): number {
    return this.#scope.attempt
  }

  get checkpoints(): ReadonlyMap<string, JsonValue> {
    return new CopiedValues(this.#scope.checkpoints)
  }

  checkpoint(key: string, value: JsonValue, options?: CheckpointOptions): Promise<void> {
    return this.#logged(this.#scope.checkpoint(key, value, options))
  }

  get metadata(): Struct {
    this.#metadata ??= copyJson(this.#accepted.request?.metadata ?? {})
    return this.#metadata
  }

  get acceptedOutputModes(): readonly string[] {
    return this.#accepted.request?.acceptedOutputModes ?? []
  }

  has(extension: string | { readonly uri: string }): boolean {
    const uri = typeof extension === 'string' ? extension : extension.uri
    return this.extensions.includes(uri)
  }

  get usage(): UsageMeter {
    return this.#scope.usage(this.has(usage))
  }

  get traceparent(): string | undefined {
    return this.#trace.traceparent
  }

  get tracestate(): string | undefined {
    return this.#trace.tracestate
  }

  earlier(options?: EarlierOptions): Promise<readonly Task[]> {
    return this.#logged(this.#earlier(options))
  }

  async #earlier(options: EarlierOptions = {}): Promise<readonly Task[]> {
    const { taskId: id, tenant, caller } = this.#scope
    assertOptions('turn.earlier', options, { limit: true } satisfies NamesOf<EarlierOptions>)
    return await this.#deps.earlier({ id, contextId: this.contextId, tenant, owner: caller.id }, options)
  }

  call(ref: AgentRef, content: Content, options: CallAgentOptions = {}): Promise<CallResult> {
    return this.#logged(this.#call(ref, content, options))
  }

  /** Logs a rejection, so that a promise which the handler does not await cannot end the process. */
  #logged<Value>(work: Promise<Value>): Promise<Value> {
    const { log, agent } = this.#deps
    const { taskId = '' } = this.#accepted.message
    const message = 'A call or a checkpoint of the agent failed'
    work.catch((error: unknown) => log({ level: 'debug', message, agent: agent.card.name, taskId, error }))
    return work
  }

  async #call(ref: AgentRef, content: Content, options: CallAgentOptions): Promise<CallResult> {
    assertOptions('turn.call', options, callNames)
    const service = this.service(ref)
    const name = typeof ref === 'string' ? ref : ref.card.name
    if (!service) throw new Error(`No agent called ${name} can be reached from here`)
    return await callAgent(service, { content, ...options, turn: this, newId: this.#deps.newId })
  }

  service(ref: AgentRef): AgentService | undefined {
    return serviceFor(this.#deps, this.#scope, ref, this.#trace)
  }
}

export function firstData({ parts }: Pick<Message, 'parts'>): JsonValue | undefined {
  for (const part of parts) if ('data' in part) return part.data
  return undefined
}

/** Calls `agent.onAbandoned` for a task that was ended from outside, and waits at most `graceMs`. Errors are logged. */
export async function notifyAbandoned(deps: TurnDeps, scope: RunState, graceMs: number): Promise<void> {
  const { agent, log } = deps
  const { caller, checkpoints, task } = scope
  if (!agent.onAbandoned || !task) return
  try {
    const service = (ref: AgentRef) => serviceFor(deps, scope, ref)
    await waitAtMost(graceMs, agent.onAbandoned({ task, caller, checkpoints, service }))
  } catch (error) {
    const message = 'The agent threw when a task was abandoned'
    log({ level: 'warn', message, agent: agent.card.name, taskId: task.id, error })
  }
}
