/**
 * One service, two faces: the engine implements it, a client is one, and everything else (access
 * checks, limits, gateways, overrides of single operations) wraps one.
 */
import type { AgentCard } from './agent-card.js'
import type { StreamResponse, TaskEvent } from './event.js'
import type { Message } from './message.js'
import type { Struct } from './part.js'
import type { TaskPushNotificationConfig } from './push-config.js'
import type { Task, TaskState } from './task.js'
import type { TraceContext } from './trace-context.js'

/** Requests may name the tenant they are for (R-TEN-2). */
export interface Tenanted {
  readonly tenant?: string
}

/** Wishes for the response to a send: media types, history, webhook, whether to wait for the result. */
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
  /** Absent in dialects that know one config a task: the one that is called like the task, else the first. */
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
  /** Whose tasks these are: two callers with one id see the same ones. */
  readonly id: string
  /** The scheme that told who it is, by its name in the card. */
  readonly scheme?: string
  /** What that scheme's credential is good for. */
  readonly scopes?: readonly string[]
  /** What the token says, where there is one. It ends with the call: turns do not see it. */
  readonly claims?: Struct
  /** What other schemes vouch for, in the same request. */
  readonly also?: readonly Caller[]
}

export const anonymous: Caller = { id: 'anonymous' }

/** What older dialects ask for that v1.0 has no words for. */
export interface CallTraits {
  /** A task id chosen by the caller (RM-ID-1). */
  readonly wantedTaskId?: string
  /** The dialect has no Message answers: make the task visible at once (E-6). */
  readonly mustBeTask?: boolean
  /** Subscribing to a task that has ended shows it and ends, instead of failing (RM-STR-6). */
  readonly showsEndedTasks?: boolean
  /** Streams of sends and subscriptions end where the agent asks for input or a credential (R3-STRM-4). */
  readonly endsAtQuestions?: boolean
  /** Cancelling a task that is cancelled already is an error (R3-CANCEL-1). */
  readonly cancelsOnce?: boolean
  /** Push configs without an id of their own are called like their task: there is one of them. */
  readonly hasOnePushConfig?: boolean
  /** A message that names no task answers the only question open in its context. */
  readonly continuesContext?: boolean
  /** Histories hold progress messages too, not only questions and final messages. */
  readonly showsProgress?: boolean
  /** Streams begin with the task, always: what follows cannot be told without it. */
  readonly cannotResume?: boolean
}

/** The dialect of calls that name none, as stores keep it: the one whose JSON is the model. */
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
  /** Fires when the reader of a stream is gone. Ends the stream, never the task (R-SEND-11). */
  readonly signal?: AbortSignal
  /** Called when a stream is sure to open although its first event may take a while. */
  readonly onOpen?: () => void
  /** Extensions the caller asked for. */
  readonly extensions?: readonly string[]
  /** Makes a send happen once (E-10). */
  readonly idempotencyKey?: string
  /** Resume a stream behind this event (E-4). */
  readonly resumeAfter?: number
  /** How often a service that is far away makes the call in all. Absent: as its connection was told. */
  readonly attempts?: number
}

/** An element of a stream and, where the server knows it, its place in the task's log. */
export interface StreamItem {
  readonly event: StreamResponse
  readonly seq?: number
  /** The entry of the log that `event` is from: its text is shared by the store and all readers. */
  readonly source?: TaskEvent
}

/**
 * An iterator that may have read more than it was asked for. `takeReady` hands that out without a
 * promise; a burst of events then costs one wait instead of one each.
 */
export interface ReadAhead<T = StreamItem> extends AsyncIterator<T> {
  takeReady?(): T | undefined
  /**
   * Drops elements that were read ahead and take more than `maxBytes` (default 256 KB), while their reader waits. They
   * are read again later.
   */
  release?(maxBytes?: number): void
}

type Unary<Request, Response> = (request: Request, context: CallContext) => Promise<Response>
type Streaming<Request> = (request: Request, context: CallContext) => AsyncIterable<StreamItem>

/** The eleven operations. Failures are thrown as `A2AError`; a service that is far away also throws what broke on the way. */
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
