/** The public types of a client: the eleven operations and the convenience API. */
import type { DialectName } from '../dialects/dialect.js'
import type { AgentCard, Binding } from '../model/agent-card.js'
import type { Artifact } from '../model/artifact.js'
import type { StreamResponse } from '../model/event.js'
import type { Message } from '../model/message.js'
import type { Part, Struct } from '../model/part.js'
import type { AgentService, CallContext, SendMessageConfiguration } from '../model/service.js'
import type { Task, TaskState } from '../model/task.js'
import type { Verification } from './verification.js'

/** The interface that `connect` chose, and the reasons. */
export interface Choice {
  readonly dialect: DialectName
  /** `in-process` if `connect` was given a service, which is called directly. */
  readonly binding: Binding | 'in-process'
  readonly url: string
  readonly tenant?: string
  /** One sentence for each interface of the card, in order: chosen, kept as a fallback, or passed over and why. */
  readonly reasons: readonly string[]
  /** The interfaces of the card that cannot be used, as data for programs. Absent without a card. */
  readonly rejected?: readonly RejectedInterface[]
}

/** An interface of a card that the client does not use. */
interface RejectedInterface {
  /** Its index in `card.supportedInterfaces`. */
  readonly index: number
  /** `unsupported` by the client, excluded by an `option` of the caller, or at an invalid or untrusted `address`. */
  readonly cause: 'unsupported' | 'option' | 'address'
  /** The reason, for people. */
  readonly problem: string
}

/** The content of a message: text, parts, parts with metadata, or a whole message. */
export type MessageInput = string | readonly Part[] | Pick<Message, 'parts' | 'metadata' | 'extensions'> | Message

/** Options of `ask` and `stream`. */
export interface SendOptions {
  /** Continues a context. Default: the agent starts a new one. */
  readonly contextId?: string
  /** Continues a task, for example to answer its question. */
  readonly taskId?: string
  /** Other tasks that the message refers to. */
  readonly referenceTaskIds?: readonly string[]
  readonly metadata?: Struct
  readonly configuration?: SendMessageConfiguration
  /** URIs of extensions to ask for, beside those of `connect`; also if the card does not declare them. */
  readonly extensions?: readonly string[]
  /** Makes the agent process the message once, however often it is sent. Only sends with a key are retried. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
  /** Time for the whole call in milliseconds, retries included. Default: no limit. */
  readonly timeoutMs?: number
}

/** The result of `ask` and `collect`. */
export interface Answer {
  /** Text of the artifacts, or else of the message or of the last status. */
  readonly text: string
  readonly artifacts: readonly Artifact[]
  readonly state: TaskState
  /** Absent if the agent answered with a message. */
  readonly task?: Task
  /** Present if the agent answered with a message and no task. */
  readonly message?: Message
}

/**
 * An element of a stream: one of the four events of the protocol, or `reset`. After a `reset`, discard all earlier updates:
 * the stream broke, the agent cannot say what was missed, and this is the task now.
 */
export type Update = StreamResponse | { readonly reset: Task }

/** A task of the agent. */
export interface TaskHandle {
  readonly id: string
  /** Reads the task, with at most `historyLength` messages of its history. */
  get(historyLength?: number): Promise<Task>
  /** Waits until the task ends or waits for input. */
  wait(options?: Pick<SendOptions, 'signal' | 'timeoutMs'>): Promise<Task>
  /** Asks the agent to cancel the task. */
  cancel(): Promise<Task>
  /** Yields the task, then its events. Reconnects when the connection breaks. */
  watch(options?: Pick<SendOptions, 'signal'>): AsyncIterable<Update>
}

/** Messages of one context. A message after a question continues the task that asked. */
export interface Conversation {
  readonly contextId: string | undefined
  /** The task that the next message continues. */
  readonly taskId: string | undefined
  ask(input: MessageInput, options?: SendOptions): Promise<Answer>
  stream(input: MessageInput, options?: SendOptions): AsyncIterable<Update>
}

/** Options of an operation of the protocol. */
export type CallOptions = Partial<
  Pick<
    CallContext,
    'signal' | 'extensions' | 'idempotencyKey' | 'resumeAfter' | 'traceparent' | 'tracestate' | 'attempts'
  >
>

/** The eleven operations of the protocol, with optional call options. */
export type ClientOperations = {
  readonly [O in keyof AgentService]: AgentService[O] extends (
    request: infer Request,
    context: CallContext,
  ) => infer Result
    ? (request: Request, options?: CallOptions) => Result
    : never
}

/**
 * A connection to an agent. It is an `AgentService` too, so it can be wrapped or served like one. Calls throw `A2AError` if
 * the agent answers with an error, and `TransportError` if there is no answer.
 */
export interface AgentClient extends ClientOperations {
  readonly card: AgentCard
  /** The interface that calls use at the moment. */
  readonly choice: Choice
  /** Whether the card is signed, and by which key. */
  readonly signature: Verification
  /** Sends a message and waits until the task ends or asks a question. */
  ask(input: MessageInput, options?: SendOptions): Promise<Answer>
  /**
   * Sends a message and yields the updates of the task. Reconnects when the connection breaks, and polls if the agent
   * cannot stream.
   */
  stream(input: MessageInput, options?: SendOptions): AsyncIterable<Update>
  /** Starts a conversation, or continues one by its ids. */
  conversation(start?: { readonly contextId?: string; readonly taskId?: string }): Conversation
  /** Returns a handle of a task. Sends nothing. */
  task(id: string): TaskHandle
  /** Closes the open connections. If `connect` started the agent, ends it too and aborts its turns. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
