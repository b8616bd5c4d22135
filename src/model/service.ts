/**
 * The operations of an agent. The engine implements them, and so does a client. Access checks, limits, gateways and
 * replaced operations wrap a service.
 */
import type { AgentCard } from './agent-card.js'
import type { StreamResponse, TaskEvent } from './event.js'
import type { Message } from './message.js'
import type { Operation } from './operations.js'
import type { Struct } from './part.js'
import type { TaskPushNotificationConfig } from './push-config.js'
import type { Task, TaskState } from './task.js'
import type { TraceContext } from './trace-context.js'

/** Requests may name a tenant (R-TEN-2). */
export interface Tenanted {
  readonly tenant?: string
}

/** Options of a send: accepted media types, history, webhook, whether to wait for the result. */
export interface SendMessageConfiguration {
  readonly acceptedOutputModes?: readonly string[]
  readonly taskPushNotificationConfig?: TaskPushNotificationConfig
  readonly historyLength?: number
  readonly returnImmediately?: boolean
}

/** The request of `sendMessage` and `sendStreamingMessage`. */
export interface SendMessageRequest extends Tenanted {
  readonly message: Message
  readonly configuration?: SendMessageConfiguration
  readonly metadata?: Struct
}

/** Exactly one member is present. */
export type SendMessageResponse = { readonly task: Task } | { readonly message: Message }

/** The request of `getTask`. */
export interface GetTaskRequest extends Tenanted {
  readonly id: string
  readonly historyLength?: number
}

/** The request of `listTasks`: filters and a page. */
export interface ListTasksRequest extends Tenanted {
  readonly contextId?: string
  readonly status?: TaskState
  readonly pageSize?: number
  readonly pageToken?: string
  readonly historyLength?: number
  readonly statusTimestampAfter?: string
  readonly includeArtifacts?: boolean
}

/** A page of tasks. */
export interface ListTasksResponse {
  readonly tasks: readonly Task[]
  readonly nextPageToken: string
  readonly pageSize: number
  readonly totalSize: number
}

/** The request of `cancelTask`. */
export interface CancelTaskRequest extends Tenanted {
  readonly id: string
  readonly metadata?: Struct
}

/** The request of `subscribeToTask`. */
export interface SubscribeToTaskRequest extends Tenanted {
  readonly id: string
}

/** The request of `getTaskPushNotificationConfig`. */
export interface GetTaskPushNotificationConfigRequest extends Tenanted {
  readonly taskId: string
  /** Absent in dialects with one config per task: means the config with the id of the task, or else the first. */
  readonly id?: string
}

/** The request of `listTaskPushNotificationConfigs`. */
export interface ListTaskPushNotificationConfigsRequest extends Tenanted {
  readonly taskId: string
  readonly pageSize?: number
  readonly pageToken?: string
}

/** A page of webhook configurations. */
export interface ListTaskPushNotificationConfigsResponse {
  readonly configs: readonly TaskPushNotificationConfig[]
  readonly nextPageToken: string
}

/** The request of `deleteTaskPushNotificationConfig`. */
export interface DeleteTaskPushNotificationConfigRequest extends Tenanted {
  readonly taskId: string
  readonly id: string
}

/** The request of `getExtendedAgentCard`. */
export type GetExtendedAgentCardRequest = Tenanted

/** The authenticated caller of an operation. Without authentication it is `anonymous`. */
export interface Caller {
  /** Identifies the owner of tasks: callers with the same id share their tasks. */
  readonly id: string
  /** The scheme that authenticated the caller, by its name in the card. */
  readonly scheme?: string
  /** Scopes of the credential. */
  readonly scopes?: readonly string[]
  /** Claims of the token, if there is one. Only available during the call: turns do not have them. */
  readonly claims?: Struct
  /** Results of other schemes that authenticated the same request. */
  readonly also?: readonly Caller[]
}

export const anonymous: Caller = { id: 'anonymous' }

