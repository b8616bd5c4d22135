import type { AcceptedMessage } from '../model/apply-event.js'
import { CopiedValues, copyJson } from '../model/copy-json.js'
import type { Message } from '../model/message.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { type JsonValue, type Struct, textOf } from '../model/part.js'
import type { AgentService, Caller } from '../model/service.js'
import type { Task } from '../model/task.js'
import type { TraceContext } from '../model/trace-context.js'
import type { AgentRef, CallAgentOptions, CallResult, CheckpointOptions, Turn } from './agent.js'
import { callAgent, serviceFor } from './call-agent.js'
import type { Internals } from './internals.js'
import type { Credential } from './provide-credential.js'
import type { Content } from './yields.js'

/** What a turn gets from its run. */
export interface TurnSource {
  readonly internals: Internals
  readonly caller: Caller
  readonly tenant: string
  readonly attempt: number
  readonly checkpoints: ReadonlyMap<string, JsonValue>
  checkpoint(key: string, value: JsonValue, options?: CheckpointOptions): Promise<void>
  /** Handed out once: whoever has it, nobody else will. */
  takeCredential(): Credential | undefined
  signal(): AbortSignal
  currentTask(current: AcceptedMessage): Task
}

const callNames = { taskId: true } satisfies NamesOf<CallAgentOptions>

/**
 * The turn as a handler sees it. Members that cost something are made when the handler asks for them. Values that the
 * engine keeps are copied once: a handler that changes its message or its history changes its own copy.
 */
export class RunningTurn implements Turn<unknown> {
  readonly #accepted: AcceptedMessage
  readonly #source: TurnSource
  readonly #credential: Credential | undefined
  readonly #trace: TraceContext
  /** As the engine keeps it. */
  #begun: Task | undefined
  #message: Message | undefined
  #data: { readonly input: unknown } | undefined
  #task: Task | undefined
  #history: readonly Message[] | undefined
  #metadata: Struct | undefined

  /** `checked`: the input after the check of the skills' schemas. `trace`: of the turn's own span, when there is one. */
  constructor(
    accepted: AcceptedMessage,
    source: TurnSource,
    checked?: { readonly input: unknown },
    trace?: TraceContext,
  ) {
    this.#accepted = accepted
    this.#source = source
    this.#data = checked
    this.#trace = trace ?? accepted.request ?? {}
    this.#credential = source.takeCredential()
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
    this.#begun ??= this.#source.currentTask(this.#accepted)
    return this.#begun
  }

  get contextId(): string {
    return this.#accepted.message.contextId ?? ''
  }

  get caller(): Caller {
    return { ...this.#source.caller, ...this.#accepted.request?.caller }
  }

  get credential(): Credential | undefined {
    return this.#credential
  }

  get signal(): AbortSignal {
    return this.#source.signal()
  }

  get number(): number {
    return this.#accepted.turn
  }

  get attempt(): number {
    return this.#source.attempt
  }

  get checkpoints(): ReadonlyMap<string, JsonValue> {
    return new CopiedValues(this.#source.checkpoints)
  }

  checkpoint(key: string, value: JsonValue, options?: CheckpointOptions): Promise<void> {
    return this.#owned(this.#source.checkpoint(key, value, options))
  }

  get metadata(): Struct {
    this.#metadata ??= copyJson(this.#accepted.request?.metadata ?? {})
    return this.#metadata
  }

  get acceptedOutputModes(): readonly string[] {
    return this.#accepted.request?.acceptedOutputModes ?? []
  }

  get extensions(): readonly string[] {
    return this.#accepted.request?.extensions ?? []
  }

  get traceparent(): string | undefined {
    return this.#trace.traceparent
  }

  get tracestate(): string | undefined {
    return this.#trace.tracestate
  }

  call(ref: AgentRef, content: Content, options: CallAgentOptions = {}): Promise<CallResult> {
    return this.#owned(this.#call(ref, content, options))
  }

  /** A handler that does not wait for the promise must not end the process with it: the log gets the error. */
  #owned<Value>(work: Promise<Value>): Promise<Value> {
    const { log, name } = this.#source.internals
    const { taskId = '' } = this.#accepted.message
    const message = 'A call or a checkpoint of the agent failed'
    work.catch((error: unknown) => log({ level: 'debug', message, agent: name, taskId, error }))
    return work
  }

  async #call(ref: AgentRef, content: Content, options: CallAgentOptions): Promise<CallResult> {
    assertOptions('turn.call', options, callNames)
    const service = this.service(ref)
    const name = typeof ref === 'string' ? ref : ref.card.name
    if (!service) throw new Error(`No agent called ${name} can be reached from here`)
    return await callAgent(service, {
      content,
      ...options,
      turn: this,
      newId: () => this.#source.internals.clock.newId(),
    })
  }

  service(ref: AgentRef): AgentService | undefined {
    return serviceFor(this.#source, ref, this.#trace)
  }
}

export function firstData({ parts }: Pick<Message, 'parts'>): JsonValue | undefined {
  for (const part of parts) if ('data' in part) return part.data
  return undefined
}
