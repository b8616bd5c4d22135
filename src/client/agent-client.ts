/** What `connect` gives: an agent somewhere else, as an `AgentService` and with a friendlier face. */
import type { DialectName } from '../dialects/dialect.js'
import type { AgentCard, Binding } from '../model/agent-card.js'
import type { Artifact } from '../model/artifact.js'
import type { StreamResponse } from '../model/event.js'
import type { Message } from '../model/message.js'
import type { Part, Struct } from '../model/part.js'
import type { AgentService, CallContext, SendMessageConfiguration } from '../model/service.js'
import type { Task, TaskState } from '../model/task.js'
import type { Verification } from './verify-card.js'

/** How the agent is spoken to, and why. */
export interface Choice {
  readonly dialect: DialectName
  /** `in-process` if `connect` was given a service, which is called directly. */
  readonly binding: Binding | 'in-process'
  readonly url: string
  readonly tenant?: string
  /** One sentence for each interface that was looked at, in order: taken, or passed over and why. */
  readonly reasons: readonly string[]
}

/** What to say: text, parts, or a whole message. */
export type MessageInput = string | readonly Part[] | Message

export interface SendOptions {
  readonly contextId?: string
  readonly taskId?: string
  readonly referenceTaskIds?: readonly string[]
  readonly metadata?: Struct
  readonly configuration?: SendMessageConfiguration
  /** Makes the send happen once; with it, and only with it, a broken send is tried again. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
  /** For the whole call, retries included. */
  readonly timeoutMs?: number
}

/** A final answer. */
export interface Answer {
  /** The text of the artifacts, else of the answering message or the last status. */
  readonly text: string
  readonly artifacts: readonly Artifact[]
  readonly state: TaskState
  readonly task?: Task
  /** Set when the agent answered with a Message and no task. */
  readonly message?: Message
}

/** An element of a stream: the protocol's four, and one of ours. */
export type Update =
  | StreamResponse
  /** The stream broke and the peer cannot say what was missed: forget what was put together, this is the task now. */
  | { readonly reset: Task }

/** A task of this agent. */
export interface TaskHandle {
  readonly id: string
  get(historyLength?: number): Promise<Task>
  /** Until it ends or asks something. */
  wait(options?: Pick<SendOptions, 'signal' | 'timeoutMs'>): Promise<Task>
  cancel(): Promise<Task>
  /** Its events from now on, beginning with the task; heals like every stream. */
  watch(options?: Pick<SendOptions, 'signal'>): AsyncIterable<Update>
}

/** Turns that belong together: the context is kept, and a question's task until it is answered. */
export interface Conversation {
  readonly contextId: string | undefined
  /** The task that waits for an answer. */
  readonly taskId: string | undefined
  ask(say: MessageInput, options?: SendOptions): Promise<Answer>
  stream(say: MessageInput, options?: SendOptions): AsyncIterable<Update>
}

/** What a caller may say beside its request; who it is, the credentials tell. */
export type CallOptions = Partial<
  Pick<
    CallContext,
    'signal' | 'extensions' | 'idempotencyKey' | 'resumeAfter' | 'traceparent' | 'tracestate' | 'attempts'
  >
>

/** The eleven operations; here nobody has to say how they were called. */
export type ClientOperations = {
  readonly [O in keyof AgentService]: AgentService[O] extends (
    request: infer Request,
    context: CallContext,
  ) => infer Result
    ? (request: Request, options?: CallOptions) => Result
    : never
}

export interface AgentClient extends ClientOperations {
  readonly card: AgentCard
  readonly choice: Choice
  /** Whether the card is signed, and by whom. */
  readonly signature: Verification
  /** Sends and waits for the end: of the task, or of its turn when the agent asks something. */
  ask(say: MessageInput, options?: SendOptions): Promise<Answer>
  /** Sends and follows; where the peer cannot stream it is asked again and again, behind the same iterator. */
  stream(say: MessageInput, options?: SendOptions): AsyncIterable<Update>
  conversation(start?: { readonly contextId?: string; readonly taskId?: string }): Conversation
  task(id: string): TaskHandle
  /** Closes connections that are kept open. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