/** Requirements of older dialects on how the engine treats a call. v1.0 has none of them. */
export interface CallTraits {
  /** A task id chosen by the caller (RM-ID-1). */
  readonly wantedTaskId?: string
  /** The dialect has no Message answers: the task is visible at once (E-6). */
  readonly mustBeTask?: boolean
  /** Subscribing to an ended task returns the task and ends the stream, instead of failing (RM-STR-6). */
  readonly showsEndedTasks?: boolean
  /** Streams of sends and subscriptions end when the agent asks for input or a credential (R3-STRM-4). */
  readonly endsAtQuestions?: boolean
  /** Cancelling a cancelled task is an error (R3-CANCEL-1). */
  readonly cancelsOnce?: boolean
  /** A push config without an id has the id of its task, so each task has one. */
  readonly hasOnePushConfig?: boolean
  /** A message without a task id answers the only open question of its context. */
  readonly continuesContext?: boolean
  /** Histories hold progress messages too, not only questions and final messages. */
  readonly showsProgress?: boolean
  /** Streams always begin with the task, because the dialect cannot encode later events without it. */
  readonly cannotResume?: boolean
}

/** The dialect of calls that name none, as stores record it. Its JSON equals the model. */
export const nativeDialect = 'v1'

/**
 * Facts of a call beside its request: caller, tenant, dialect, trace. They do not change during the call (RM-DET-7).
 */
export interface CallContext extends CallTraits, TraceContext {
  readonly caller: Caller
  /** The tenant the call was addressed to; absent when the agent has none. */
  readonly tenant?: string
  /** The dialect of the call. New tasks and push configs store it. Default: `nativeDialect`. */
  readonly dialect?: string
  /** Aborted when the reader of a stream disconnects. Ends the stream, never the task (R-SEND-11). */
  readonly signal?: AbortSignal
  /** Called when a stream is certain to open, before its first event. */
  readonly onOpen?: () => void
  /** Extensions the caller asked for. */
  readonly extensions?: readonly string[]
  /** Deduplicates a send (E-10). */
  readonly idempotencyKey?: string
  /** Resumes a stream after this event (E-4). */
  readonly resumeAfter?: number
  /** With `resumeAfter`: a subscription ends with the last event that the log has now, instead of following the task. */
  readonly untilNow?: boolean
  /** Maximum number of attempts of a remote call. Default: the option of the connection. */
  readonly attempts?: number
}

/** An element of a stream and, if the server knows it, its position in the task's log. */
export interface StreamItem {
  readonly event: StreamResponse
  readonly seq?: number
  /** The turn that it belongs to. Engines know it; it is not sent to other processes. */
  readonly turn?: number | undefined
  /** The log entry of `event`. The store and all readers share its text. */
  readonly source?: TaskEvent
}

/**
 * An iterator that may have read ahead. `takeReady` returns these elements without a promise, so that a burst of events
 * costs one wait instead of one per event.
 */
export interface ReadAhead<T = StreamItem> extends AsyncIterator<T> {
  takeReady?(): T | undefined
  /**
   * Drops elements that were read ahead and are larger than `maxBytes` (default 256 KB) in total, while their reader is
   * slow. They are read again later.
   */
  release?(maxBytes?: number): void
}

type Unary<Request, Response> = (request: Request, context: CallContext) => Promise<Response>
type Streaming<Request> = (request: Request, context: CallContext) => AsyncIterable<StreamItem>

/** The eleven operations. They throw `A2AError`; remote services also throw `TransportError`. */
export interface AgentService {
  readonly sendMessage: Unary<SendMessageRequest, SendMessageResponse>
  readonly sendStreamingMessage: Streaming<SendMessageRequest>
  readonly getTask: Unary<GetTaskRequest, Task>
  readonly listTasks: Unary<ListTasksRequest, ListTasksResponse>
  readonly cancelTask: Unary<CancelTaskRequest, Task>
  readonly subscribeToTask: Streaming<SubscribeToTaskRequest>
  readonly createTaskPushNotificationConfig: Unary<TaskPushNotificationConfig, TaskPushNotificationConfig>
  readonly getTaskPushNotificationConfig: Unary<GetTaskPushNotificationConfigRequest, TaskPushNotificationConfig>
  readonly listTaskPushNotificationConfigs: Unary<
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse
  >
  readonly deleteTaskPushNotificationConfig: Unary<DeleteTaskPushNotificationConfigRequest, void>
  readonly getExtendedAgentCard: Unary<GetExtendedAgentCardRequest, AgentCard>
}

/** The request of an operation. */
export type RequestOf<O extends Operation> = Parameters<AgentService[O]>[0]

/** The result of an operation. Streams have events instead. */
export type ResultOf<O extends Operation> = ReturnType<AgentService[O]> extends Promise<infer Result> ? Result : unknown
