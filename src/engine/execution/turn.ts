import type { AcceptedMessage } from '../../model/apply-event.js'
import { CopiedValues, copyJson } from '../../model/copy-json.js'
import { A2AError } from '../../model/errors.js'
import { fromGeneric, toGeneric } from '../../model/generic-service.js'
import type { Message } from '../../model/message.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { type JsonValue, type Struct, textOf } from '../../model/part.js'
import type { AgentService, CallContext, Caller } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import type { TraceContext } from '../../model/trace-context.js'
import { traceContextOf } from '../../model/trace-context.js'
import type { Credential } from '../admission/provide-credential.js'
import type { AgentRef, CallAgentOptions, CallResult, CheckpointOptions, Turn } from '../agent.js'
import type { Internals } from '../internals.js'
import type { Content } from '../yields.js'
import { partsOf } from '../yields.js'
import { atMost } from './stop.js'

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

type Ended = Pick<TurnSource, 'internals' | 'caller' | 'tenant' | 'checkpoints'> & { readonly task: Task | undefined }

/** Waits for the agent as long as a cancel would; what it throws is for the log. */
export async function tellAbandoned(ended: Ended): Promise<void> {
  const { internals, caller, checkpoints, task } = ended
  const { agent, settings, name } = internals
  if (!agent.onAbandoned || !task) return
  try {
    const told = agent.onAbandoned({ task, caller, checkpoints, service: (ref) => serviceFor(ended, ref) })
    await atMost(settings.cancelGraceMs, told)
  } catch (error) {
    internals.log({
      level: 'warn',
      message: 'The agent threw when a task was abandoned',
      agent: name,
      taskId: task.id,
      error,
    })
  }
}

interface Delegation {
  readonly content: Content
  /** The task to go on with. */
  readonly taskId?: string
  readonly turn: Turn<unknown>
  readonly newId: () => string
}

/** Another agent's operations as the caller of a turn may use them: same owner, same tenant. */
export function serviceFor(
  { internals, caller, tenant }: Pick<TurnSource, 'internals' | 'caller' | 'tenant'>,
  ref: AgentRef,
  trace: TraceContext = {},
): AgentService | undefined {
  const service = internals.resolve?.(ref)
  if (!service) return undefined
  const { unary, streaming } = toGeneric(service)
  const owned = (context: CallContext): CallContext => ({
    ...traceContextOf(trace),
    ...context,
    caller,
    ...(tenant && { tenant }),
  })
  return fromGeneric({
    unary: (operation, request, context) => unary(operation, request, owned(context)),
    streaming: (operation, request, context) => streaming(operation, request, owned(context)),
  })
}

export async function callAgent(service: AgentService, delegation: Delegation): Promise<CallResult> {
  const { content, taskId, turn, newId } = delegation
  const message: Message = {
    messageId: newId(),
    contextId: turn.contextId,
    ...(taskId !== undefined && { taskId }),
    role: 'ROLE_USER',
    // The called agent keeps them: this handler may go on changing its own.
    parts: copyJson(partsOf(content)),
    referenceTaskIds: [turn.task.id],
  }
  const context: CallContext = { caller: turn.caller }
  let child: string | undefined
  const cancelChild = () => {
    if (child !== undefined) service.cancelTask({ id: child }, context).catch(() => undefined) // it may have ended meanwhile
  }
  turn.signal.addEventListener('abort', cancelChild)
  try {
    for await (const { event } of service.sendStreamingMessage({ message }, context)) {
      // Such a stream stays open until somebody brings the credential; that is for our caller to do.
      if ('statusUpdate' in event && event.statusUpdate.status.state === 'TASK_STATE_AUTH_REQUIRED') break
      if ('message' in event) return { text: textOf(event.message), message: event.message }
      if ('task' in event) {
        child = event.task.id
        if (turn.signal.aborted) cancelChild()
      }
    }
    if (child === undefined) throw new A2AError('INVALID_AGENT_RESPONSE', 'The agent answered nothing')
    const task = await service.getTask({ id: child }, context)
    return { text: answerText(task), task }
  } catch (cause) {
    // What went wrong between us and that agent is not an error of the call we are answering.
    throw new Error('The call of another agent failed', { cause })
  } finally {
    turn.signal.removeEventListener('abort', cancelChild)
  }
}

function answerText(task: Task): string {
  if (task.artifacts) return task.artifacts.map(textOf).join('\n')
  return task.status.message ? textOf(task.status.message) : ''
}
